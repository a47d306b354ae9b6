// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "core/error.hpp"
#include "dispatch/cta_scheduler.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

DispatchState state(std::uint32_t clusters, std::uint32_t per_cluster, std::uint32_t contexts, std::uint64_t ctas) {
    DispatchState s;
    s.clusters = clusters;
    s.sms_per_cluster = per_cluster;
    s.contexts_per_sm = contexts;
    s.end_cta = ctas;
    s.free_contexts.assign(clusters * per_cluster, contexts);
    return s;
}

TEST(RoundRobin, PutsCtaIOnSmIModN) {
    DispatchState s = state(3, 2, 4, 100);
    const auto scheduler = make_cta_scheduler("round_robin");
    scheduler->start(s);
    std::uint64_t next = 0;
    for (int cycle = 0; cycle < 6; ++cycle) {
        std::vector<Placement> placed;
        scheduler->place(s, placed);
        for (const Placement& p : placed) {
            EXPECT_EQ(p.cta, next);
            EXPECT_EQ(p.sm, next % 6);
            --s.free_contexts[p.sm];
            ++next;
        }
        EXPECT_EQ(placed.size(), cycle < 4 ? 6u : 0u) << "at most one per SM and cycle, until all contexts are taken";
    }
    EXPECT_EQ(scheduler->remaining(), 100u - 24u);
}

TEST(RoundRobin, FillsAFreedContextWithTheNextCta) {
    DispatchState s = state(1, 4, 1, 10);
    const auto scheduler = make_cta_scheduler("round_robin");
    scheduler->start(s);
    std::vector<Placement> placed;
    scheduler->place(s, placed);
    ASSERT_EQ(placed.size(), 4u);
    s.free_contexts.assign(4, 0);
    s.free_contexts[2] = 1;
    placed.clear();
    scheduler->place(s, placed);
    ASSERT_EQ(placed.size(), 1u);
    EXPECT_EQ(placed[0].cta, 4u);
    EXPECT_EQ(placed[0].sm, 2u);
    // The round goes on behind the SM served last.
    s.free_contexts = {1, 1, 1, 1};
    placed.clear();
    scheduler->place(s, placed);
    ASSERT_EQ(placed.size(), 4u);
    EXPECT_EQ(placed[0].sm, 3u);
    EXPECT_EQ(placed[1].sm, 0u);
}

TEST(RoundRobin, StopsAtTheEndOfTheGrid) {
    DispatchState s = state(1, 4, 2, 3);
    s.first_cta = 1;
    const auto scheduler = make_cta_scheduler("round_robin");
    scheduler->start(s);
    std::vector<Placement> placed;
    scheduler->place(s, placed);
    ASSERT_EQ(placed.size(), 2u);
    EXPECT_EQ(placed[0].cta, 1u);
    EXPECT_EQ(scheduler->remaining(), 0u);
}

TEST(RoundRobin, GoesOnWithTheNextKernelOnlyIfToldTo) {
    for (const char* name : {"round_robin", "two_level_rr"}) {
        for (const bool goes_on : {false, true}) {
            DispatchSpec spec;
            spec.continue_round = goes_on;
            DispatchState s = state(1, 4, 2, 3);
            const auto scheduler = make_cta_scheduler(name, spec);
            std::vector<Placement> placed;
            for (int kernel = 0; kernel < 2; ++kernel) {
                placed.clear();
                scheduler->start(s);
                scheduler->place(s, placed);
                ASSERT_EQ(placed.size(), 3u);
            }
            EXPECT_EQ(placed[0].sm, goes_on ? 3u : 0u) << name;
        }
    }
}

TEST(CtaScheduler, UnknownNameIsAnInputError) {
    EXPECT_THROW(make_cta_scheduler("greddy"), InputError);
}

/// Which SM every CTA ran on, told by the stores it makes to an address of its own: their packets carry no CTA, so the
/// per-SM counters are read as the run goes.
TEST(Dispatch, FirstWaveOfARunLandsOnSmIModN) {
    MachineSpec s = icc60_like(2);
    s.gpu.sms_per_cluster = 3;
    // CTA c executes c + 1 instructions, so an SM's instruction count tells which CTAs it had.
    std::vector<CtaScript> programs;
    for (std::uint32_t c = 0; c < 12; ++c) {
        CtaScript cta(1);
        for (std::uint32_t i = 0; i < (1u << c) % 1021; ++i) cta[0].compute(OpClass::int_add, 1);
        programs.push_back(cta);
    }
    ScriptedWorkload workload(programs);
    Simulation simulation(valid(s), {});
    simulation.run(workload);
    for (std::uint32_t sm = 0; sm < 6; ++sm) {
        const std::uint64_t expected = (1u << sm) % 1021 + (1u << (sm + 6)) % 1021;
        EXPECT_EQ(stat_of(simulation.machine().sms()[sm], "warp_instructions"), expected) << "SM " << sm;
    }
}

