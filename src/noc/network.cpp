// SPDX-License-Identifier: MIT
#include "noc/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/registry.hpp"
#include "noc/crossbar.hpp"
#include "noc/mesh.hpp"
#include "noc/output_queues.hpp"
#include "noc/router_unit.hpp"

namespace mergelane {

Link<Packet>& NetworkBuild::from_source(std::size_t source, Component& to) const {
    return wiring.link<Packet>(sources.boundary, *sources.components.at(source), to, sources.room, sources.forward, sources.credit);
}

Link<Packet>& NetworkBuild::to_sink(Component& from, std::size_t sink) const {
    return wiring.link<Packet>(sinks.boundary, from, *sinks.components.at(sink), sinks.room, sinks.forward, sinks.credit);
}

Link<Packet>& NetworkBuild::inside(Component& from, Component& to) const {
    const Time hop = spec.clock.time_of(spec.hop_cycles);
    return wiring.link<Packet>(spec.name, from, to, spec.input_buffer_flits, hop, hop);
}

namespace {

/// Destinations are interleaved over the outputs, so packets from one source to one sink stay in order.
Crossbar::Routes routes_to(std::size_t sinks, std::size_t outputs) {
    Crossbar::Routes routes(sinks);
    for (std::size_t sink = 0; sink < sinks; ++sink) routes[sink] = static_cast<std::uint16_t>(sink % outputs);
    return routes;
}

NetworkPorts one_crossbar(const NetworkBuild& build, const Sections& sections) {
    Crossbar& crossbar = build.add<Crossbar>("crossbar", build.spec, CrossbarStage{});
    NetworkPorts ports;
    for (std::size_t i = 0; i < build.sources.components.size(); ++i) ports.from_sources.push_back(&build.from_source(i, crossbar));
    for (std::size_t o = 0; o < build.sinks.components.size(); ++o) ports.to_sinks.push_back(&build.to_sink(crossbar, o));
    crossbar.connect(ports.from_sources, ports.to_sinks, routes_to(ports.to_sinks.size(), ports.to_sinks.size()));
    crossbar.observe(sections);
    return ports;
}

/// Groups of sources are concentrated onto a few links each; one crossbar connects these to all sinks.
NetworkPorts two_stages(const NetworkBuild& build, const Sections& sections) {
    const NetworkSpec& spec = build.spec;
    const std::size_t sources = build.sources.components.size();
    const std::size_t sinks = build.sinks.components.size();
    const std::size_t groups = (sources + spec.stage_inputs - 1) / spec.stage_inputs;
    std::vector<Crossbar*> first;
    for (std::size_t g = 0; g < groups; ++g)
        first.push_back(&build.add<Crossbar>(fmt::format("stage1_crossbar{}", g), spec, CrossbarStage{1, 2}));
    Crossbar& second = build.add<Crossbar>("stage2_crossbar", spec, CrossbarStage{2, 2});

    NetworkPorts ports;
    std::vector<Link<Packet>*> between;
    for (std::size_t g = 0; g < groups; ++g) {
        std::vector<Link<Packet>*> inputs, outputs;
        for (std::size_t i = g * spec.stage_inputs; i < std::min(sources, (g + 1) * spec.stage_inputs); ++i)
            inputs.push_back(&build.from_source(i, *first[g]));
        for (std::uint32_t k = 0; k < spec.stage_links; ++k) outputs.push_back(&build.inside(*first[g], second));
        ports.from_sources.insert(ports.from_sources.end(), inputs.begin(), inputs.end());
        between.insert(between.end(), outputs.begin(), outputs.end());
        first[g]->connect(std::move(inputs), std::move(outputs), routes_to(sinks, spec.stage_links));
        first[g]->observe(sections);
    }
    for (std::size_t o = 0; o < sinks; ++o) ports.to_sinks.push_back(&build.to_sink(second, o));
    second.connect(std::move(between), ports.to_sinks, routes_to(sinks, sinks));
    second.observe(sections);
    return ports;
}

/// What kinds made of crossbars have in common.
NetworkTraits traits_of(std::string what, bool one_clock, NetworkTraits::Crossbars crossbars) {
    return {.edge_cycles = [](const NocSpec& noc, const Sections&) { return noc.traversal_latency; },
            .one_clock = one_clock,
            .has_routers = false,
            .counts_ports = true,
            .shares_wires = nullptr,
            .crossbars = std::move(crossbars),
            .description = [what = std::move(what)](const CrossbarSet& ends,
                                                    const Sections&) { return fmt::format("{} x {} {}", ends.inputs, ends.outputs, what); },
            .grid = nullptr};
}

}  // namespace

// To add a kind: its function and one line here.
void add_network_kinds(Registry& registry) {
    registry.add<NetworkKind>("crossbar", "one crossbar from all sources to all sinks",
                              traits_of("crossbar", false, [](const CrossbarSet& ends, const Sections&) { return std::vector{ends}; }),
                              one_crossbar);
    registry.add<NetworkKind>(
        "two_stage",
        "two stages: crossbars that concentrate noc.stage_inputs sources onto noc.stage_links links, then one crossbar to all sinks",
        traits_of("two-stage network", false, nullptr), two_stages);
    registry.add<NetworkKind>("output_queues", "ideal switch: one queue per sink, in order of arrival; requires one clock",
                              traits_of("network of output queues", true, nullptr), output_queues);
    registry.add<NetworkKind>("mesh", "2D mesh of routers with virtual channels; see noc.mesh", mesh_traits(), mesh_network);
    registry.add_section<NocMeterSpec>();
    registry.add_section<MeshSpec>();
    add_router_units(registry);
}

NetworkPorts build_network(const NetworkBuild& build, const Policies& policies) {
    return policies.registry().find<NetworkKind>(build.spec.kind)(build, policies.sections());
}

}  // namespace mergelane
