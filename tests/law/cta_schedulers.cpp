// SPDX-License-Identifier: MIT
// Invariant: each CTA scheduler places CTAs as in the ICC paper's example, every CTA once, and the block policy waits until a block fits.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/rng.hpp"
#include "machines.hpp"
#include "placement.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

using Table = std::vector<std::vector<std::uint64_t>>;

/// CTAs 1..10 on two clusters of two SMs with two contexts each.
struct Example {
    const char* policy;
    Table filled;          ///< C1S1, C1S2, C2S1, C2S2
    std::uint64_t refill;  ///< which CTA C1S1 gets when CTA 1 ends; 0: none
};
const Example kExamples[] = {
    {"two_level_rr", {{1, 5}, {3, 7}, {2, 6}, {4, 8}}, 9}, {"global_rr", {{1, 5}, {2, 6}, {3, 7}, {4, 8}}, 9},
    {"round_robin", {{1, 5}, {2, 6}, {3, 7}, {4, 8}}, 9},  {"greedy", {{1, 3}, {2, 4}, {5, 7}, {6, 8}}, 9},
    {"distributed", {{1, 3}, {2, 4}, {6, 8}, {7, 9}}, 5},  {"distributed_block", {{1, 2}, {3, 4}, {6, 7}, {8, 9}}, 0},
};

TEST(CtaSchedulers, PlaceAsThePublishedExample) {
    for (const Example& example : kExamples) {
        PlacementBench bench(example.policy, 2, 2, 2, 10);
        bench.start();
        bench.fill();
        EXPECT_EQ(bench.from_one(), example.filled) << example.policy;
        bench.finish(0);
        bench.fill();
        Table expected = example.filled;
        if (example.refill != 0) expected[0].push_back(example.refill);
        EXPECT_EQ(bench.from_one(), expected) << example.policy << " after CTA 1 has ended";
    }
}

TEST(CtaSchedulers, DistributedBlockLaunchesTheOddLastCtaOnlyIntoTwoFreeContexts) {
    PlacementBench bench("distributed_block", 2, 2, 2, 10);
    bench.start();
    bench.fill();
    bench.finish(0);
    bench.fill();
    EXPECT_EQ(bench.where.count(4), 0u) << "one free context is not enough";
    bench.finish(2);
    bench.fill();
    EXPECT_EQ(bench.where.count(4), 0u) << "nor are two on different SMs";
    bench.finish(1);
    bench.fill();
    EXPECT_EQ(bench.where.at(4), 0u);
    EXPECT_EQ(bench.scheduler->remaining(), 1u) << "CTA 10 belongs to the other cluster";
}

TEST(CtaSchedulers, DistributedBlockWithoutDelayRefillsAtOnce) {
    DispatchSpec at_once;
    at_once.delayed_launch = false;
    PlacementBench bench("distributed_block", 2, 2, 2, 10, at_once);
    bench.start();
    bench.fill();
    EXPECT_EQ(bench.from_one(), (Table{{1, 2}, {3, 4}, {6, 7}, {8, 9}})) << "the first filling is in pairs all the same";
    bench.finish(2);
    bench.fill();
    EXPECT_EQ(bench.from_one(), (Table{{1, 2}, {3, 4, 5}, {6, 7}, {8, 9}}));
}

TEST(CtaSchedulers, DistributedBlockKeepsItsPairs) {
    PlacementBench bench("distributed_block", 1, 2, 4, 100);
    bench.start();
    bench.fill();
    EXPECT_EQ(bench.from_one(), (Table{{1, 2, 5, 6}, {3, 4, 7, 8}}));
    bench.finish(1);
    bench.finish(2);
    bench.fill();
    EXPECT_EQ(bench.where.size(), 8u);
    bench.finish(0);
    bench.finish(3);
    bench.fill();  // both SMs have room in the same cycle: by index
    EXPECT_EQ(bench.from_one(), (Table{{1, 2, 5, 6, 9, 10}, {3, 4, 7, 8, 11, 12}}));
}

TEST(CtaSchedulers, DistributedBlockServesSmsInTurn) {
    PlacementBench bench("distributed_block", 1, 3, 2, 100);
    bench.start();
    bench.fill();
    for (const std::uint64_t cta : {0, 1}) bench.finish(cta);
    bench.fill();
    EXPECT_EQ(bench.where.at(6), 0u);
    for (const std::uint64_t cta : {6, 7, 2, 3}) bench.finish(cta);
    bench.fill();
    EXPECT_EQ(bench.where.at(8), 1u) << "SM 0 was served last, so SM 1 comes first";
    EXPECT_EQ(bench.where.at(10), 0u);
}

