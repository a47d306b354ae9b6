// SPDX-License-Identifier: MIT
#include "core/bits.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

namespace {
/// The next warp slot after the last one that issued, skipping those that cannot.
class LooseRoundRobin final : public WarpScheduler {
public:
    std::uint32_t pick(std::uint64_t eligible, std::span<const std::uint64_t>) override {
        const std::uint64_t after = last_ == 63 ? 0 : eligible & ~low_bits(last_ + 1);
        return last_ = lowest_bit(after != 0 ? after : eligible);
    }

private:
    std::uint32_t last_ = 63;
};
}  // namespace

std::unique_ptr<WarpScheduler> make_loose_round_robin(const SmSpec&, const Sections&) {
    return std::make_unique<LooseRoundRobin>();
}

}  // namespace mergelane
