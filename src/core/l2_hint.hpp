// SPDX-License-Identifier: MIT
// What a memory instruction says about how long the L2 should keep its lines (ADR 0054).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/types.hpp"

namespace mergelane {

/// Eviction priority of an access, as in PTX. The L2 evicts lines of priority first before normal ones and those before lines of priority
/// last; an access with unchanged leaves line and order as they are.
enum class L2Priority : std::uint8_t { normal, first, last, unchanged };
inline constexpr std::array<std::string_view, 4> kL2PriorityNames = {"normal", "evict_first", "evict_last", "evict_unchanged"};
inline constexpr std::size_t kL2Priorities = kL2PriorityNames.size();

/// One byte of an instruction: a priority for all lines, or one for a fraction of them and another for the rest. 0: no hint, which means
/// normal.
class L2Hint {
public:
    static constexpr std::uint32_t kWhole = 16;  ///< a fraction is a number of sixteenths
    static constexpr std::uint8_t kMost = 0x7F;

    constexpr L2Hint() = default;
    /// `sixteenths`: 1 to kWhole. `first_otherwise`: the other lines have priority first, otherwise unchanged.
    static constexpr L2Hint of(L2Priority priority, std::uint32_t sixteenths = kWhole, bool first_otherwise = false) {
        const bool all = sixteenths == kWhole;
        return L2Hint(static_cast<std::uint8_t>(static_cast<std::uint32_t>(priority) | (sixteenths % kWhole) << 2 |
                                                (first_otherwise && !all ? 0x40u : 0u)));
    }
    /// As in files; at most kMost.
    static constexpr L2Hint from_byte(std::uint8_t byte) { return L2Hint(byte); }
    constexpr std::uint8_t byte() const { return bits_; }
    constexpr bool any() const { return bits_ != 0; }

    constexpr L2Priority priority() const { return static_cast<L2Priority>(bits_ & 3); }
    constexpr std::uint32_t sixteenths() const { return (bits_ >> 2 & 15) == 0 ? kWhole : bits_ >> 2 & 15u; }
    constexpr L2Priority otherwise() const { return (bits_ & 0x40) != 0 ? L2Priority::first : L2Priority::unchanged; }
    /// Of an access to this address. A hash of the line decides, so all accesses with the same hint agree about a line.
    constexpr L2Priority at(Addr address) const {
        const std::uint32_t hash = static_cast<std::uint32_t>((address / kMaxLineBytes) * 0x9E3779B97F4A7C15ull >> 60);
        return hash < sixteenths() ? priority() : otherwise();
    }
    constexpr bool operator==(const L2Hint&) const = default;

private:
    explicit constexpr L2Hint(std::uint8_t bits) : bits_(bits) {}
    std::uint8_t bits_ = 0;
};

}  // namespace mergelane
