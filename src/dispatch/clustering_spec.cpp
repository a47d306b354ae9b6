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
                  "how CTAs are counted before they are cut into clusters of neighbours, one for each SM: along x, along y, tile by tile, "
                  "in bands of rows, each column by column, or as listed");
    f.integer("tile", tile, 1, 4096, "CTAs", "order = \"tiles\": along each side of a tile; order = \"bands\": rows of a band");
    f.text("table", table, "CTAs", "order = \"table\": the number of every CTA in turn, x + grid.x * (y + grid.y * z)", 1 << 17);
    f.text("bypass", bypass, "program counters",
           "global loads that go past the L1, as 0x40,0x58 or in decimal; a number counts for every kernel of a program, and does nothing "
           "where no global load has it",
           1 << 12);
    f.belongs_to("dispatch.transform", {"redirect"});
    f.integer("clusters", clusters, 0, 1 << 20, "clusters",
              "parts into which the sequence is cut; 0: one for each SM; 1: not cut, so that only the order changes in which CTAs come");
    f.integer("cta_instructions", cta_instructions, 0, 1000, "instructions", "that a CTA needs to find its task");
    f.belongs_to("dispatch.transform", {"agents"});
    f.integer("agents", agents, 0, 64, "agents", "of those that fit on an SM so many work, the others end at once; 0: all");
    f.enumeration(
        "agent_id", agent_id, {"slot", "atomic"},
        "how an agent finds its number on its SM: from its warp slot, or by counting in memory, which costs an atomic and a barrier");
    f.integer("agent_instructions", agent_instructions, 0, 1000, "instructions", "that an agent needs to find its cluster");
    f.integer("task_instructions", task_instructions, 1, 1000, "instructions", "that it needs to find each task, two divisions among them");
    f.integer(
        "prefetch", prefetch, 0, 32, "loads",
        "so many loads of each warp's next task are brought into the L1 before that begins, those whose addresses can be known by then");
}

void ClusteringSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    try {
        const bool is_empty = numbers().empty();
        problems.require(is_empty == (order != TaskOrder::Kind::table), {"clustering.table", "clustering.order"},
                         is_empty ? "clustering.order = \"table\" needs the numbers of the CTAs; set clustering.table"
                                  : "clustering.table is only for clustering.order = \"table\"; set that, or remove the table");
    } catch (const InputError& error) {
        problems.require(false, {"clustering.table"}, error.what());
    }
    problems.require(!machine.transform_has_persistent_ctas || prefetch == 0 || machine.has_l1, {"clustering.prefetch", "l1.enabled"},
                     "clustering.prefetch brings data into the L1, but l1.enabled is false; set that to true, or prefetch to 0");
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
