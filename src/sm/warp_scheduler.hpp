// SPDX-License-Identifier: MIT
// Which of the warps that could issue does. One small file per policy, one line in the table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace mergelane {

class WarpScheduler {
public:
    virtual ~WarpScheduler() = default;
    /// One warp slot of `eligible` (never empty). `ctas_by_age` holds the warp slots of each resident CTA, oldest first.
    virtual std::uint32_t pick(std::uint64_t eligible, std::span<const std::uint64_t> ctas_by_age) = 0;
};

std::unique_ptr<WarpScheduler> make_warp_scheduler(std::string_view name);
std::vector<std::string_view> warp_scheduler_names();

}  // namespace mergelane
