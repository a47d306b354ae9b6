// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <numeric>

#include "core/clock.hpp"

namespace mergelane {
namespace {

TEST(ClockCrossing, OfOneClockAddsItsLatency) {
    const ClockCrossing crossing(Clock{3}, Clock{3}, 12);
    for (Cycle c : {Cycle{0}, Cycle{1}, Cycle{1000}}) EXPECT_EQ(crossing.arrival(c), c + 4);
}

TEST(ClockCrossing, ArrivesAtTheFirstEdgeNotBeforeTheLatency) {
    // Compared with exact rational time: an edge at k * to is the first with k * to >= sent * from + latency.
    for (const std::uint32_t from : {1u, 2u, 3u, 7u, 33u, 50u}) {
        for (const std::uint32_t to : {1u, 2u, 5u, 7u, 50u}) {
            for (const Time latency : {Time{1}, Time{2}, Time{7}, Time{50}, Time{99}}) {
                const ClockCrossing crossing(Clock{from}, Clock{to}, latency);
                for (Cycle sent = 0; sent < 40; ++sent) {
                    const Cycle at = crossing.arrival(sent);
                    ASSERT_GE(at * to, sent * from + latency);
                    ASSERT_LT((at - 1) * to, sent * from + latency) << "an earlier edge would do";
                }
            }
        }
    }
}

TEST(ClockCrossing, KeepsTheOrderOfWhatIsSent) {
    const ClockCrossing crossing(Clock{33}, Clock{50}, 17);
    for (Cycle sent = 1; sent < 1000; ++sent) EXPECT_GE(crossing.arrival(sent), crossing.arrival(sent - 1));
}

TEST(ClockCrossing, OneClockWithALatencyThatIsNoWholeCycleRoundsUp) {
    const ClockCrossing crossing(Clock{4}, Clock{4}, 6);
    EXPECT_EQ(crossing.arrival(10), 12u);
}

TEST(Clock, FirstAtIsTheFirstCycleNotBefore) {
    const Clock clock{5};
    EXPECT_EQ(clock.first_at(0), 0u);
    EXPECT_EQ(clock.first_at(1), 1u);
    EXPECT_EQ(clock.first_at(5), 1u);
    EXPECT_EQ(clock.first_at(6), 2u);
    EXPECT_EQ(clock.time_of(3), 15u);
}

}  // namespace
}  // namespace mergelane
