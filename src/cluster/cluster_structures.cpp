// SPDX-License-Identifier: MIT
#include "cluster/cluster_declarations.hpp"

namespace mergelane {

namespace {

using Access = Structure::Access;

/// Every request and every reply looks it up; an entry is written when it is taken, joined and freed.
Structure merge_table(const IccSpec& spec, const MachineFacts& machine) {
    Structure table;
    table.component = "cluster";
    table.name = "merge table";
    table.plural = "merge tables";
    table.kind = Structure::Kind::cam;
    table.instances = machine.clusters;
    table.entries = spec.entries;
    table.tag_bits = block_tag_bits(machine.block_bytes);
    table.data_bits = machine.sms_per_cluster;  // who asked
    table.uses = {{"searches", Access::search, {"icc.reads", "icc.bypassed", "icc.network_replies"}},
                  {"writes", Access::write, {"icc.allocated", "icc.merged", "icc.tracked_replies"}}};
    return table;
}

/// Every request searches its tags.
Structure coalesced_cache(const CoalescedCacheSpec& spec, const MachineFacts& machine) {
    Structure cache;
    cache.component = "cluster";
    cache.name = "coalesced cache";
    cache.plural = "coalesced caches";
    cache.kind = Structure::Kind::fully_associative;
    cache.instances = machine.clusters;
    cache.entries = spec.entries;
    cache.tag_bits = block_tag_bits(machine.block_bytes);
    cache.data_bits = 8 * machine.block_bytes;
    cache.uses = {{"searches", Access::search, {"icc.reads", "icc.bypassed"}},
                  {"reads", Access::read, {"cc.hits"}},
                  {"writes", Access::write, {"cc.fills"}}};
    return cache;
}

}  // namespace

void cluster_structures(const ClusterSpec& spec, const MachineFacts& machine, Structures& structures) {
    if (spec.icc.enabled) structures.add(merge_table(spec.icc, machine));
    if (spec.cc.enabled) structures.add(coalesced_cache(spec.cc, machine));
}

}  // namespace mergelane
