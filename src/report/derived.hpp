// SPDX-License-Identifier: MIT
// What the summary, the JSON and the pages all derive from the counters of a run.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace mergelane::report {

/// A use of the schedulers' issue slots. What no counter covers are slots without a resident warp.
struct IssueSlot {
    const char* label;
    const char* counter;
    const char* sentence;  ///< what happens in these slots, for "56 % of the issue slots ..."
};
/// The first one is useful work.
inline constexpr IssueSlot kIssueSlots[] = {
    {"issued", "sm.warp_instructions", "issue an instruction"},
    {"waiting for memory", "sm.stall_memory", "are lost because all resident warps wait for values from memory"},
    {"load/store unit busy", "sm.stall_lsu", "are lost because the load/store unit accepts no further instruction"},
    {"waiting for arithmetic", "sm.stall_dependency", "are lost because all ready warps wait for results of arithmetic instructions"},
    {"unit or collectors busy", "sm.stall_unit",
     "are lost because the required execution unit is busy, or because waiting memory instructions occupy the operand collectors"},
    {"at a barrier or fence", "sm.stall_barrier", "are lost because warps wait at a barrier or fence"},
    {"CTA draining", "sm.stall_drain", "are lost because warps have finished, but memory transactions of their CTA are outstanding"},
};
inline constexpr IssueSlot kNoWarp = {"no resident warp", "", "are lost because the scheduler has no resident warp"};

/// Traffic of one level of the memory path.
struct Bandwidth {
    std::string_view level;
    double bytes = 0;
    double peak = 0;  ///< bytes per second
};
/// `stat`: a statistic of a run or of a part of it. `has_l1`: front ends may have none.
std::vector<Bandwidth> bandwidths(const MachineFacts& machine, bool has_l1, const std::function<double(std::string_view)>& stat);

}  // namespace mergelane::report
