// SPDX-License-Identifier: MIT
// Which of the eligible warps issues. One small file per policy, one line in add_warp_schedulers().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "core/bits.hpp"
#include "core/policies.hpp"

namespace mergelane {

struct SmSpec;

class WarpScheduler {
public:
    static constexpr std::string_view kKind = "warp scheduler";
    using Maker = std::function<std::unique_ptr<WarpScheduler>(const SmSpec&, const Sections&)>;

    virtual ~WarpScheduler() = default;
    /// Like pick(), which need not be called for a favourite.
    std::uint32_t choose(std::uint64_t eligible, std::span<const std::uint64_t> ctas_by_age) {
        const std::uint64_t favourite = eligible & favourite_;
        return favourite != 0 ? lowest_bit(favourite) : pick(eligible, ctas_by_age);
    }
    /// One warp slot of `eligible` (never empty). `ctas_by_age` holds the warp slots of each resident CTA, oldest first.
    virtual std::uint32_t pick(std::uint64_t eligible, std::span<const std::uint64_t> ctas_by_age) = 0;

protected:
    /// A slot that is picked whenever it is eligible, as a mask. Empty for a policy that decides every time.
    std::uint64_t favourite_ = 0;
};

void add_warp_schedulers(Registry& registry);

}  // namespace mergelane
