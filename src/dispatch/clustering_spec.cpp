// SPDX-License-Identifier: MIT
#include "dispatch/clustering_spec.hpp"

#include "core/error.hpp"
#include "core/result.hpp"
#include "dispatch/past_l1.hpp"

namespace mergelane {

void ClusteringSpec::fields(SpecFields& f) {
    f.section("clustering");
    f.belongs_to("dispatch.transform", {"redirect", "agents"});
    f.enumeration("order", order, {"rows", "columns", "tiles", "bands", "table"},
                  "order in which CTAs are numbered before they are divided into CTA clusters, one per SM: along x, along y, by tiles, by "
                  "bands of rows (each column by column), or as listed in clustering.table");
    f.integer("tile", tile, 1, 4096, "CTAs", "order = \"tiles\": side of a tile; order = \"bands\": rows per band");
    f.text("table", table, "CTAs", "order = \"table\": all CTA numbers, x + grid.x * (y + grid.y * z), in order", 1 << 17);
    f.text("bypass", bypass, "program counters",
           "program counters of global loads that bypass the L1, for example 0x40,0x58; applies to every kernel, and is ignored where no "
           "global load has this program counter",
           1 << 12);
    f.belongs_to("dispatch.transform", {"redirect"});
    f.integer("clusters", clusters, 0, 1 << 20, "clusters", "number of CTA clusters; 0: one per SM; 1: change only the order of CTAs");
    f.integer("cta_instructions", cta_instructions, 0, 1000, "instructions", "overhead per CTA to compute its task");
    f.belongs_to("dispatch.transform", {"agents"});
    f.integer("agents", agents, 0, 64, "agents", "active agents per SM, of those that fit; the others exit at once; 0: all");
    f.enumeration(
        "agent_id", agent_id, {"slot", "atomic"},
        "how an agent determines its number on its SM: from its warp slot, or with a counter in memory (an atomic and a barrier)");
    f.integer("agent_instructions", agent_instructions, 0, 1000, "instructions", "overhead per agent to determine its CTA cluster");
    f.integer("task_instructions", task_instructions, 1, 1000, "instructions", "overhead per task to compute it, including two divisions");
    f.integer("prefetch", prefetch, 0, 32, "loads",
              "loads of each warp's next task to prefetch into the L1, among those whose addresses are known in advance");
}

void ClusteringSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    try {
        const bool is_empty = numbers().empty();
        problems.require(is_empty == (order != TaskOrder::Kind::table), {"clustering.table", "clustering.order"},
                         is_empty ? "clustering.order = \"table\" requires clustering.table"
                                  : "clustering.table requires clustering.order = \"table\"; set it, or remove the table");
    } catch (const InputError& error) {
        problems.require(false, {"clustering.table"}, error.what());
    }
    problems.require(!machine.transform_has_persistent_ctas || prefetch == 0 || machine.has_l1, {"clustering.prefetch", "l1.enabled"},
                     "clustering.prefetch requires l1.enabled = true; set it, or set clustering.prefetch = 0");
    try {
        static_cast<void>(pc_list(bypass));
    } catch (const InputError& error) {
        problems.require(false, {"clustering.bypass"}, error.what());
    }
}

std::optional<Publication> ClusteringSpec::publication() const {
    Publication paper;
    paper.mechanism = "CTA clustering";
    paper.per = "program";
    paper.remark = "software only";
    return paper;
}

}  // namespace mergelane
