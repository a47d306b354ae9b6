// SPDX-License-Identifier: MIT
// Which command may follow which, and how soon: every timing constraint of a DRAM channel is a row of one table.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

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
        return std::max({places_[bank].at[k], parts_[place.group][k], parts_[place.pseudo_channel][k]});
    }
    void issued(Kind kind, std::uint32_t bank, Cycle now);

private:
    using Earliest = std::array<Cycle, DramCommand::kKinds>;
    struct Place {
        Earliest at{};
        std::uint32_t group = 0, pseudo_channel = 0;  ///< in parts_
    };
    struct Delay {
        std::uint8_t to;
        DramRule::Scope scope;
        std::uint32_t cycles;
    };
    static constexpr std::uint32_t kMostBack = 4;
    /// A window over several commands of a kind.
    struct Window {
        DramRule rule;
        std::vector<std::array<Cycle, kMostBack>> last;  ///< per pseudo-channel: a ring
        std::vector<std::uint32_t> next;
    };

    std::array<std::vector<Delay>, DramCommand::kKinds> delays_;  ///< by the earlier command
    std::vector<Place> places_;                                   ///< per bank
    std::vector<Earliest> parts_;                                 ///< pseudo-channels, then bank groups
    std::vector<Window> windows_;
};

}  // namespace mergelane
