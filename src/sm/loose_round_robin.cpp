// SPDX-License-Identifier: MIT
#include "core/bits.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

namespace {
/// Loose round robin: the next warp slot after the last one that issued, skipping those that cannot issue.
class LooseRoundRobin final : public WarpScheduler {
public:
    std::uint32_t pick(std::uint64_t eligible, std::span<const std::uint64_t>) override {
        const std::uint64_t after = eligible & later_;
        const std::uint32_t warp = lowest_bit(after != 0 ? after : eligible);
        later_ = ~std::uint64_t{1} << warp;
        return warp;
    }

private:
    std::uint64_t later_ = 0;  ///< slots after the last one
};
}  // namespace

std::unique_ptr<WarpScheduler> make_loose_round_robin(const SmSpec&, const Sections&) {
    return std::make_unique<LooseRoundRobin>();
}

}  // namespace mergelane
