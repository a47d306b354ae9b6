// SPDX-License-Identifier: MIT
#include "noc/packet_coalescing_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "noc/packet_coalescing.hpp"

namespace mergelane {

void PacketCoalescingSpec::fields(SpecFields& f) {
    f.section("noc.coalescing");
    f.boolean("enabled", on, "routers of a mesh hold read requests back and merge those for one DRAM row");
    f.enumeration("policy", policy, {"dynamic", "fixed"},
                  "how a request's delay is spread over its way: more the nearer to the memory, or evenly");
    f.integer("delay_per_hop", delay_per_hop, 0, 255, "network cycles", "that a request may be held, for each hop of its way");
    f.boolean("merge", merge, "off: requests are held but never merged, to see what holding alone costs");
    f.integer("table_entries", table_entries, 0, 4096, "entries", "of the coalescing table of a router; 0: any number");
    f.integer("most_requests", most_requests, 0, 1024, "requests",
              "in a Big Packet; 0: as many as fit into the buffer of a virtual channel");
    f.integer("request_bytes", request_bytes, 1, 64, "bytes", "of each request in a Big Packet, behind its header");
    f.enumeration("hops", hops, {"routers", "links"},
                  "what a hop is: a router, or a wire between two; then a request's first does not hold it");
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
                     "noc.coalescing is a part of a mesh's routers; set noc.kind = \"mesh\", or noc.coalescing.enabled = false");
}

void PacketCoalescingSpec::laws(LawBook& book) const {
    book.balance("noc.coalescing.overdrawn = 0: nobody is held for longer than its slack while the way is free",
                 book("noc.coalescing.overdrawn"), 0);
    book.balance("noc.coalescing.interleaved = 0: a Big Packet goes over a wire in one piece", book("noc.coalescing.interleaved"), 0);
    if (!book.drained()) return;
    book.balance("noc.coalescing.requests = alone + merged", book("noc.coalescing.requests"),
                 book("noc.coalescing.alone") + book("noc.coalescing.merged"));
}

void PacketCoalescingSpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "Packet coalescing";
    const double requests = m("noc.coalescing.requests");
    m.add(kHeading, "requests merged", Metrics::percent(m("noc.coalescing.merged"), requests), "%",
          "of read requests, with at least one other");
    m.add(kHeading, "requests per Big Packet", Metrics::ratio(m("noc.coalescing.merged"), m("noc.coalescing.big_packets")), "requests",
          "that came to the memory with more than one");
    m.add(kHeading, "held", Metrics::ratio(m("noc.coalescing.held_cycles"), requests), "network cycles",
          fmt::format("per read request, of {:.1f} allowed", Metrics::ratio(m("noc.coalescing.slack_cycles"), requests)));
    m.add(kHeading, "table full", Metrics::percent(m("noc.coalescing.table_full"), m("noc.coalescing.looked_up")), "%",
          "of the times a request was to be held");
}

/// A table that is searched by row, with the requests behind it.
void PacketCoalescingSpec::structures(const MachineFacts& machine, Structures& out) const {
    if (table_entries == 0) return;
    using Access = Structure::Access;
    Structure table;
    table.component = "noc";
    table.name = "coalescing table";
    table.plural = "coalescing tables of routers";
    table.kind = Structure::Kind::fully_associative;
    table.instances = machine.clusters + machine.slices;
    table.entries = table_entries;
    table.tag_bits = block_tag_bits(machine.block_bytes);
    table.data_bits = 8 * request_bytes * (most_requests == 0 ? 31 : most_requests);
    table.per = "router";
    table.uses = {{"searches", Access::search, {"noc.coalescing.looked_up"}},
                  {"writes", Access::write, {"noc.coalescing.stored"}},
                  {"reads", Access::read, {"noc.coalescing.stored"}}};
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
