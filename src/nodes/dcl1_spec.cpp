// SPDX-License-Identifier: MIT
#include "nodes/dcl1_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/registry.hpp"
#include "core/result.hpp"
#include "nodes/dcl1_fabric.hpp"

namespace mergelane {

void DcL1Spec::fields(SpecFields& f) {
    f.section("dcl1");
    f.boolean("enabled", on, "decoupled L1s: move the L1s from the SMs into shared nodes");
    f.integer("nodes", nodes, 1, 1024, "nodes", "DC-L1 nodes; together they have the capacity of the SMs' L1s");
    f.integer("clusters", clusters, 1, 1024, "clusters",
              "DC-L1 node clusters, each with an equal share of SMs and nodes; a line has one home node per node cluster. Equal to "
              "dcl1.nodes: every node has private SMs; 1: no line is replicated");
    f.boolean("caching", caching, "false: the SMs keep their L1s, and nodes only forward packets: two crossbars in series (CDXBar)");
    f.enumeration("local", local, {"crossbar", "direct"},
                  "connection of the SMs and nodes of a node cluster: a crossbar, or a dedicated wide link from each SM to its only node");
    f.integer("local_mhz", local_mhz, 1, 10000, "MHz", "clock of the networks between SMs and nodes");
    f.integer("local_flit_bytes", local_flit_bytes, 1, 1024, "bytes", "port width of the networks between SMs and nodes");
    f.integer("local_header_bytes", local_header_bytes, 0, 64, "bytes", "packet header on the networks between SMs and nodes");
    f.integer("queue", queue, 1, 1024, "packets", "capacity of each of a node's four queues: from SMs, to SMs, to the L2, from the L2");
    f.integer("hit_latency", hit_latency, 0, 1000, "cycles", "latency from a node's lookup until the reply enters its queue");
    f.integer("mshrs", mshrs, 0, 4096, "entries", "MSHR entries per node; 0: an equal share of the SMs' entries");
    f.integer("mshr_merges", mshr_merges, 0, 64, "requests", "requests per MSHR entry, including the first; 0: l1.mshr_merges");
    f.enumeration("home", home, {"chunk", "line"},
                  "home node of a line: by the L2's interleaving, so that a node connects to only some slices, or by consecutive lines");
    f.enumeration("sets", sets, {"whole", "local"},
                  "set index of a line in a node: from the full line address, in which some bits are the same for all lines of the node, "
                  "or from the line's index within the node, as in L2 slices");
    f.enumeration("reply", reply, {"words", "sectors", "line"},
                  "payload of a reply to an SM: the requested 4-byte words, their sectors, or the line");
    f.enumeration("write_hit", write_hit, {"sectors", "line"}, "payload that a store which hits in a node sends to the L2");
}

void DcL1Spec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    const std::uint32_t ports = machine.clusters / machine.groups;
    const std::uint32_t sms = machine.sms / machine.groups;
    problems.require(
        nodes % clusters == 0, {"dcl1.nodes", "dcl1.clusters"},
        fmt::format("dcl1.nodes ({}) cannot be divided evenly among {} node clusters; use a multiple of dcl1.clusters", nodes, clusters));
    const std::string what = machine.sms_per_cluster == 1 ? "SMs" : "SM clusters";
    problems.require(ports % clusters == 0, {"dcl1.clusters", "gpu.clusters"},
                     fmt::format("{} {} cannot be divided evenly among {} node clusters; change dcl1.clusters", ports, what, clusters));
    problems.require(nodes <= sms, {"dcl1.nodes", "gpu.clusters", "gpu.sms_per_cluster"},
                     fmt::format("dcl1.nodes ({}) exceeds the number of SMs ({}); lower it", nodes, sms));
    problems.require(
        local == Local::crossbar || nodes == clusters, {"dcl1.local", "dcl1.nodes", "dcl1.clusters"},
        fmt::format("dcl1.local = \"direct\" requires one node per node cluster, not {}; make dcl1.nodes and dcl1.clusters equal",
                    nodes / std::max(clusters, 1u)));
    problems.require(
        machine.block_bytes == kMaxLineBytes, {"dcl1.enabled", "lsu.block_bytes"},
        fmt::format("dcl1.enabled requires requests for full lines; set lsu.block_bytes and l1.sector_bytes to {} bytes", kMaxLineBytes));
    const std::uint32_t flits = port_sizes(machine.block_bytes).max_flits();
    problems.require(machine.input_buffer_flits >= flits, {"dcl1.local_flit_bytes", "noc.input_buffer_flits"},
                     fmt::format("noc.input_buffer_flits holds {} flits, but a packet between SMs and nodes can have {}; raise it or "
                                 "dcl1.local_flit_bytes",
                                 machine.input_buffer_flits, flits));
    problems.require(!machine.network_wants_one_clock, {"dcl1.enabled", "noc.kind"},
                     "dcl1.enabled requires a network with its own clock; set noc.kind = \"crossbar\"");
    if (!caching) return;
    problems.require(machine.has_l1, {"dcl1.enabled", "l1.enabled"}, "dcl1.enabled requires l1.enabled = true");
    problems.require(!machine.front_arranges_l1, {"dcl1.enabled", "lsu.front"},
                     "dcl1.enabled requires a front end that does not arrange the SM's own L1; set lsu.front = \"in_order\"");
}

