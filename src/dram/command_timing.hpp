// SPDX-License-Identifier: MIT
// Which command may follow which, and how soon: every timing constraint of a DRAM channel is a row of one table.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/bits.hpp"
#include "dram/command.hpp"
#include "dram/controller_spec.hpp"

namespace mergelane {

/// `to` follows `from` after at least `cycles`, within the given part of a channel.
struct DramRule {
    enum class Scope : std::uint8_t { bank, group, pseudo_channel };

    std::string_view name;
    DramCommand::Kind from, to;
    Scope scope;
    std::uint32_t cycles;
    std::uint32_t back = 1;  ///< counted from the last but so many; 4 for the window of four activates
};

std::vector<DramRule> dram_rules(const DramSpec& dram, const DramControllerSpec& controller);

/// When a command is legal, by the commands issued so far. Knows neither requests nor open rows.
class CommandTiming {
public:
    using Kind = DramCommand::Kind;

    CommandTiming(const DramSpec& dram, const DramControllerSpec& controller, const std::vector<DramRule>& rules);

    Cycle earliest(Kind kind, std::uint32_t bank) const {
        const auto k = static_cast<std::size_t>(kind);
        const Place& place = places_[bank];
        return std::max({parts_[place[0]][k], parts_[place[1]][k], parts_[place[2]][k]});
    }
    /// Those of the banks that can get the command now; the others not before `next`, which is lowered for them.
    std::uint64_t ready(Kind kind, std::uint64_t banks, Cycle now, Cycle& next) const;
    /// No bank of the first pseudo-channel before this.
    Cycle earliest_anywhere(Kind kind) const { return parts_[0][static_cast<std::size_t>(kind)]; }
    void issued(Kind kind, std::uint32_t bank, Cycle now);

private:
    using Earliest = std::array<Cycle, 8>;       ///< by kind of command; a cache line
    using Place = std::array<std::uint32_t, 3>;  ///< by scope: of the bank, its group and its pseudo-channel in parts_
    struct Delay {
        std::uint8_t to;
        std::uint8_t scope;
        std::uint32_t cycles;
    };
    static constexpr std::uint32_t kMostBack = 4;
    /// A window over several commands of a kind.
    struct Window {
        DramRule rule;
        std::vector<std::array<Cycle, kMostBack>> last;  ///< per pseudo-channel: a ring
        std::vector<std::uint32_t> next;
    };

    const std::uint32_t pseudo_channels_, banks_per_half_;
    std::array<std::vector<Delay>, DramCommand::kKinds> delays_;  ///< by the earlier command
    std::vector<Place> places_;                                   ///< per bank
    std::vector<Earliest> parts_;                                 ///< pseudo-channels, then bank groups, then banks
    std::vector<Window> windows_;
};

inline std::uint64_t CommandTiming::ready(Kind kind, std::uint64_t banks, Cycle now, Cycle& next) const {
    const auto k = static_cast<std::size_t>(kind);
    std::uint64_t ready = 0;
    for (std::uint32_t p = 0; p < pseudo_channels_; ++p) {
        const std::uint64_t half = banks & low_bits(banks_per_half_) << p * banks_per_half_;
        if (half == 0) continue;
        if (parts_[p][k] > now) {
            next = std::min(next, parts_[p][k]);
            continue;
        }
        for (std::uint64_t left = half; left != 0; left &= left - 1) {
            const Place& place = places_[lowest_bit(left)];
            const Cycle at = std::max(parts_[place[0]][k], parts_[place[1]][k]);
            if (at <= now)
                ready |= left & (~left + 1);
            else
                next = std::min(next, at);
        }
    }
    return ready;
}

}  // namespace mergelane
