// SPDX-License-Identifier: MIT
// Static warp limiting (CCWS-SWL): only the oldest n warps of an SM that can make progress may issue loads. Warps at a barrier or fence do
// not count, because others must be able to reach it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bits.hpp"

namespace mergelane {

class WarpLimit {
public:
    explicit WarpLimit(std::uint32_t warps) : warps_(warps) {}

    bool on() const { return warps_ != 0; }
    /// Warps that may not issue loads, as of the last update.
    std::uint64_t beyond() const { return beyond_; }
    /// `ctas`: the warps of each CTA, oldest first; `going_on`: those that count; `loads`: those whose next instruction is a load.
    void update(const std::vector<std::uint64_t>& ctas, std::uint64_t going_on, std::uint64_t loads) {
        std::uint64_t within = 0;
        std::uint32_t left = warps_;
        for (const std::uint64_t cta : ctas) {
            for (std::uint64_t warps = cta & going_on; warps != 0 && left != 0; warps &= warps - 1, --left)
                within |= bit(lowest_bit(warps));
        }
        beyond_ = loads & ~within;
    }

private:
    std::uint32_t warps_;  ///< 0: no limit
    std::uint64_t beyond_ = 0;
};

}  // namespace mergelane
