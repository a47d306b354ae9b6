// SPDX-License-Identifier: MIT
// Who does what when jobs of known cost are shared out to threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mergelane {

struct Packing {
    std::vector<std::uint32_t> order;   ///< jobs, the longest first
    std::vector<std::uint32_t> thread;  ///< of each job
    std::vector<std::uint64_t> load;    ///< of each thread

    /// Of the thread that ends last.
    std::uint64_t longest() const;
};

/// Every job, the longest first, to the thread that has least: at most a third longer than the best there is. Equal jobs keep
/// their order, among equal threads the first one is taken.
Packing pack_longest_first(std::span<const std::uint64_t> costs, std::uint32_t threads);

}  // namespace mergelane