LocalTiming::LocalTiming(const DcL1Spec& spec, const FabricTiming& timing) : clock(timing.clock_of(spec.local_mhz)) {
    const Time cycle = timing.core.time_of(1);
    const bool direct = spec.local == DcL1Spec::Local::direct;
    const Time traversal = direct ? 0 : clock.time_of(timing.traversal_cycles);
    credit = clock.time_of(timing.credit_cycles);
    // Requests that are only forwarded always reach the L2.
    Time left = spec.caching ? timing.core.time_of(spec.hit_latency) : 4 * credit;
    // Wires have no latency of their own: it is all part of the cache latency.
    if (direct) left -= std::min(left, timing.injection + timing.ejection + cycle);
    const Time all = left;
    // Cut links shorter than the credit latency borrow from the cache pipeline; misses recover it in the L2's.
    const auto at_least_credit = [&](Time own) {
        const Time borrowed_now = own >= credit ? 0 : std::min(credit - own, left);
        left -= borrowed_now - borrowed_now % cycle;
        return own + borrowed_now - borrowed_now % cycle;
    };
    const Time ejection = direct || !spec.caching ? 0 : timing.ejection;
    request_in = traversal;
    request_out = at_least_credit(ejection);
    reply_in = direct ? 0 : traversal + (spec.caching ? timing.injection : 0);
    reply_out = at_least_credit(direct ? 0 : timing.ejection);
    request_out = std::max(request_out, cycle);
    reply_out = std::max(reply_out, cycle);
    borrowed = all - left;
    hit_cycles = spec.caching ? static_cast<std::uint32_t>(left / timing.core.period) : 0;
}

std::string DcL1Spec::description() const {
    return fmt::format("{} nodes in {} node clusters, {}-byte flits between SMs and nodes", nodes, clusters, local_flit_bytes);
}

Time DcL1Spec::borrowed_from_l2(const FabricTiming& timing) const {
    return LocalTiming(*this, timing).borrowed;
}

Time DcL1Spec::shortest_link(const FabricTiming& timing) const {
    const LocalTiming t(*this, timing);
    return std::min({local == Local::direct ? t.credit : std::min(t.request_in, t.reply_in), t.request_out, t.reply_out, t.credit});
}

AddressMap DcL1Spec::port_map(const AddressMap& to_slices, std::uint32_t ports) const {
    const DcL1Layout layout(*this, ports, to_slices.slices());
    const std::uint32_t homes = layout.nodes_per_cluster();
    if (!layout.split()) return AddressMap(homes, 1, home == Home::line ? kMaxLineBytes : to_slices.interleave_bytes(), "plain");
    std::vector<std::uint16_t> numbers;
    for (std::uint32_t index = 0; index < to_slices.slices(); ++index)
        numbers.push_back(static_cast<std::uint16_t>(index / layout.slices_per_network()));
    return to_slices.numbered(std::move(numbers));
}

/// Sets grow by powers of two; the remaining factor goes to the ways.
L1Spec DcL1Spec::cache(const L1Spec& l1, std::uint32_t sms) const {
    L1Spec mine = l1;
    const std::uint32_t factor = std::max(sms / nodes, 1u);
    const std::uint32_t odd = factor >> std::countr_zero(factor);
    mine.size_kib = l1.size_kib * factor;
    mine.ways = l1.ways * odd;
    mine.hit_latency = std::max(hit_latency, 1u);
    mine.mshrs = mshrs != 0 ? mshrs : l1.mshrs * factor;
    if (mshr_merges != 0) mine.mshr_merges = mshr_merges;
    return mine;
}

