// SPDX-License-Identifier: MIT
#include "noc/packet_coalescing_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/result.hpp"
#include "noc/packet_coalescing.hpp"

namespace mergelane {

void PacketCoalescingSpec::fields(SpecFields& f) {
    f.section("noc.coalescing");
    f.boolean("enabled", on, "packet coalescing: mesh routers delay read requests and merge those for one DRAM row");
    f.enumeration("policy", policy, {"dynamic", "fixed"},
                  "distribution of a request's delay over its path: increasing towards the memory, or uniform");
    f.integer("delay_per_hop", delay_per_hop, 0, 255, "network cycles", "delay budget of a request per hop of its path");
    f.boolean("merge", merge, "false: delay requests without merging them, to measure the cost of the delay alone");
    f.integer("table_entries", table_entries, 0, 4096, "entries", "entries of a router's coalescing table; 0: unlimited");
    f.integer("most_requests", most_requests, 0, 1024, "requests",
              "requests per Big Packet; 0: as many as fit into a virtual-channel buffer");
    f.integer("request_bytes", request_bytes, 1, 64, "bytes", "size of each request in a Big Packet, after its header");
    f.enumeration("hops", hops, {"routers", "links"},
                  "unit of a hop: a router, or a link between routers (then the first router does not delay a request)");
}

/// Rounded down as a sum, so that nothing of the slack is lost.
std::uint32_t PacketCoalescingSpec::hold(std::uint32_t routers, std::uint32_t number) const {
    const std::uint32_t total = counted(routers);
    const std::uint32_t k = number - (routers - total);
    if (k == 0 || number == 0) return 0;
    if (policy == Policy::fixed) return delay_per_hop;
    const auto until = [&](std::uint32_t n) { return delay_per_hop * n * (n + 1) / (total + 1); };
    return until(k) - until(k - 1);
}

std::uint32_t PacketCoalescingSpec::requests_that_fit(std::uint32_t buffer_flits, std::uint32_t flit_bytes,
                                                      std::uint32_t header_bytes) const {
    const std::uint32_t bytes = buffer_flits * flit_bytes;
    const std::uint32_t fit = bytes > header_bytes ? (bytes - header_bytes) / request_bytes : 0;
    return most_requests == 0 ? fit : std::min(fit, most_requests);
}

void PacketCoalescingSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    problems.require(machine.network_has_routers, {"noc.coalescing.enabled", "noc.kind"},
                     "noc.coalescing.enabled requires noc.kind = \"mesh\"; set it, or noc.coalescing.enabled = false");
}

void PacketCoalescingSpec::laws(LawBook& book) const {
    book.balance("noc.coalescing.overdrawn = 0: no request is delayed beyond its slack while its output is free",
                 book("noc.coalescing.overdrawn"), 0);
    book.balance("noc.coalescing.interleaved = 0: no flits are interleaved with those of a Big Packet", book("noc.coalescing.interleaved"),
                 0);
    if (!book.drained()) return;
    book.balance("noc.coalescing.requests = alone + merged", book("noc.coalescing.requests"),
                 book("noc.coalescing.alone") + book("noc.coalescing.merged"));
}

void PacketCoalescingSpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "Packet coalescing";
    const double requests = m("noc.coalescing.requests");
    m.add(kHeading, "requests merged", Metrics::percent(m("noc.coalescing.merged"), requests), "%", "of read requests");
    m.add(kHeading, "requests per Big Packet", Metrics::ratio(m("noc.coalescing.merged"), m("noc.coalescing.big_packets")), "requests",
          "Big Packets of at least two requests");
    m.add(kHeading, "held", Metrics::ratio(m("noc.coalescing.held_cycles"), requests), "network cycles",
          fmt::format("per read request, of a budget of {:.1f}", Metrics::ratio(m("noc.coalescing.slack_cycles"), requests)));
    m.add(kHeading, "table full", Metrics::percent(m("noc.coalescing.table_full"), m("noc.coalescing.looked_up")), "%", "of table lookups");
}

/// Every end of the request networks has a router. Fabrics, which are registered before networks, have declared those of theirs.
static std::uint32_t routers_with_ends(const MachineFacts& machine, const Structures& declared) {
    std::uint32_t ends = 0;
    for (const CrossbarSet& set : declared.crossbars()) {
        if (set.is_network && set.statistics == "noc.request") ends += set.instances * (set.inputs + set.outputs);
    }
    return ends != 0 ? ends : machine.clusters + machine.slices;
}

/// A table that is searched by row, with the requests behind it.
void PacketCoalescingSpec::structures(const MachineFacts& machine, Structures& out) const {
    if (table_entries == 0) return;
    Structure table;
    table.component = "noc";
    table.name = "coalescing table";
    table.plural = "coalescing tables of routers";
    table.kind = Structure::Kind::fully_associative;
    table.instances = routers_with_ends(machine, out);
    table.entries = table_entries;
    table.tag_bits = block_tag_bits(machine.block_bytes);
    table.data_bits = 8 * request_bytes * (most_requests == 0 ? 31 : most_requests);
    table.per = "router";
    table.uses = {{"searches", Structure::search, {"noc.coalescing.looked_up"}},
                  {"writes", Structure::write, {"noc.coalescing.stored"}},
                  {"reads", Structure::read, {"noc.coalescing.stored"}}};
    out.add(std::move(table));
}

std::unique_ptr<RouterUnit> PacketCoalescingSpec::make(const RouterContext& context) const {
    if (context.network.name != "noc.request") return nullptr;
    return std::make_unique<PacketCoalescing>(*this, context);
}

std::optional<Publication> PacketCoalescingSpec::publication() const {
    Publication paper;
    paper.mechanism = "packet coalescing";
    paper.machine = "pkt28";
    paper.overrides = {"noc.coalescing.enabled=true"};
    paper.per = "router";
    paper.remark = "the paper gives no cost";
    return paper;
}

}  // namespace mergelane
