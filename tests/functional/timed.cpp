// SPDX-License-Identifier: MIT
// Every benchmark on two different GPUs: correct results (a wrong one throws), and the same work on both, with every CTA scheduler, for any
// number of host threads, and replayed from a trace file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "config/config.hpp"
#include "run.hpp"
#include "workload/suite/ptx_executor.hpp"
#include "workload/tracefile/trace_file.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::suite {
namespace {

namespace fs = std::filesystem;

const std::vector<fs::path> kKernels = {fs::path(MERGELANE_SOURCE_DIR) / "kernels"};
constexpr const char* kWork[] = {"sm.warp_instructions", "sm.thread_instructions", "sm.memory_instructions", "sm.shared_instructions",
                                 "dispatch.ctas_completed"};

MachineSpec preset(const std::string& name, const std::vector<std::string>& overrides = {}) {
    return load_config(name, overrides, {fs::path(MERGELANE_SOURCE_DIR) / "gpus"}).spec;
}

RunResult run(const MachineSpec& spec, std::string_view name, std::uint32_t threads = 1) {
    const auto workload = make_suite_workload(name, Size::tiny, 1, {}, kKernels);
    RunOptions options;
    options.threads = threads;
    RunResult result = testing::run_on(spec, *workload, options);
    EXPECT_TRUE(workload->verdict().correct) << workload->verdict().problem;
    EXPECT_GT(workload->verdict().compared, 0u);
    return result;
}

class Timed : public ::testing::TestWithParam<const SuiteWorkload*> {};

TEST_P(Timed, IsRightAndTheSameWorkOnEveryMachine) {
    const std::string_view name = GetParam()->name;
    const RunResult first = run(preset("icc60"), name);
    std::vector<RunResult> others = {run(preset("v100"), name)};
    for (const std::string_view scheduler : cta_scheduler_names())
        others.push_back(run(preset("gtx480", {"dispatch.scheduler=" + std::string(scheduler)}), name));
    for (const RunResult& other : others) {
        for (const char* stat : kWork) EXPECT_EQ(other.stat(stat), first.stat(stat)) << name << ' ' << stat << " on " << other.machine.name;
    }
}

std::vector<const SuiteWorkload*> all() {
    std::vector<const SuiteWorkload*> list;
    for (const SuiteWorkload& workload : workloads()) list.push_back(&workload);
    return list;
}

INSTANTIATE_TEST_SUITE_P(Tiny, Timed, ::testing::ValuesIn(all()), [](const auto& given) {
    std::string name(given.param->name);
    std::replace(name.begin(), name.end(), '+', 'p');
    return name;
});

class OneDigest : public ::testing::TestWithParam<const char*> {};

TEST_P(OneDigest, DirectReplayedAndThreaded) {
    const std::string name = GetParam();
    const MachineSpec spec = preset("icc60");
    const std::string digest = run(spec, name).digest;
    EXPECT_EQ(run(spec, name, 2).digest, digest);
    EXPECT_EQ(run(spec, name, 4).digest, digest);

    const fs::path file = fs::path(::testing::TempDir()) / ("one_digest_" + name + ".mlt");
    const auto recorded = make_suite_workload(name, Size::tiny, 1, {}, kKernels);
    tracefile::write_trace(*recorded, file.string());
    for (const std::uint32_t threads : {1u, 2u, 4u}) {
        const auto replay = tracefile::open_trace_file(file.string());
        RunOptions options;
        options.threads = threads;
        EXPECT_EQ(testing::run_on(spec, *replay, options).digest, digest) << threads << " threads";
    }
    fs::remove(file);
}

INSTANTIATE_TEST_SUITE_P(Tiny, OneDigest, ::testing::Values("hotspot", "bfs", "lud", "spmv", "histogram", "matrixmul"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace mergelane::suite
