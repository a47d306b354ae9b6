// SPDX-License-Identifier: MIT
#include "core/bits.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

namespace {
/// Greedy-then-oldest: keeps issuing the same warp until it stalls, then takes the oldest that can issue (CTAs by launch, warps by index).
class GreedyThenOldest final : public WarpScheduler {
public:
    GreedyThenOldest() { favourite_ = bit(0); }
    std::uint32_t pick(std::uint64_t eligible, std::span<const std::uint64_t> ctas_by_age) override {
        std::uint64_t oldest = eligible & favourite_;
        for (std::size_t k = 0; oldest == 0 && k < ctas_by_age.size(); ++k) oldest = eligible & ctas_by_age[k];
        const std::uint32_t warp = lowest_bit(oldest != 0 ? oldest : eligible);
        favourite_ = bit(warp);
        return warp;
    }
};
}  // namespace

std::unique_ptr<WarpScheduler> make_greedy_then_oldest(const SmSpec&, const Sections&) {
    return std::make_unique<GreedyThenOldest>();
}

}  // namespace mergelane
