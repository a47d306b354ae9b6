// SPDX-License-Identifier: MIT
// Counters per interval: their boundaries, their sums, and how many there may be.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "sim/sampler.hpp"

namespace mergelane {
namespace {

constexpr Clock kCore{3};

std::vector<StatValue> totals(std::uint64_t a, std::uint64_t b) {
    return {{"x.a", "", "", a, 0}, {"x.b", "", "", b, 0}};
}

TEST(Intervals, AreDifferencesAndTheLastIsShorter) {
    Sampler sampler(100, nullptr, kCore);
    EXPECT_EQ(sampler.next(), 300u);
    sampler.take(totals(5, 0), {});
    EXPECT_EQ(sampler.next(), 600u);
    sampler.take(totals(5, 7), {});
    const Intervals intervals = sampler.finish(230, totals(9, 8));
    ASSERT_EQ(intervals.size(), 3u);
    EXPECT_EQ(intervals.counts, (std::vector<std::uint64_t>{5, 0, 0, 7, 4, 1}));
    EXPECT_EQ(intervals.start(2), 200u);
    EXPECT_EQ(intervals.length(1), 100u);
    EXPECT_EQ(intervals.length(2), 30u);
    EXPECT_EQ(intervals.of(1)[1], 7u);
}

TEST(Intervals, WhatDrainsBelongsToTheLast) {
    for (const Cycle end : {200u, 150u}) {
        Sampler sampler(100, nullptr, kCore);
        for (const std::uint64_t count : {10u, 20u, 30u}) sampler.take(totals(count, 0), {});
        const Intervals intervals = sampler.finish(end, totals(31, 0));
        ASSERT_EQ(intervals.size(), 2u) << end;
        EXPECT_EQ(intervals.counts, (std::vector<std::uint64_t>{10, 0, 21, 0})) << end;
    }
}

TEST(Intervals, AreNotTakenUnlessAskedFor) {
    Sampler sampler(0, nullptr, kCore);
    EXPECT_EQ(sampler.next(), kEndOfTime);
    EXPECT_EQ(sampler.finish(230, totals(9, 8)).size(), 0u);
}

TEST(Intervals, ARunWithoutCyclesHasOne) {
    Sampler sampler(100, nullptr, kCore);
    const Intervals intervals = sampler.finish(0, totals(0, 0));
    EXPECT_EQ(intervals.size(), 1u);
    EXPECT_EQ(intervals.length(0), 0u);
}

TEST(Intervals, AreLimitedAndTheErrorSaysWhatToDo) {
    Sampler sampler(10, nullptr, kCore);
    try {
        for (std::uint64_t i = 1; i <= Sampler::kMost; ++i) sampler.take(totals(i, i), {});
        FAIL() << "the number of intervals is not limited";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("exceeds 10000 intervals of 10 cycles (cycle 100000)"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("increase --interval"), std::string::npos);
    }
}

TEST(Intervals, OfATimelineGetLongerWithTheRun) {
    Timeline timeline;
    Sampler sampler(0, &timeline, kCore);
    ASSERT_TRUE(sampler.wants_gauges());
    const Cycle end = 5 * Sampler::kShortest * Sampler::kMostOfTimeline + 17;
    while (sampler.next() < kCore.time_of(end)) {
        const std::uint64_t now = sampler.next() / kCore.period;
        sampler.take(totals(now, 2 * now), {{"x.depth", "requests", "", now + 1, 0}});
    }
    const Intervals intervals = sampler.finish(end, totals(end, 2 * end));
    EXPECT_EQ(intervals.cycles, 8 * Sampler::kShortest);
    ASSERT_EQ(intervals.size(), (end + intervals.cycles - 1) / intervals.cycles);
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        EXPECT_EQ(intervals.of(i)[0], intervals.length(i));
        EXPECT_EQ(intervals.of(i)[1], 2 * intervals.length(i));
    }
    ASSERT_EQ(timeline.depths.size(), intervals.size() - 1);
    for (std::size_t i = 0; i < timeline.depths.size(); ++i) EXPECT_EQ(timeline.depths[i], intervals.start(i + 1) + 1);
}

}  // namespace
}  // namespace mergelane
