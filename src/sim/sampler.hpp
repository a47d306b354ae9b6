// SPDX-License-Identifier: MIT
// Reads all counters whenever an interval of core cycles ends. The engine stops there, so the reading is exact.
#pragma once

#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/timeline.hpp"
#include "core/types.hpp"

namespace mergelane {

class Sampler {
public:
    static constexpr std::uint64_t kMost = 10'000;  ///< intervals that a user may ask for: 20 MB of counters
    /// For a timeline alone: the shortest interval, and how many of them. When there are as many, every second boundary is given up.
    static constexpr std::uint64_t kShortest = 1000;
    static constexpr std::uint64_t kMostOfTimeline = 2000;

    /// `interval`: core cycles; 0: none is asked for. `timeline`: nullptr, or what takes the depths of queues.
    Sampler(std::uint64_t interval, Timeline* timeline, Clock core);

    /// When to take the next sample; kEndOfTime: never.
    Time next() const { return next_; }
    /// At next(). Throws InputError if there are too many. `gauges`: as many in every sample; only for a timeline.
    void take(const std::vector<StatValue>& totals, const std::vector<StatValue>& gauges);
    bool wants_gauges() const { return timeline_ != nullptr; }
    void stop() { next_ = kEndOfTime; }
    /// The run ended at `end` with these totals. What was sampled later is part of the last interval.
    Intervals finish(Cycle end, const std::vector<StatValue>& totals);

private:
    std::uint64_t taken() const { return counters_ == 0 ? 0 : samples_.size() / counters_; }
    void drop_every_second();

    const bool asked_for_;
    Timeline* const timeline_;
    const Clock core_;
    std::uint64_t interval_;
    Time next_ = kEndOfTime;
    std::size_t counters_ = 0;
    std::vector<std::uint64_t> samples_;  ///< all counters at each boundary
};

}  // namespace mergelane
