// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mergelane {

/// Adds every member of a struct that has 64-bit counts only, so that none can be forgotten.
template <class Counts>
void add_counts(Counts& to, const Counts& from) {
    using Flat = std::array<std::uint64_t, sizeof(Counts) / sizeof(std::uint64_t)>;
    Flat sum = std::bit_cast<Flat>(to);
    const Flat more = std::bit_cast<Flat>(from);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
    to = std::bit_cast<Counts>(sum);
}

inline double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace mergelane
