// SPDX-License-Identifier: MIT
// Invariant: a machine without a component between clusters and slices behaves like any other. An idle one is as fast as with a crossbar,
// nothing is lost, all ways to run it give one digest, and a source that gets no credits back is reported.
#include <gtest/gtest.h>

#include "cluster/icc_spec.hpp"
#include "core/error.hpp"
#include "costing/energy_of_run.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

MachineSpec small(bool icc = false, const char* kind = "output_queues") {
    MachineSpec s = icc60_like(4);
    s.gpu.sms_per_cluster = 3;
    s.dram.channels = 2;
    s.noc.kind = kind;
    s.section<IccSpec>().on = icc;
    return valid(s);
}

RunResult run_small(const MachineSpec& spec, const char* kind, const RunOptions& options = {}, std::uint32_t ctas = 20) {
    SyntheticParams p = synthetic_defaults(kind);
    p.ctas = ctas;
    p.iterations = 2;
    p.footprint_kib = 256;
    const auto workload = make_synthetic(kind, p);
    return run_on(spec, *workload, options);  // which checks all laws
}

TEST(OutputQueuesOfAMachine, AnswerEveryPacket) {
    for (const bool icc : {false, true}) {
        for (const char* kind : {"stream", "tiled", "atomic"}) {
            const RunResult run = run_small(small(icc), kind);
            EXPECT_EQ(run.stat("noc.request.packets"), run.stat("noc.request.packets_in"));
            EXPECT_EQ(run.stat("noc.reply.packets"), run.stat("noc.request.packets"));
        }
    }
}

TEST(OutputQueuesOfAMachine, BalanceWhereverItIsStopped) {
    const std::uint64_t whole = run_small(small(), "divergent").cycles;
    for (const std::uint64_t stop : {std::uint64_t{1}, std::uint64_t{50}, whole / 5, whole / 2 + 1, whole - 1}) {
        RunOptions options;
        options.max_cycles = stop;
        const RunResult part = run_small(small(), "divergent", options);  // a broken law throws
        EXPECT_EQ(part.partial, "cycle limit");
        EXPECT_GE(part.stat("noc.request.packets_in"), part.stat("noc.request.packets"));
    }
}

TEST(OutputQueuesOfAMachine, AreAsFastAsACrossbarWhenNobodyElseIsThere) {
    EXPECT_EQ(run_small(small(), "chase", {}, 1).cycles, run_small(small(false, "crossbar"), "chase", {}, 1).cycles);
}

TEST(OutputQueuesOfAMachine, AreNamedInADeadlockReport) {
    expect_deadlock_at(small(), {"cluster0.port -> request_network", "l2.slice0 -> reply_network"});
}

TEST(OutputQueuesOfAMachine, AreNotPricedAndSaidSo) {
    try {
        energy_shape(small());
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("there is no energy model for noc.kind = \"output_queues\""), std::string::npos)
            << error.what();
    }
}

TEST(OutputQueuesOfAMachine, NeedOneClock) {
    MachineSpec s = small();
    s.gpu.l2_mhz /= 2;
    try {
        const Simulation simulation(s, {});
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("requires one clock domain; make gpu.core_mhz"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace mergelane::testing