void DcL1Spec::laws(LawBook& book) const {
    if (local == Local::crossbar) {
        book.boundary("cluster.requests_out", "noc.local_request.packets_in", "cluster -> local request network");
        book.boundary("noc.local_request.packets", "dcl1.requests", "local request network -> node");
        book.boundary("dcl1.replies", "noc.local_reply.packets_in", "node -> local reply network");
        book.boundary("noc.local_reply.packets", "cluster.network_replies", "local reply network -> cluster");
        for (const std::string name : {"noc.local_request", "noc.local_reply"}) {
            book.balance(name + ".packets_in = packets + held", book(name + ".packets_in"), book(name + ".packets") + book(name + ".held"));
        }
    } else {
        book.boundary("cluster.requests_out", "dcl1.requests", "cluster -> node");
        book.boundary("dcl1.replies", "cluster.network_replies", "node -> cluster");
    }
    book.boundary("dcl1.requests_out", "noc.request.packets_in", "node -> request network");
    book.boundary("noc.reply.packets", "dcl1.network_replies", "reply network -> node");
    book.balance("every request is answered once or waits: dcl1.requests = dcl1.replies + waiting", book("dcl1.requests"),
                 book("dcl1.replies") + book("dcl1.waiting"));
    book.balance("every request reaches the home node of its line: dcl1.misrouted = 0", book("dcl1.misrouted"), 0);
    if (caching)
        book.balance("dcl1.requests = l1.line_requests + dcl1.beside", book("dcl1.requests"),
                     book("l1.line_requests") + book("dcl1.beside"));
}

void DcL1Spec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "Nodes";
    const double requests = m("dcl1.requests");
    m.add(kHeading, "requests forwarded to the L2", Metrics::percent(m("dcl1.requests_out"), requests), "%",
          fmt::format("of {}", grouped(m.count("dcl1.requests"))));
    m.add(kHeading, "time with the next request stalled", Metrics::percent(m("dcl1.blocked"), m.cycles() * nodes * m.machine().groups),
          "%");
}

/// Wires to nodes have the paper's length; those to the L2 are as long as in other networks.
void DcL1Spec::structures(const MachineFacts& machine, Structures& out) const {
    constexpr double kLocalMm = 3.3;
    const std::uint32_t groups = machine.groups;
    const DcL1Layout layout(*this, machine.clusters / groups, machine.slices / groups);
    const auto both_ways = [&](const std::string& name, const std::string& statistics, std::uint32_t count, std::uint32_t inputs,
                               std::uint32_t outputs, std::uint32_t flit_bytes, std::uint32_t mhz, double mm) {
        for (const bool back : {false, true}) {
            const std::string way = back ? "reply" : "request";
            out.add({name + way, statistics + way, count * groups, back ? outputs : inputs, back ? inputs : outputs, flit_bytes,
                     machine.input_buffer_flits, mhz, mm, name.empty()});  // those to the L2 are of the machine's kind
        }
    };
    if (local == Local::crossbar)
        both_ways("local ", "noc.local_", clusters, layout.cores_per_cluster(), layout.nodes_per_cluster(), local_flit_bytes, local_mhz,
                  kLocalMm);
    both_ways("", "noc.", layout.far_networks(), layout.nodes_per_network(), layout.slices_per_network(), machine.flit_bytes,
              machine.noc_mhz, 0);
    Structure queues;
    queues.component = "l1";
    queues.name = "node queue";
    queues.plural = "node queues";
    queues.per_owner = 4;
    queues.instances = queues.per_owner * nodes * groups;
    queues.entries = queue;
    queues.data_bits = 8 * machine.block_bytes;
    queues.per = "node";
    const std::vector<std::string> passed = {"dcl1.requests", "dcl1.replies", "dcl1.requests_out", "dcl1.network_replies"};
    queues.uses = {{"writes", Structure::Access::write, passed}, {"reads", Structure::Access::read, passed}};
    out.add(std::move(queues));
}

std::optional<Publication> DcL1Spec::publication() const {
    Publication paper;
    paper.mechanism = "decoupled L1";
    paper.machine = "dcl1-80";
    paper.overrides = {"dcl1.enabled=true"};
    paper.per = "node";
    paper.remark = "queues only; the cache is relocated L1 capacity";
    static constexpr std::pair<int, int> kOrganisations[] = {{40, 40}, {20, 20}, {10, 10}, {40, 1}, {40, 5}, {40, 10}, {40, 20}};
    for (const auto& [caches, shares] : kOrganisations)
        paper.networks.push_back({fmt::format("{} nodes, {} clusters", caches, shares),
                                  {"dcl1.enabled=true", fmt::format("dcl1.nodes={}", caches), fmt::format("dcl1.clusters={}", shares)}});
    return paper;
}

std::unique_ptr<Fabric> DcL1Spec::make(const FabricBuild& build) const {
    return std::make_unique<DcL1Fabric>(*this, build);
}

void add_fabrics(Registry& registry) {
    registry.add_section<DcL1Spec>();
}

}  // namespace mergelane
