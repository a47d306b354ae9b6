// SPDX-License-Identifier: MIT
#include "core/bits.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

namespace {
/// Keeps issuing the same warp until it cannot, then the oldest that can (CTAs by launch, warps by index).
class GreedyThenOldest final : public WarpScheduler {
public:
    std::uint32_t pick(std::uint64_t eligible, std::span<const std::uint64_t> ctas_by_age) override {
        if ((eligible >> last_ & 1) != 0) return last_;
        for (const std::uint64_t cta : ctas_by_age) {
            if ((eligible & cta) != 0) {
                last_ = lowest_bit(eligible & cta);
                return last_;
            }
        }
        return last_ = lowest_bit(eligible);
    }

private:
    std::uint32_t last_ = 0;
};
}  // namespace

std::unique_ptr<WarpScheduler> make_greedy_then_oldest(const SmSpec&, const Sections&) {
    return std::make_unique<GreedyThenOldest>();
}

}  // namespace mergelane
