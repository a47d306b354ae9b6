// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "l2/halves_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "machines.hpp"
#include "microbench/microbench.hpp"
#include "sim/simulation.hpp"
#include "variants.hpp"

namespace mergelane::testing {
namespace {

using namespace microbench;

MachineSpec small_v100() {
    MachineSpec s = v100_like();
    s.gpu.clusters = 16;
    s.dram.channels = 4;
    return valid(s);
}

double measure(const MachineSpec& spec, const std::string& name) {
    const std::vector<Benchmark> list = benchmarks_of(spec);
    const auto found = std::find_if(list.begin(), list.end(), [&](const Benchmark& b) { return b.name == name; });
    if (found == list.end()) {
        ADD_FAILURE() << name;
        return 0;
    }
    Bench bench(spec, [&](Workload& workload) {
        RunOptions options;
        options.watchdog_cycles = 0;
        Simulation simulation(spec, options);
        return simulation.run(workload);
    });
    return found->measure(bench);
}

TEST(Microbench, LatenciesAreThoseOfTheConfiguration) {
    MachineSpec spec = small_v100();
    EXPECT_NEAR(measure(spec, "latency.shared"), spec.sm.shared_latency, 2);
    EXPECT_NEAR(measure(spec, "latency.l1"), spec.l1.hit_latency, 2);
    const double hit = measure(spec, "latency.l2_near");
    spec.l2.latency += 100;
    EXPECT_NEAR(measure(spec, "latency.l2_near"), hit + 100, 1);
    const double miss = measure(spec, "latency.dram_near");
    spec.dram.access_latency += 50;
    EXPECT_NEAR(measure(spec, "latency.dram_near"), miss + 50, 2);
}

TEST(Microbench, FarAccessesCrossTheHalves) {
    MachineSpec spec = configured(small_v100(), {{"l2.halves.enabled", "true"}, {"l2.halves.far", "copy"}, {"l2.halves.latency", "40"}});
    const double near = measure(spec, "latency.l2_near");
    EXPECT_NEAR(measure(spec, "latency.l2_far"), near + 2 * 40, 16) << "and the transfers";
    EXPECT_GT(measure(spec, "latency.dram_far"), measure(spec, "latency.dram_near") + 80);
}

TEST(Microbench, RemoteSharedMemoryAndBulkCopies) {
    const MachineSpec spec = configured(
        small_v100(), {{"gpc.enabled", "true"}, {"gpc.latency", "30"}, {"sm.tma.blocks_per_cycle", "1"}, {"sm.tma.latency", "150"}});
    EXPECT_NEAR(measure(spec, "latency.dsm"), measure(spec, "latency.shared") + 4 * 30, 8);
    EXPECT_NEAR(measure(spec, "latency.tma"), measure(spec, "latency.l2_near") + 150, 60);
}

TEST(Microbench, TheMergeFactorIsSeen) {
    for (const char* const factor : {"2", "4"}) {
        const MachineSpec spec = configured(small_v100(), {{"l2.lrc.enabled", "true"}, {"l2.lrc.max_merged", factor}});
        EXPECT_NEAR(measure(spec, "lrc.merge_factor"), std::stod(factor), 0.02);
    }
}

TEST(Microbench, BandwidthsAreThoseOfTheConfiguration) {
    const MachineSpec spec = small_v100();
    EXPECT_NEAR(measure(spec, "bandwidth.l1"), 128, 1);
    EXPECT_NEAR(measure(spec, "bandwidth.shared"), 128, 1);
    const double l2 = measure(spec, "bandwidth.l2");
    EXPECT_LE(l2, 32.0 * spec.sms());
    EXPECT_GT(l2, 16.0 * spec.sms());
}

TEST(Microbench, OnlyWhatAMachineHasIsMeasured) {
    MachineSpec spec = small_v100();
    const auto has = [&](const std::string& name) {
        const std::vector<Benchmark> list = benchmarks_of(spec);
        return std::any_of(list.begin(), list.end(), [&](const Benchmark& b) { return b.name == name; });
    };
    EXPECT_FALSE(has("latency.l2_far"));
    EXPECT_FALSE(has("lrc.merge_factor"));
    EXPECT_TRUE(has("latency.l1"));
    spec.l1.enabled = false;
    EXPECT_FALSE(has("latency.l1"));
}

TEST(Silicon, ReadsWhatTheProjectHas) {
    const std::vector<Silicon> all = read_silicon(default_silicon_file());
    EXPECT_GT(all.size(), 60u);
    for (const Silicon& s : all) EXPECT_FALSE(s.source.empty()) << s.gpu << ' ' << s.benchmark;
    // Decision 0047: at least a latency and a bandwidth of each GPU are held out.
    for (const char* const gpu : {"a100", "h100-pcie"}) {
        for (const char* const what : {"latency.", "stream."}) {
            EXPECT_TRUE(
                std::any_of(all.begin(), all.end(),
                            [&](const Silicon& s) { return s.gpu == gpu && s.benchmark.starts_with(what) && s.role == "validates"; }))
                << gpu << ' ' << what;
        }
    }
}

TEST(Silicon, NamesTheLineThatIsWrong) {
    const std::string head = "gpu,benchmark,value,unit,role,source\n";
    const auto message = [&](const std::string& line) -> std::string {
        try {
            parse_silicon(head + line, "s.csv");
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message("a100,latency.l1,36,cycles,validates,\"somewhere, page 3\"\n"), "accepted");
    EXPECT_NE(message("a100,latency.l1,36,cycles,validates\n").find("s.csv:2: 5 fields instead of 6"), std::string::npos);
    for (const char* const value : {"", "-1", "nan", "inf", "0", "12x", "1e999"})
        EXPECT_NE(message(std::string("a100,x,") + value + ",cycles,validates,y\n").find("not a positive number"), std::string::npos)
            << value;
    EXPECT_NE(message("a100,x,1,cycles,validate,y\n").find("did you mean 'validates'"), std::string::npos);
}

TEST(Microbench, ErrorsAreSummedUpByRole) {
    const Benchmark latency{"latency.l1", "cycles", "", {}, {}}, bandwidth{"bandwidth.l2", "bytes/cycle", "", {}, {}};
    const auto published = [](double value, const char* role) { return std::vector<Silicon>{{"g", "b", value, "u", role, "s"}}; };
    const Summary s = summary_of({{&latency, 102, published(100, "calibrates")},
                                  {&latency, 104, published(100, "calibrates")},
                                  {&bandwidth, 104, published(100, "calibrates")},
                                  {&latency, 90, published(100, "validates")},
                                  {&bandwidth, 130, published(100, "validates")},
                                  {&latency, 1, {}}});
    EXPECT_EQ(s.calibrated, 3u);
    EXPECT_EQ(s.within_band, 2u);
    EXPECT_EQ(s.validated, 2u);
    EXPECT_NEAR(s.validation_error, 20, 1e-9);
    EXPECT_NEAR(s.worst_validation_error, 30, 1e-9);
    EXPECT_EQ(s.worst, "bandwidth.l2");
}

}  // namespace
}  // namespace mergelane::testing
