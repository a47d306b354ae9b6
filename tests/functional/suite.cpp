// SPDX-License-Identifier: MIT
// Every benchmark computes what its CPU reference computes, for any interleaving of the warps of a CTA.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "core/error.hpp"
#include "kernel_metadata.hpp"
#include "workload/suite/ptx_executor.hpp"

namespace mergelane::suite {
namespace {

const std::vector<std::filesystem::path> kKernels = {std::filesystem::path(MERGELANE_SOURCE_DIR) / "kernels"};

class Suite : public ::testing::TestWithParam<std::tuple<const SuiteWorkload*, std::uint32_t>> {};

std::vector<const SuiteWorkload*> all() {
    std::vector<const SuiteWorkload*> list;
    for (const SuiteWorkload& workload : workloads()) list.push_back(&workload);
    return list;
}

ExecutorOptions with(std::uint32_t quantum, bool record) {
    ExecutorOptions options;
    options.quantum = quantum;
    options.record = record;
    return options;
}

TEST_P(Suite, ComputesWhatTheReferenceSays) {
    const auto& [workload, quantum] = GetParam();
    const auto executor = make_ptx_executor(with(quantum, false), kKernels);
    const auto problem = workload->make(Size::tiny, 1);
    problem->run(*executor);
    const Verdict verdict = problem->verify();
    EXPECT_TRUE(verdict.correct) << verdict.problem;
    EXPECT_GT(verdict.compared, 0u);
}

INSTANTIATE_TEST_SUITE_P(Tiny, Suite, ::testing::Combine(::testing::ValuesIn(all()), ::testing::Values(1u, 20u, 0u)),
                         [](const auto& given) {
                             std::string name(std::get<0>(given.param)->name);
                             std::replace(name.begin(), name.end(), '+', 'p');
                             const std::uint32_t quantum = std::get<1>(given.param);
                             return name + "_quantum_" + (quantum == 0 ? "infinite" : std::to_string(quantum));
                         });

TEST(SuiteRange, OnlyTheChosenLaunchesAreRecorded) {
    ExecutorOptions options;
    options.first_launch = 2;
    options.last_launch = 3;
    const auto stream = make_suite_workload("corr", Size::tiny, 1, options, kKernels);
    std::vector<std::string> names;
    while (const KernelSource* kernel = stream->next_kernel()) names.push_back(kernel->info().name);
    EXPECT_EQ(names, (std::vector<std::string>{"corr_deviation", "corr_scale"}));
    EXPECT_TRUE(stream->verdict().correct);
    EXPECT_EQ(stream->name(), "suite:corr size=tiny kernels=2-3");
}

/// As the simulation does it: kernel after kernel, recorded, in the order of the launches.
TEST_P(Suite, StreamsItsKernels) {
    const auto& [workload, quantum] = GetParam();
    SuiteStream stream(std::string(workload->name), workload->make(Size::tiny, 1), make_ptx_executor(with(quantum, true), kKernels));
    const std::map<std::string, KernelResources> known = kernel_metadata(kKernels.front(), *workload);
    std::size_t kernels = 0;
    while (const KernelSource* kernel = stream.next_kernel()) {
        ++kernels;
        const KernelResources& resources = known.at(kernel->info().name);
        EXPECT_EQ(kernel->info().registers_per_thread, resources.registers);
        EXPECT_GE(kernel->info().shared_bytes, resources.shared_bytes);  // some have dynamic shared memory, too
    }
    EXPECT_GT(kernels, 0u);
    EXPECT_GT(stream.verdict().compared, 0u);
}

}  // namespace
}  // namespace mergelane::suite
