// SPDX-License-Identifier: MIT
// Rational clocks in integer arithmetic. The engine's time unit is 1 / lcm(all frequencies), so every period is an integral number of units
// and nothing is ever rounded.
#pragma once

#include "core/bits.hpp"
#include "core/types.hpp"

namespace mergelane {

struct Clock {
    std::uint32_t period = 1;  ///< engine units per cycle

    Time time_of(Cycle cycle) const { return cycle * period; }
    /// First cycle that starts at or after `time`.
    Cycle first_at(Time time) const { return divide_up(time, period); }
};

/// Converts a time in one clock, plus a latency, to the first edge of another clock at or after it.
class ClockCrossing {
public:
    ClockCrossing() = default;
    ClockCrossing(Clock from, Clock to, Time latency)
        : from_(from),
          to_(to),
          latency_(latency),
          same_cycles_(from.period == to.period && latency % to.period == 0 ? latency / to.period : 0) {}

    Cycle arrival(Cycle sent) const {
        if (same_cycles_ != 0) return sent + same_cycles_;
        return to_.first_at(from_.time_of(sent) + latency_);
    }
    Time latency() const { return latency_; }
    /// Cycles to add if both clocks are equal and the latency is a multiple of their period; otherwise 0.
    Cycle cycles() const { return same_cycles_; }

private:
    Clock from_;
    Clock to_;
    Time latency_ = 1;
    Cycle same_cycles_ = 1;  ///< 0: the clocks differ, divide
};

}  // namespace mergelane
