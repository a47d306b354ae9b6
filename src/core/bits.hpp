// SPDX-License-Identifier: MIT
// Bit tricks used by bitmask schedulers and address maps.
#pragma once

#include <bit>
#include <cstdint>

namespace mergelane {

inline std::uint32_t lowest_bit(std::uint64_t mask) {
    return static_cast<std::uint32_t>(std::countr_zero(mask));
}
inline std::uint32_t bit_count(std::uint64_t mask) {
    return static_cast<std::uint32_t>(std::popcount(mask));
}
inline constexpr std::uint64_t bit(std::uint32_t index) {
    return std::uint64_t{1} << index;
}
inline constexpr std::uint64_t low_bits(std::uint32_t count) {
    return count >= 64 ? ~std::uint64_t{0} : bit(count) - 1;
}
inline constexpr bool is_power_of_two(std::uint64_t value) {
    return std::has_single_bit(value);
}
inline constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) {
    return (value + by - 1) / by;
}
/// Number of bits needed to count `values` different things; 0 for one.
inline constexpr std::uint32_t index_bits(std::uint64_t values) {
    return static_cast<std::uint32_t>(std::bit_width(values - 1));
}

/// Begins to fetch what will be read soon and is unlikely to be in the host's caches. Several fetched together take the time of one.
inline void prefetch(const void* at) {
    __builtin_prefetch(at);
}

}  // namespace mergelane
