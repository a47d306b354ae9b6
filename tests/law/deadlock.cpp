// SPDX-License-Identifier: MIT
// Invariant: a machine that cannot make progress reports it immediately, with the chain of waiting components.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

/// The message of the SimulationError that `run` must throw.
template <class F>
std::string failure_of(F&& run) {
    try {
        run();
    } catch (const SimulationError& error) {
        return error.what();
    }
    ADD_FAILURE() << "the run ended as if nothing were wrong";
    return {};
}

MachineSpec small() {
    MachineSpec s = icc60_like(2);
    s.gpu.sms_per_cluster = 2;
    s.dram.channels = 2;
    return valid(s);
}

SyntheticParams short_stream() {
    SyntheticParams p = synthetic_defaults("stream");
    p.ctas = 16;
    p.warps = 4;
    p.iterations = 8;
    return p;
}

class CreditLeak : public ::testing::TestWithParam<const char*> {};

// The dispatcher's links are missing: contexts, not credits, bound what they carry. So is "dram -> l2", whose room
// is reserved by the MSHR entry of the fetch.
INSTANTIATE_TEST_SUITE_P(EveryFlowControlledBoundary, CreditLeak,
                         ::testing::Values("sm0 -> cluster0.port", "cluster0.port -> sm0", "cluster0.port -> request_crossbar",
                                           "request_crossbar -> l2.slice0", "l2.slice0 -> reply_crossbar",
                                           "reply_crossbar -> cluster0.port", "l2.slice0 -> dram.channel0"),
                         [](const auto& link) {
                             std::string name = link.param;
                             std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
                             return name;
                         });

TEST_P(CreditLeak, IsReportedAsDeadlockNamingTheLink) {
    for (const bool sleep : {true, false}) {
        RunOptions options;
        options.sleep = sleep;
        Simulation simulation(small(), options);
        LinkBase* link = simulation.machine().find_link(GetParam());
        ASSERT_NE(link, nullptr);
        link->plant_credit_leak(link->capacity());
        const auto workload = make_synthetic("stream", short_stream());
        const std::string message = failure_of([&] { simulation.run(*workload); });
        EXPECT_EQ(message.rfind("deadlock at cycle ", 0), 0u) << message;
        EXPECT_NE(message.find("no credits on '" + std::string(GetParam()) + "'"), std::string::npos) << message;
        EXPECT_NE(message.find("flow control lost them"), std::string::npos) << message;
        EXPECT_NE(message.find("dispatcher:"), std::string::npos) << "the chain starts at the CTAs that do not finish\n" << message;
    }
}

TEST_P(CreditLeak, OfPartOfTheRoomOnlySlowsDown) {
    Simulation simulation(small(), {});
    LinkBase* link = simulation.machine().find_link(GetParam());
    // Leave what the longest packet and a write-back with its fetch need.
    const std::uint32_t keep = 3;
    if (link->capacity() > keep) link->plant_credit_leak(link->capacity() - keep);
    const auto workload = make_synthetic("stream", short_stream());
    EXPECT_NO_THROW(simulation.run(*workload));
}

TEST(Deadlock, OfABarrierThatCanNeverBeSatisfied) {
    // Two warps wait at different barriers: neither can be complete while the other warp lives.
    CtaScript cta(2);
    cta[0].barrier(0).use(0);
    cta[1].barrier(1).use(0);
    ScriptedWorkload workload({cta});
    const std::string message = failure_of([&] { run_on(small(), workload); });
    EXPECT_EQ(message.rfind("deadlock", 0), 0u) << message;
    EXPECT_NE(message.find("2 at a barrier"), std::string::npos) << message;
    EXPECT_NE(message.find("sm0"), std::string::npos) << message;
}

TEST(Deadlock, IsNotSeenWhenAWarpEndsInsteadOfArriving) {
    // A barrier counts live warps only: one that has finished is not waited for.
    CtaScript cta(3);
    cta[0].barrier().use(0);
    cta[1].use(0);
    cta[2].barrier().use(0);
    ScriptedWorkload workload({cta});
    EXPECT_EQ(run_on(small(), workload).warp_instructions, 5u);
}

TEST(Deadlock, IsReportedEvenUnderACycleLimit) {
    // A machine that can never finish is not "partial", however far away the limit is.
    CtaScript cta(2);
    cta[0].barrier(0);
    cta[1].barrier(1);
    ScriptedWorkload workload({cta});
    RunOptions options;
    options.max_cycles = 100'000;
    const std::string message = failure_of([&] { run_on(small(), workload, options); });
    EXPECT_EQ(message.rfind("deadlock", 0), 0u) << message;
}

TEST(Livelock, IsReportedWhenNoCtaFinishesForTheWatchdogTime) {
    RunOptions options;
    options.watchdog_cycles = 20'000;
    const auto workload = make_synthetic("spin", synthetic_defaults("spin"));
    const std::string message = failure_of([&] { run_on(small(), *workload, options); });
    EXPECT_EQ(message.rfind("livelock", 0), 0u) << message;
    EXPECT_NE(message.find("0 of 60 done"), std::string::npos) << message;
    EXPECT_NE(message.find("--watchdog"), std::string::npos) << "the remedy is named\n" << message;
}

TEST(Livelock, WatchdogLeavesARunWithProgressAlone) {
    RunOptions options;
    options.watchdog_cycles = 20'000;
    SyntheticParams p = short_stream();
    p.ctas = 400;
    const auto workload = make_synthetic("stream", p);
    const RunResult result = run_on(small(), *workload, options);
    EXPECT_GT(result.cycles, options.watchdog_cycles) << "too short to prove anything";
}

}  // namespace
}  // namespace mergelane::testing
