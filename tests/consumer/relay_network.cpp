// SPDX-License-Identifier: MIT
// A network kind of a user's own: two crossbars with a few links between them, its own latency at the edge and its own energy.
#include "outside.hpp"

using namespace mergelane;

namespace outside {

namespace {

struct RelaySpec final : SectionOf<RelaySpec> {
    std::uint32_t edge_cycles = 5;
    std::uint32_t links = 2;
    std::uint32_t expected_requests = 0;

    void fields(SpecFields& f) override {
        f.section("noc.relay");
        f.belongs_to("noc.kind", {"relay"});
        f.integer("edge_cycles", edge_cycles, 1, 100, "network cycles", "on the links at the edge");
        f.integer("links", links, 1, 64, "links", "between the two crossbars");
        f.integer("expected_requests", expected_requests, 0, 1u << 30, "packets", "a run with another number fails; 0: any number");
    }
    void laws(LawBook& book) const override {
        if (!book.drained()) return;
        for (const std::string name : {"noc.request", "noc.reply"})
            book.balance(name + ": what crosses the links arrives", book(name + ".stage1.packets"), book(name + ".packets"));
        if (expected_requests != 0) book.balance("noc.relay.expected_requests", book("noc.request.packets"), expected_requests);
    }
    void metrics(Metrics& m) const override { m.add("Relay", "requests per link", m("noc.request.stage1.packets") / links, "packets"); }
};

NetworkPorts relay(const NetworkBuild& build, const Sections& sections) {
    const std::uint32_t links = sections.get<RelaySpec>().links;
    const std::size_t sinks = build.sinks.components.size();
    Crossbar& first = build.add<Crossbar>("first", build.spec, CrossbarStage{1, 2});
    Crossbar& second = build.add<Crossbar>("second", build.spec, CrossbarStage{2, 2});
    NetworkPorts ports;
    std::vector<Link<Packet>*> between;
    Crossbar::Routes to_link(sinks), to_sink(sinks);
    for (std::size_t i = 0; i < build.sources.components.size(); ++i) ports.from_sources.push_back(&build.from_source(i, first));
    for (std::uint32_t k = 0; k < links; ++k) between.push_back(&build.inside(first, second));
    for (std::size_t o = 0; o < sinks; ++o) {
        ports.to_sinks.push_back(&build.to_sink(second, o));
        to_link[o] = static_cast<std::uint16_t>(o % links);
        to_sink[o] = static_cast<std::uint16_t>(o);
    }
    first.connect(ports.from_sources, between, to_link);
    second.connect(between, ports.to_sinks, to_sink);
    return ports;
}

/// One from the sources to the links, one from the links to the sinks.
std::vector<CrossbarSet> crossbars(const CrossbarSet& ends, const Sections& sections) {
    CrossbarSet first = ends, second = ends;
    first.name += " relay";
    first.statistics += ".stage1";
    first.outputs = second.inputs = sections.get<RelaySpec>().links;
    return {first, second};
}

}  // namespace

void add_relay_network(Registry& registry) {
    registry.add_section<RelaySpec>();
    registry.add<NetworkKind>(
        "relay", "two crossbars with noc.relay.links links between them",
        {.edge_cycles = [](const NocSpec&, const Sections& sections) { return sections.get<RelaySpec>().edge_cycles; },
         .one_clock = false,
         .has_routers = false,
         .counts_ports = false,
         .shares_wires = nullptr,
         .crossbars = crossbars,
         .description = [](const CrossbarSet& ends, const Sections&) { return std::to_string(ends.inputs) + " ports and a relay"; },
         .grid = nullptr},
        relay);
}

}  // namespace outside
