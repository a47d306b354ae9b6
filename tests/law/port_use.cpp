// SPDX-License-Identifier: MIT
// Invariant: the busiest port of a network carries at least its share and at most one flit per cycle; measuring it changes nothing.
#include <gtest/gtest.h>

#include "machines.hpp"
#include "noc/noc_spec.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

RunResult run_stream(const MachineSpec& spec) {
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 40;
    params.iterations = 4;
    const auto workload = make_synthetic("stream", params);
    return run_on(spec, *workload);
}

TEST(PortUse, OfTheBusiestIsAtLeastItsShareAndAtMostAllCycles) {
    for (const char* kind : {"crossbar", "two_stage", "output_queues"}) {
        MachineSpec spec = icc60_like(4);
        spec.gpu.sms_per_cluster = 2;
        spec.dram.channels = 3;
        spec.noc.kind = kind;
        spec.noc.stage_inputs = 2;
        const RunResult without = run_stream(valid(spec));
        EXPECT_FALSE(without.has_stat("noc.reply.busiest_output"));
        spec.section<NocMeterSpec>().on = true;
        const RunResult with = run_stream(valid(spec));
        EXPECT_EQ(with.cycles, without.cycles) << kind;
        for (const StatValue& stat : without.stats) EXPECT_EQ(with.stat(stat.name), stat.value) << kind << ' ' << stat.name;
        for (const std::string network : {"noc.request", "noc.reply"}) {
            const std::uint64_t flits = with.stat(network + ".flits");
            const std::uint64_t clusters = spec.gpu.clusters, slices = spec.slices();
            for (const auto& [port, ports] : {std::pair{".busiest_input", network == "noc.request" ? clusters : slices},
                                              std::pair{".busiest_output", network == "noc.request" ? slices : clusters}}) {
                const std::uint64_t busiest = with.highest(network + port);
                EXPECT_GE(busiest * ports, flits) << kind << ' ' << network << port;
                EXPECT_LT(busiest, flits) << kind << ' ' << network << port;
                EXPECT_LE(busiest, with.cycles + 1000) << kind << ' ' << network << port;
            }
        }
        EXPECT_EQ(with.metrics.size(), 2u) << kind;
        EXPECT_GT(with.metrics.front().value, 10) << kind;
        EXPECT_LE(with.metrics.front().value, 100) << kind;
    }
}

TEST(PortUse, OfASinglePortIsAllThereIs) {
    for (const char* kind : {"crossbar", "two_stage", "output_queues"}) {
        MachineSpec spec = icc60_like(1);
        spec.dram.channels = 1;
        spec.noc.kind = kind;
        spec.section<NocMeterSpec>().on = true;
        const RunResult run = run_stream(valid(spec));
        for (const std::string network : {"noc.request", "noc.reply"}) {
            EXPECT_EQ(run.stat(network + ".busiest_input"), run.stat(network + ".flits")) << kind;
            EXPECT_EQ(run.stat(network + ".busiest_output"), run.stat(network + ".flits")) << kind;
        }
    }
}

}  // namespace
}  // namespace mergelane::testing
