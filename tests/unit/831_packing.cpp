// SPDX-License-Identifier: MIT
// Distribution of work to threads, and the predictions of the thread model.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "sim/packing.hpp"
#include "sim/thread_model.hpp"

namespace mergelane {
namespace {

using Costs = std::vector<std::uint64_t>;

TEST(Packing, LongestFirstOntoTheLeastLoaded) {
    const Packing packing = pack_longest_first(Costs{3, 7, 2, 5, 4}, 2);
    EXPECT_EQ(packing.order, (std::vector<std::uint32_t>{1, 3, 4, 0, 2}));
    EXPECT_EQ(packing.thread, (std::vector<std::uint32_t>{0, 0, 1, 1, 1}));  // 7+3 and 5+4+2
    EXPECT_EQ(packing.load, (Costs{10, 11}));
    EXPECT_EQ(packing.longest(), 11u);
}

TEST(Packing, EqualJobsKeepTheirOrder) {
    const Packing packing = pack_longest_first(Costs{1, 1, 1, 1}, 2);
    EXPECT_EQ(packing.order, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(packing.thread, (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

TEST(Packing, OneThreadDoesEverythingAndNoJobsTakeNoTime) {
    EXPECT_EQ(pack_longest_first(Costs{3, 4, 5}, 1).longest(), 12u);
    EXPECT_EQ(pack_longest_first(Costs{3, 4, 5}, 0).longest(), 12u) << "there is always one thread";
    EXPECT_EQ(pack_longest_first(Costs{}, 4).longest(), 0u);
    EXPECT_EQ(pack_longest_first(Costs{9}, 4).longest(), 9u) << "a job is never split";
}

TEST(Packing, NobodyIsGivenWorkWhileAnotherHasLess) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        Costs costs(1 + random() % 60);
        for (std::uint64_t& cost : costs) cost = random() % 1000;
        const auto threads = static_cast<std::uint32_t>(1 + random() % 16);
        const Packing packing = pack_longest_first(costs, threads);
        const std::uint64_t sum = std::accumulate(costs.begin(), costs.end(), std::uint64_t{0});
        EXPECT_EQ(std::accumulate(packing.load.begin(), packing.load.end(), std::uint64_t{0}), sum);
        const std::uint64_t longest_job = *std::max_element(costs.begin(), costs.end());
        EXPECT_GE(packing.longest(), std::max(longest_job, (sum + threads - 1) / threads));
        EXPECT_LE(packing.longest(), sum / threads + longest_job) << "the last job of the longest thread went to the least loaded";
    }
}

TEST(ThreadModel, BoundsFollowFromTheCosts) {
    DomainCosts costs({2, 4, 64});
    costs.add_window(Costs{40, 30, 20, 10});
    costs.add_window(Costs{40, 10, 20, 30});
    EXPECT_EQ(costs.windows(), 2u);
    EXPECT_DOUBLE_EQ(costs.window(), 100);
    EXPECT_EQ(costs.longest(), 0u);
    EXPECT_DOUBLE_EQ(costs.longest_share(), 0.4);
    EXPECT_DOUBLE_EQ(costs.window_on(2), 50);
    EXPECT_DOUBLE_EQ(costs.window_on(4), 40);
    EXPECT_DOUBLE_EQ(costs.ideal_speedup(2), 200.0 / 120) << "80 and 40 on the one, 40 and 40 on the other";
    EXPECT_DOUBLE_EQ(costs.ideal_speedup(64), 2.5) << "one domain is 40 % of the work";
}

TEST(ThreadModel, ThreadsThatMeetGainLessThanThoseThatDoNot) {
    DomainCosts costs({2});
    costs.add_window(Costs{100, 20});
    costs.add_window(Costs{20, 100});
    EXPECT_DOUBLE_EQ(costs.ideal_speedup(2), 2);
    EXPECT_DOUBLE_EQ(fit_thread_model(costs, 120).speedup(costs, 2), 1.2) << "in every window one waits for the other";
}

TEST(ThreadModel, MeetsWhatWasTimedAndCountsMeetings) {
    DomainCosts costs({2, 16, 64});
    const Costs equal(64, 100);
    costs.add_window(equal);
    // 6,400 ns of domains in 7,000: 600 are serial. Two threads took 4,000: 3,200 working, 200 meeting.
    const ThreadModel model = fit_thread_model(costs, 7000, 2, 4000);
    EXPECT_DOUBLE_EQ(model.serial, 600);
    EXPECT_DOUBLE_EQ(model.meeting, 200);
    EXPECT_DOUBLE_EQ(model.speedup(costs, 2), 7000.0 / 4000);
    EXPECT_DOUBLE_EQ(model.speedup(costs, 16), 7000.0 / (600 + 400 + 200 * 15));
    EXPECT_DOUBLE_EQ(model.speedup(costs, 64), 7000.0 / (600 + 100 + 200 * 63));
    // Measuring domains one by one costs more than running them: the whole run is believed.
    EXPECT_DOUBLE_EQ(fit_thread_model(costs, 3200).speedup(costs, 16), 16);
}

}  // namespace
}  // namespace mergelane
