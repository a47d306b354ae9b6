// SPDX-License-Identifier: MIT
// The table of launches printed after a timed program.
#pragma once

#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "core/result.hpp"
#include "timing.hpp"

namespace mergelane::cudart {

/// Identical launches of a kernel, accumulated for the table.
struct LaunchRow {
    std::string kernel;
    Dim3 grid, block;
    std::uint64_t launches = 0;
    bool at_placement = false;
    std::string registers;  ///< of the last launch: how many, how they are known, and the CTAs per SM
    std::uint64_t cycles = 0;
    std::uint64_t warp_instructions = 0;
    std::uint64_t thread_instructions = 0;
    std::uint64_t l1_loads = 0, l1_hits = 0, l2_accesses = 0, l2_hits = 0, dram_sectors = 0;
};

/// Adds a launch to the matching row, or starts a new one.
void add_launch(std::vector<LaunchRow>& rows, const KernelInfo& info, const Launched& launched);
std::string launch_table(const std::vector<LaunchRow>& rows, const RunResult& result);

}  // namespace mergelane::cudart
