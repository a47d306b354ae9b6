// SPDX-License-Identifier: MIT
#include "sim/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace mergelane {

namespace {

/// Keeps the rows at every second boundary.
void drop_rows(std::vector<std::uint64_t>& table, std::size_t columns) {
    if (columns == 0) return;
    const std::size_t kept = table.size() / columns / 2;
    for (std::size_t row = 0; row < kept; ++row)
        std::copy_n(table.begin() + (2 * row + 1) * columns, columns, table.begin() + row * columns);
    table.resize(kept * columns);
}

}  // namespace

Sampler::Sampler(std::uint64_t interval, Timeline* timeline, Clock core)
    : asked_for_(interval != 0), timeline_(timeline), core_(core), interval_(asked_for_ ? interval : kShortest) {
    if (asked_for_ || timeline_ != nullptr) next_ = core_.time_of(interval_);
}

void Sampler::take(const std::vector<StatValue>& totals, const std::vector<StatValue>& gauges) {
    if (asked_for_ && taken() + 1 == kMost)
        throw InputError(
            fmt::format("the run exceeds {} intervals of {} cycles (cycle {}); increase --interval, or stop the run with --max-cycles {}",
                        kMost, interval_, kMost * interval_, kMost * interval_));
    counters_ = totals.size();
    for (const StatValue& stat : totals) samples_.push_back(stat.value);
    if (timeline_ != nullptr) {
        if (timeline_->gauges.empty()) {
            for (const StatValue& gauge : gauges) timeline_->gauges.push_back({gauge.name, std::string(gauge.unit)});
        }
        for (const StatValue& gauge : gauges) timeline_->depths.push_back(gauge.value);
    }
    if (!asked_for_ && taken() == kMostOfTimeline) drop_every_second();
    next_ = core_.time_of((taken() + 1) * interval_);
}

void Sampler::drop_every_second() {
    drop_rows(samples_, counters_);
    drop_rows(timeline_->depths, timeline_->gauges.size());
    interval_ *= 2;
}

Intervals Sampler::finish(Cycle end, const std::vector<StatValue>& totals) {
    Intervals intervals;
    if (!asked_for_ && timeline_ == nullptr) return intervals;
    intervals.cycles = interval_;
    intervals.end = end;
    const std::size_t inner = intervals.size() - 1;  // boundaries before the end
    samples_.resize(inner * totals.size());
    if (timeline_ != nullptr) timeline_->depths.resize(inner * timeline_->gauges.size());
    for (const StatValue& stat : totals) samples_.push_back(stat.value);
    // A counter may have been corrected since: a policy that changes while its SM sleeps is noticed afterwards.
    for (std::size_t i = samples_.size(); i-- > totals.size();) {
        std::uint64_t& before = samples_[i - totals.size()];
        before = std::min(before, samples_[i]);
        samples_[i] -= before;
    }
    intervals.counts = std::move(samples_);
    return intervals;
}

}  // namespace mergelane
