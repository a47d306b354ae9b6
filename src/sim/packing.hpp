// SPDX-License-Identifier: MIT
// Assignment of jobs of known cost to threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace mergelane {

struct Packing {
    std::vector<std::uint32_t> order;   ///< jobs, the longest first
    std::vector<std::uint32_t> thread;  ///< of each job
    std::vector<std::uint64_t> load;    ///< of each thread

    /// Load of the thread that finishes last.
    std::uint64_t longest() const { return load.empty() ? 0 : *std::max_element(load.begin(), load.end()); }
};

/// Longest processing time first: each job goes to the least loaded thread; at most 4/3 of the optimum. Equal jobs keep their order;
/// among equally loaded threads the first is chosen.
Packing pack_longest_first(std::span<const std::uint64_t> costs, std::uint32_t threads);

}  // namespace mergelane
