// SPDX-License-Identifier: MIT
#include "sampling/footprint.hpp"

namespace mergelane::sampling {

std::uint64_t Footprint::lines() const {
    constexpr double kAlpha = 0.7213 / (1 + 1.079 / kRegisters);
    double inverse = 0;
    std::uint32_t empty = 0;
    for (const std::uint8_t rank : registers_) {
        inverse += 1.0 / static_cast<double>(std::uint64_t{1} << rank);
        empty += rank == 0;
    }
    const double raw = kAlpha * kRegisters * kRegisters / inverse;
    if (raw > 2.5 * kRegisters || empty == 0) return static_cast<std::uint64_t>(raw + 0.5);
    // Few lines: as many as it takes on average to fill so many registers (coupon collector).
    double expected = 0;
    for (std::uint32_t left = empty + 1; left <= kRegisters; ++left) expected += static_cast<double>(kRegisters) / left;
    return static_cast<std::uint64_t>(expected + 0.5);
}

}  // namespace mergelane::sampling
