// SPDX-License-Identifier: MIT
#include "cluster/icc_spec.hpp"

#include <fmt/format.h>

#include "cluster/icc_unit.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "parts/replacement.hpp"

namespace mergelane {

void IccSpec::fields(SpecFields& f) {
    f.section("cluster.icc");
    f.boolean("enabled", on, "merge global reads of a cluster's SMs while the line they want is on its way");
    f.integer("entries", entries, 1, 4096, "entries", "merge table: lines on their way that further SMs can join");
    f.integer("request_cycles", request_cycles, 0, 64, "core cycles", "the lookup adds to the way of every request");
    f.integer("reply_cycles", reply_cycles, 0, 64, "core cycles", "the lookup adds to the way of every reply");
    f.enumeration("match", match, {"tracked", "address"},
                  "how a reply finds its entry: by the number it carries, or by its address alone, which loses replies when the table has "
                  "been full");
    f.enumeration("on_store", on_store, {"close", "ignore"},
                  "a store or atomic to a line on its way: nobody may join its entry any more, or nothing happens");
    f.boolean("l1_bypassing_loads", l1_bypassing_loads, "global loads that bypass the L1 take part too");
}

void CoalescedCacheSpec::fields(SpecFields& f) {
    f.section("cluster.cc");
    f.boolean("enabled", on, "keep lines that more than one SM of the cluster had asked for; needs cluster.icc.enabled");
    f.integer("entries", entries, 1, 65536, "lines", "lines of the coalesced cache");
    f.integer("ways", ways, 0, 65536, "lines", "lines of a set; 0: fully associative");
    f.policy<Replacement>("replacement", replacement, "which line of a set makes room");
    f.boolean("invalidate_on_store", invalidate_on_store, "a store or atomic of the cluster removes its line");
    f.integer("hit_queue", hit_queue, 1, 1024, "replies", "hits waiting to be handed to their SM; the bus stops while it is full");
}

void IccSpec::check(const MachineFacts&, const Sections&, Problems& problems) const {
    problems.require(
        match == Match::tracked || on_store == OnStore::ignore, {"cluster.icc.on_store", "cluster.icc.match"},
        "cluster.icc.match = \"address\" cannot find the reply of a closed entry; set cluster.icc.on_store = \"ignore\" as well");
}

void CoalescedCacheSpec::check(const MachineFacts&, const Sections& others, Problems& problems) const {
    problems.require(others.get<IccSpec>().on, {"cluster.cc.enabled", "cluster.icc.enabled"},
                     "cluster.cc.enabled needs cluster.icc.enabled: only lines whose requests merged are kept; switch both on");
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
          fmt::format("of {}; table full for {:.1f} %", grouped(m.count("icc.reads")), Metrics::percent(m("icc.untracked_full"), reads)));
    m.add(kHeading, "merge table occupancy", Metrics::ratio(m("icc.entry_cycles"), table_cycles), "entries",
          fmt::format("all taken in {:.1f} % of cycles", Metrics::percent(m("icc.full_cycles"), table_cycles)));
    m.add(kHeading, "coalesced cache hit rate", Metrics::percent(m("cc.hits"), reads), "%",
          fmt::format("{} lines kept", grouped(m.count("cc.fills"))));
}

/// Every request and reply searches the table; an entry is written when it is allocated, joined and freed. Storage is counted as in the
/// paper, without valid bits.
void IccSpec::structures(const MachineFacts& machine, Structures& out) const {
    using Access = Structure::Access;
    Structure table;
    table.component = "cluster";
    table.name = "merge table";
    table.plural = "merge tables";
    table.kind = Structure::Kind::cam;
    table.instances = machine.clusters;
    table.entries = entries;
    table.tag_bits = block_tag_bits(machine.block_bytes);
    table.data_bits = machine.sms_per_cluster;  // requesting SMs
    table.uses = {{"searches", Access::search, {"icc.reads", "icc.bypassed", "icc.network_replies"}},
                  {"writes", Access::write, {"icc.allocated", "icc.merged", "icc.tracked_replies"}}};
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
    using Access = Structure::Access;
    Structure cache;
    cache.component = "cluster";
    cache.name = "coalesced cache";
    cache.plural = "coalesced caches";
    cache.kind = Structure::Kind::fully_associative;
    cache.instances = machine.clusters;
    cache.entries = entries;
    cache.tag_bits = block_tag_bits(machine.block_bytes);
    cache.data_bits = 8 * machine.block_bytes;
    cache.uses = {{"searches", Access::search, {"icc.reads", "icc.bypassed"}},
                  {"reads", Access::read, {"cc.hits"}},
                  {"writes", Access::write, {"cc.fills"}}};
    out.add(std::move(cache));
}

std::unique_ptr<ClusterUnit> IccSpec::make(const ClusterContext& context) const {
    return std::make_unique<IccUnit>(*this, context.policies.sections().get<CoalescedCacheSpec>(), context.sms, context.block_bytes,
                                     context.policies);
}

}  // namespace mergelane
