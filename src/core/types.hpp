// SPDX-License-Identifier: MIT
// Types shared by all components: time, addresses, lanes, sectors.
#pragma once

#include <cstdint>

namespace mergelane {

/// Cycle count of one clock. Every domain counts its own clock; only links translate.
using Cycle = std::uint64_t;
inline constexpr Cycle kNever = ~Cycle{0};

/// Global time in engine units: every clock period is a whole number of them (see clock.hpp).
using Time = std::uint64_t;
inline constexpr Time kEndOfTime = ~Time{0};

using Addr = std::uint64_t;

inline constexpr std::uint32_t kWarpLanes = 32;
/// The smallest unit of memory that is tracked, fetched or transported.
inline constexpr std::uint32_t kSectorBytes = 32;
/// Largest cache line: byte masks of a line are 128 bits wide.
inline constexpr std::uint32_t kMaxLineBytes = 128;

}  // namespace mergelane