TEST(CtaSchedulers, DistributedBlockFitsTheSm) {
    PlacementBench one("distributed_block", 1, 2, 1, 5);
    one.start();
    one.fill();
    EXPECT_EQ(one.from_one(), (Table{{1}, {2}})) << "where one CTA fits, blocks are single CTAs";
    PlacementBench odd("distributed_block", 1, 2, 3, 20);
    odd.start();
    odd.fill();
    EXPECT_EQ(odd.from_one(), (Table{{1, 2}, {3, 4}})) << "the third context stays empty";
    odd.finish(0);
    odd.fill();
    EXPECT_EQ(odd.from_one(), (Table{{1, 2, 5, 6}, {3, 4}})) << "until it makes two with another";
    DispatchSpec fours;
    fours.block_ctas = 4;
    PlacementBench four("distributed_block", 1, 2, 8, 20, fours);
    four.start();
    four.fill();
    EXPECT_EQ(four.from_one(), (Table{{1, 2, 3, 4, 9, 10, 11, 12}, {5, 6, 7, 8, 13, 14, 15, 16}}));
}

TEST(CtaSchedulers, PoolsOfUnevenGridsDifferByOneAndNobodySteals) {
    for (const char* policy : {"distributed", "distributed_block"}) {
        PlacementBench bench(policy, 4, 1, 2, 10);
        bench.state.first_cta = 100;
        bench.state.end_cta = 110;
        bench.start();
        bench.fill();
        EXPECT_EQ(bench.received, (Table{{100, 101}, {103, 104}, {106, 107}, {108, 109}})) << policy;
        for (const std::uint64_t cta : {106, 107, 108, 109}) bench.finish(cta);
        bench.fill();
        EXPECT_EQ(bench.scheduler->remaining(), 2u) << policy << ": idle clusters take nothing of other pools";
    }
    PlacementBench few("distributed", 4, 2, 2, 3);
    few.start();
    few.fill();
    EXPECT_EQ(few.received, (Table{{0}, {}, {1}, {}, {2}, {}, {}, {}}));
}

/// CTAs end in random order; whatever the policy, each is placed once and all are placed in the end.
TEST(CtaSchedulers, PlaceEveryCtaExactlyOnce) {
    for (const std::string_view policy : cta_scheduler_names()) {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            Rng rng(seed);
            const std::uint32_t clusters = 1 + rng.below(5), per_cluster = 1 + rng.below(4), contexts = 1 + rng.below(5);
            const std::uint64_t ctas = rng.below(200);
            DispatchSpec spec;
            spec.block_ctas = 1 + rng.below(4);
            spec.delayed_launch = seed % 2 == 0;
            PlacementBench bench(policy, clusters, per_cluster, contexts, ctas, spec);
            bench.start();
            std::vector<std::uint64_t> running;
            std::size_t known = 0;
            for (int step = 0; bench.scheduler->remaining() != 0 || !running.empty(); ++step) {
                ASSERT_LT(step, 100'000) << policy << " seed " << seed << " never ends";
                if (bench.scheduler->remaining() != 0) bench.cycle();
                running.clear();
                for (const auto& [cta, sm] : bench.where) running.push_back(cta);
                if (running.size() == known && known == ctas) break;
                known = running.size();
                // Whoever is resident may end: the contexts in use tell how many are.
                for (std::uint32_t sm = 0; sm < bench.state.sms(); ++sm) {
                    if (bench.state.free_contexts[sm] < contexts && rng.below(3) == 0) ++bench.state.free_contexts[sm];
                }
            }
            EXPECT_EQ(bench.where.size(), ctas) << policy << " seed " << seed;
        }
    }
}

TEST(CtaSchedulers, RunOnTheMachineWhereTheBenchSays) {
    for (const std::string_view policy : cta_scheduler_names()) {
        MachineSpec s = icc60_like(2);
        s.gpu.sms_per_cluster = 2;
        s.sm.cta_slots = 2;
        s.dispatch.scheduler = policy;
        CtaScript cta(1);
        cta[0].compute(OpClass::int_add, 1);
        ScriptedWorkload workload({cta}, 23);
        Simulation simulation(valid(s), {});
        const RunResult result = simulation.run(workload);
        EXPECT_EQ(result.stat("sm.ctas_finished"), 23u) << policy;
    }
}

}  // namespace
}  // namespace mergelane::testing
