// SPDX-License-Identifier: MIT
// Every workload of the suite on two different GPUs: right results (a wrong one throws), and the same work on both and on every CTA
// scheduler.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "config/config.hpp"
#include "run.hpp"
#include "workload/suite/ptx_executor.hpp"

namespace mergelane::suite {
namespace {

namespace fs = std::filesystem;

const std::vector<fs::path> kKernels = {fs::path(MERGELANE_SOURCE_DIR) / "kernels"};
constexpr const char* kWork[] = {"sm.warp_instructions", "sm.thread_instructions", "sm.memory_instructions", "sm.shared_instructions",
                                 "dispatch.ctas_completed"};

MachineSpec preset(const std::string& name, const std::vector<std::string>& overrides = {}) {
    return load_config(name, overrides, {fs::path(MERGELANE_SOURCE_DIR) / "gpus"}).spec;
}

RunResult run(const MachineSpec& spec, std::string_view name) {
    const auto workload = make_suite_workload(name, Size::tiny, 1, {}, kKernels);
    RunResult result = testing::run_on(spec, *workload);
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
    for (const SuiteWorkload& workload : workloads()) {
        if (!workload.hopper) list.push_back(&workload);
    }
    return list;
}

INSTANTIATE_TEST_SUITE_P(Tiny, Timed, ::testing::ValuesIn(all()), [](const auto& given) {
    std::string name(given.param->name);
    std::replace(name.begin(), name.end(), '+', 'p');
    return name;
});

}  // namespace
}  // namespace mergelane::suite
