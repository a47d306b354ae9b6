// SPDX-License-Identifier: MIT
// Where the time of an SM's loads went: from issue until the value is available, along the request that was answered last.
#pragma once

#include <array>
#include <cstdint>

#include "core/journey.hpp"

namespace mergelane {

struct LatencyAccount {
    std::uint64_t loads = 0;
    Time total = 0;
    std::array<Time, Stages::kMost> spent{};  ///< per stage of the machine; they add up to the total

    std::array<Time, Stages::kMost> stalled{};  ///< of the schedulers, waiting for memory: the stage of the load that ended the wait

    template <class History>
    void add(const History& history) {
        ++loads;
        total += history.available() - history.issued();
        history.add_to(spent.data());
    }
    /// A scheduler waited for this load from `since` until `now`.
    template <class History>
    void add_stall(const History& history, Time since, Time now) {
        history.visit(since, now, [this](std::uint8_t stage, Time time) { stalled[stage] += time; });
    }
};

}  // namespace mergelane