/// SM clusters of two, four and one SM.
TEST(CtaScheduler, KnowsClustersOfUnequalSize) {
    using Ctas = std::vector<std::uint64_t>;
    const std::map<std::string_view, std::vector<Ctas>> expected = {
        {"round_robin", {{0, 7}, {1, 8}, {2, 9}, {3, 10}, {4, 11}, {5, 12}, {6, 13}}},
        {"two_level_rr", {{0, 7}, {3, 10}, {1, 8}, {4, 11}, {5, 12}, {6, 13}, {2, 9}}},
        {"greedy", {{0, 2}, {1, 3}, {4, 8}, {5, 9}, {6, 10}, {7, 11}, {12, 13}}},
        {"distributed", {{0, 2}, {1, 3}, {6, 10}, {7, 11}, {8, 12}, {9, 13}, {18, 19}}},
        {"distributed_block", {{0, 1}, {2, 3}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {18, 19}}}};
    for (const auto& [name, filled] : expected) {
        DispatchState s = state(3, 4, 2, 21);
        s.first_sms = {0, 2, 6, 7};
        s.free_contexts.assign(s.sms(), 2);
        const auto scheduler = make_cta_scheduler(name);
        scheduler->start(s);
        std::vector<Ctas> received(7);
        for (int cycle = 0; cycle < 4; ++cycle) {
            std::vector<Placement> placed;
            scheduler->place(s, placed);
            for (const Placement& p : placed) {
                --s.free_contexts[p.sm];
                received[p.sm].push_back(p.cta);
            }
        }
        EXPECT_EQ(received, filled) << name;
    }
}

TEST(Dispatch, FillsClustersOfUnequalSize) {
    MachineSpec s = icc60_like(3);
    s.gpu.sms_per_cluster = 4;
    s.section<ClusterSizesSpec>().sizes = {2, 4, 1};
    EXPECT_EQ(s.sms(), 7u);
    std::vector<CtaScript> programs;
    for (std::uint32_t c = 0; c < 7; ++c) {
        CtaScript cta(1);
        for (std::uint32_t i = 0; i <= c; ++i) cta[0].compute(OpClass::int_add, 1);
        programs.push_back(cta);
    }
    ScriptedWorkload workload(programs);
    Simulation simulation(valid(s), {});
    simulation.run(workload);
    ASSERT_EQ(simulation.machine().sms().size(), 7u);
    for (std::uint32_t sm = 0; sm < 7; ++sm) EXPECT_EQ(stat_of(simulation.machine().sms()[sm], "warp_instructions"), sm + 1);
    EXPECT_EQ(simulation.machine().ports().size(), 3u);
}

TEST(ClusterSizes, MustAgreeWithTheMachine) {
    const auto problem = [](std::vector<std::uint32_t> sizes) {
        MachineSpec s = icc60_like(3);
        s.gpu.sms_per_cluster = 4;
        s.section<ClusterSizesSpec>().sizes = std::move(sizes);
        const std::vector<SpecProblem> problems = check(s);
        return problems.empty() ? std::string() : problems.front().text;
    };
    EXPECT_EQ(problem({0}), "");
    EXPECT_EQ(problem({4, 1, 2}), "");
    EXPECT_NE(problem({4, 4}).find("lists 2 SM clusters, but gpu.clusters is 3"), std::string::npos);
    EXPECT_NE(problem({3, 2, 3}).find("set gpu.sms_per_cluster to 3"), std::string::npos);
    EXPECT_NE(problem({4, 0, 4}).find("without SMs"), std::string::npos);
}

TEST(Dispatch, CutsTheGridAmongGroups) {
    MachineSpec s = icc60_like(1);
    s.gpu.sms_per_cluster = 1;
    s.gpu.groups = 3;
    CtaScript cta(1);
    cta[0].compute(OpClass::int_add, 1);
    ScriptedWorkload workload({cta}, 10);
    Simulation simulation(valid(s), {});
    simulation.run(workload);
    std::vector<std::uint64_t> ctas;
    for (const Sm& sm : simulation.machine().sms()) ctas.push_back(stat_of(sm, "ctas_finished"));
    EXPECT_EQ(ctas, (std::vector<std::uint64_t>{3, 3, 4}));
}

TEST(Dispatch, KernelsFollowEachOtherAfterTheRoundTripAndTheLaunchLatency) {
    MachineSpec s = icc60_like(1);
    s.dispatch.launch_latency = 50;
    CtaScript cta(1);
    cta[0].compute(OpClass::int_add, 1);
    ScriptedWorkload workload({cta});
    workload.then({cta}, 1);
    const RunResult result = run_on(valid(s), workload);
    ASSERT_EQ(result.kernels.size(), 2u);
    EXPECT_EQ(result.kernels[0].start, 50u);
    // 16 cycles to the SM, one instruction; 16 back; then the next kernel is launched.
    EXPECT_EQ(result.kernels[0].cycles, 16u);
    EXPECT_EQ(result.kernels[1].start, 50u + 16 + 16 + 16 + 50);
}

TEST(Dispatch, ACtaWithoutInstructionsFinishesAtOnce) {
    CtaScript empty(2);
    ScriptedWorkload workload({empty}, 100);
    const RunResult result = run_on(icc60_like(1), workload);
    EXPECT_EQ(result.stat("sm.ctas_finished"), 100u);
    EXPECT_EQ(result.warp_instructions, 0u);
}

}  // namespace
}  // namespace mergelane::testing
