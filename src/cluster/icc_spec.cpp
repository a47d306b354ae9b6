// SPDX-License-Identifier: MIT
#include "cluster/icc_spec.hpp"

#include <fmt/format.h>

#include "cluster/icc_unit.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "parts/fabric.hpp"
#include "parts/replacement.hpp"

namespace mergelane {

void IccSpec::fields(SpecFields& f) {
    f.section("cluster.icc");
    f.boolean("enabled", on, "intra-cluster coalescing (ICC): merge global reads of an SM cluster for a line in flight");
    f.integer("entries", entries, 1, 4096, "entries", "merge-table entries: lines in flight that further SMs can merge with");
    f.integer("request_cycles", request_cycles, 0, 64, "core cycles", "latency the merge-table lookup adds to every request");
    f.integer("reply_cycles", reply_cycles, 0, 64, "core cycles", "latency the merge-table lookup adds to every reply");
    f.enumeration("match", match, {"tracked", "address"},
                  "how a reply is matched to its entry: by the entry ID it carries, or by address only, which misdelivers replies after "
                  "the table has been full");
    f.enumeration("on_store", on_store, {"close", "ignore"},
                  "effect of a store or atomic on an entry for its line: close it to further merges, or none");
    f.boolean("l1_bypassing_loads", l1_bypassing_loads, "also merge global loads that bypass the L1");
}

void CoalescedCacheSpec::fields(SpecFields& f) {
    f.section("cluster.cc");
    f.boolean("enabled", on, "coalesced cache (CC): keep lines requested by several SMs of the SM cluster; requires cluster.icc.enabled");
    f.integer("entries", entries, 1, 65536, "lines", "capacity of the coalesced cache");
    f.integer("ways", ways, 0, 65536, "lines", "associativity; 0: fully associative");
    f.policy<Replacement>("replacement", replacement, "replacement policy");
    f.boolean("invalidate_on_store", invalidate_on_store, "invalidate a line on a store or atomic of the SM cluster");
    f.integer("hit_queue", hit_queue, 1, 1024, "replies", "queue of hits to deliver; the cluster bus stalls while it is full");
}

void IccSpec::check(const MachineFacts&, const Sections&, Problems& problems) const {
    problems.require(
        match == Match::tracked || on_store == OnStore::ignore, {"cluster.icc.on_store", "cluster.icc.match"},
        "cluster.icc.match = \"address\" cannot match the reply of a closed entry; set cluster.icc.on_store = \"ignore\" as well");
}

void CoalescedCacheSpec::check(const MachineFacts&, const Sections& others, Problems& problems) const {
    problems.require(others.get<IccSpec>().on, {"cluster.cc.enabled", "cluster.icc.enabled"},
                     "cluster.cc.enabled requires cluster.icc.enabled = true: only lines with merged requests are kept; enable both");
    problems.require(
        entries % ways_per_set() == 0, {"cluster.cc.ways", "cluster.cc.entries"},
        fmt::format("cluster.cc.entries ({}) is not a whole number of sets of {} ways; use a divisor, or 0 for fully associative", entries,
                    ways));
}

void IccSpec::laws(LawBook& s) const {
    s.balance("cluster.requests_in = icc.reads + icc.bypassed", s("cluster.requests_in"), s("icc.reads") + s("icc.bypassed"));
    s.balance("icc.reads = cc.hits + icc.merged + icc.allocated + icc.untracked_full + icc.untracked_same_sm", s("icc.reads"),
              s("cc.hits") + s("icc.merged") + s("icc.allocated") + s("icc.untracked_full") + s("icc.untracked_same_sm"));
    s.balance("icc.allocated + icc.merged + cc.hits = icc.answered + cc.answered + waiting",
              s("icc.allocated") + s("icc.merged") + s("cc.hits"), s("icc.answered") + s("cc.answered") + s("icc.waiting"));
    s.balance("icc.allocated = icc.tracked_replies + entries in use", s("icc.allocated"), s("icc.tracked_replies") + s("icc.entries"));
    s.balance("cluster.replies = icc.network_replies - icc.tracked_replies + icc.answered + cc.answered", s("cluster.replies"),
              s("icc.network_replies") - s("icc.tracked_replies") + s("icc.answered") + s("cc.answered"));
    s.balance("no reply answers another entry than its own: icc.misdelivered = 0", s("icc.misdelivered"), 0);
}

void IccSpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "Clusters";
    const double reads = m("icc.reads");
    const double table_cycles = m.cycles() * m.machine().clusters;
    m.add(kHeading, "L1 read misses merged", Metrics::percent(m("icc.merged"), reads), "%",
          fmt::format("of {}; {:.1f} % found the table full", grouped(m.count("icc.reads")),
                      Metrics::percent(m("icc.untracked_full"), reads)));
    m.add(kHeading, "merge table occupancy", Metrics::ratio(m("icc.entry_cycles"), table_cycles), "entries",
          fmt::format("full in {:.1f} % of cycles", Metrics::percent(m("icc.full_cycles"), table_cycles)));
    m.add(kHeading, "coalesced cache hit rate", Metrics::percent(m("cc.hits"), reads), "%",
          fmt::format("{} lines kept", grouped(m.count("cc.fills"))));
}

/// Every request and reply searches the table; an entry is written when it is allocated, joined and freed. Storage is counted as in the
/// paper, without valid bits.
void IccSpec::structures(const MachineFacts& machine, Structures& out) const {
    Structure table;
    table.component = "cluster";
    table.name = "merge table";
    table.plural = "merge tables";
    table.kind = Structure::Kind::cam;
    table.instances = machine.clusters;
    table.entries = entries;
    table.tag_bits = block_tag_bits(machine.block_bytes);
    table.data_bits = machine.sms_per_cluster;  // requesting SMs
    table.uses = {{"searches", Structure::search, {"icc.reads", "icc.bypassed", "icc.network_replies"}},
                  {"writes", Structure::write, {"icc.allocated", "icc.merged", "icc.tracked_replies"}}};
    out.add(std::move(table));
}

std::optional<Publication> IccSpec::publication() const {
    Publication paper;
    paper.mechanism = "intra-cluster coalescing";
    paper.machine = "icc60";
    paper.overrides = {"cluster.icc.enabled=true", "cluster.cc.enabled=true"};
    paper.per = "cluster";
    paper.remark = "valid bits are not counted, as in the paper";
    return paper;
}

/// Every request searches its tags.
void CoalescedCacheSpec::structures(const MachineFacts& machine, Structures& out) const {
    Structure cache;
    cache.component = "cluster";
    cache.name = "coalesced cache";
    cache.plural = "coalesced caches";
    cache.kind = Structure::Kind::fully_associative;
    cache.instances = machine.clusters;
    cache.entries = entries;
    cache.tag_bits = block_tag_bits(machine.block_bytes);
    cache.data_bits = 8 * machine.block_bytes;
    cache.uses = {{"searches", Structure::search, {"icc.reads", "icc.bypassed"}},
                  {"reads", Structure::read, {"cc.hits"}},
                  {"writes", Structure::write, {"cc.fills"}}};
    out.add(std::move(cache));
}

std::unique_ptr<ClusterUnit> IccSpec::make(const ClusterContext& context) const {
    const Sections& sections = context.policies.sections();
    auto unit = std::make_unique<IccUnit>(*this, sections.get<CoalescedCacheSpec>(), context.sms, context.block_bytes, context.policies);
    if (fabric_of(sections) != nullptr) unit->ask_for_whole_lines();  // its caches answer with the words asked for
    return unit;
}

}  // namespace mergelane
