// SPDX-License-Identifier: MIT
// Small counter-based random numbers: the same on every host, one per component or seed.
#pragma once

#include <cstdint>

namespace mergelane {

/// Finaliser of SplitMix64: a bijection that spreads every input bit over the output.
inline constexpr std::uint64_t mix64(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

class Rng {
public:
    explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() { return mix64(state_++); }
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }

private:
    std::uint64_t state_;
};

}  // namespace mergelane
