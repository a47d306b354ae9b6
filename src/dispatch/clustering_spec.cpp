// SPDX-License-Identifier: MIT
#include "dispatch/clustering_spec.hpp"

#include "core/error.hpp"
#include "core/result.hpp"
#include "dispatch/past_l1.hpp"

namespace mergelane {

// A transform is chosen by name, so nothing here counts for a machine whose software does not change kernels.
void ClusteringSpec::fields(SpecFields& f) {
    f.section("clustering");
    f.enumeration("order", order, {"rows", "columns", "tiles", "bands", "table"},
                  "how CTAs are counted before they are cut into clusters of neighbours, one for each SM: along x, along y, tile by tile, "
                  "in bands of rows, each column by column, or as listed");
    f.neutral("rows");
    f.integer("tile", tile, 1, 4096, "CTAs", "order = \"tiles\": along each side of a tile; order = \"bands\": rows of a band");
    f.neutral("2");
    f.text("table", table, "CTAs", "order = \"table\": the number of every CTA in turn, x + grid.x * (y + grid.y * z)", 1 << 17);
    f.neutral("none");
    f.integer(
        "clusters", clusters, 0, 1 << 20, "clusters",
        "transform \"redirect\": parts into which the sequence is cut; 0: one for each SM; 1: not cut, so that only the order changes in "
        "which CTAs come");
    f.neutral("0");
    f.integer("agents", agents, 0, 64, "agents",
              "transform \"agents\": of those that fit on an SM so many work, the others end at once; 0: all");
    f.neutral("0");
    f.enumeration(
        "agent_id", agent_id, {"slot", "atomic"},
        "how an agent finds its number on its SM: from its warp slot, or by counting in memory, which costs an atomic and a barrier");
    f.neutral("slot");
    f.integer("cta_instructions", cta_instructions, 0, 1000, "instructions", "transform \"redirect\": that a CTA needs to find its task");
    f.neutral("12");
    f.integer("agent_instructions", agent_instructions, 0, 1000, "instructions", "that an agent needs to find its cluster");
    f.neutral("10");
    f.integer("task_instructions", task_instructions, 1, 1000, "instructions", "that it needs to find each task, two divisions among them");
    f.neutral("8");
    f.text("bypass", bypass, "program counters",
           "global loads that go past the L1, as 0x40,0x58 or in decimal; a number counts for every kernel of a program, and does nothing "
           "where no global load has it",
           1 << 12);
    f.neutral("none");
    f.integer(
        "prefetch", prefetch, 0, 32, "loads",
        "transform \"agents\": so many loads of each warp's next task are brought into the L1 before that begins, those whose addresses "
        "can be known by then");
    f.neutral("0");
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
    problems.require(
        clusters == 0 || machine.chosen("dispatch.transform", "redirect"), {"clustering.clusters", "dispatch.transform"},
        "clustering.clusters is for dispatch.transform = \"redirect\"; agents have a cluster for each SM; set that, or clusters to 0");
    const bool agents_work = machine.chosen("dispatch.transform", "agents");
    problems.require(
        prefetch == 0 || agents_work, {"clustering.prefetch", "dispatch.transform"},
        "clustering.prefetch fetches for the next task of an agent, and only dispatch.transform = \"agents\" has agents; set that, "
        "or prefetch to 0");
    problems.require(prefetch == 0 || machine.has_l1, {"clustering.prefetch", "l1.enabled"},
                     "clustering.prefetch brings data into the L1, but l1.enabled is false; set that to true, or prefetch to 0");
    try {
        problems.require(pc_list(bypass).empty() || agents_work || machine.chosen("dispatch.transform", "redirect"),
                         {"clustering.bypass", "dispatch.transform"},
                         "clustering.bypass is for dispatch.transform = \"redirect\" and \"agents\"; set one of them, or bypass to none");
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
