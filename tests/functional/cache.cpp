// SPDX-License-Identifier: MIT
// A benchmark is executed once; other machines replay the recording and get the same results as without it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "config/config.hpp"
#include "core/skippable_workload.hpp"
#include "sim/simulation.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane::suite {
namespace {

namespace fs = std::filesystem;

const std::vector<fs::path> kKernels = {fs::path(MERGELANE_SOURCE_DIR) / "kernels"};

class Cache : public ::testing::Test {
protected:
    void SetUp() override { folder_ = fs::temp_directory_path() / ("mergelane_cache_" + std::to_string(getpid())); }
    void TearDown() override { fs::remove_all(folder_); }

    static RunResult simulate(Workload& workload, const char* gpu) {
        const LoadedConfig config = load_config(gpu, {}, {fs::path(MERGELANE_SOURCE_DIR) / "gpus"});
        return Simulation(config.spec, {}).run(workload);
    }
    fs::path folder_;
};

TEST_F(Cache, KeptAndExecutedGiveTheSameResult) {
    const fs::path file = cache_file("bfs", Size::tiny, 1, {}, folder_, kKernels);
    for (const char* gpu : {"icc60", "gtx480"}) {
        const RunResult executed = simulate(*make_suite_workload("bfs", Size::tiny, 1, {}, kKernels), gpu);
        for (int k = 0; k < 2; ++k) {
            const RunResult kept = simulate(*make_cached_suite_workload("bfs", Size::tiny, 1, {}, folder_, kKernels), gpu);
            EXPECT_EQ(kept.digest, executed.digest);
            EXPECT_EQ(kept.workload, executed.workload);
            EXPECT_TRUE(fs::exists(file));
        }
    }
}

TEST_F(Cache, WhatWasAskedForIsInTheName) {
    ExecutorOptions range;
    range.first_launch = 2;
    ExecutorOptions quantum;
    quantum.quantum = 1;
    std::vector<fs::path> files = {
        cache_file("bfs", Size::tiny, 1, {}, folder_, kKernels),    cache_file("bfs", Size::tiny, 2, {}, folder_, kKernels),
        cache_file("bfs", Size::paper, 1, {}, folder_, kKernels),   cache_file("atax", Size::tiny, 1, {}, folder_, kKernels),
        cache_file("bfs", Size::tiny, 1, range, folder_, kKernels), cache_file("bfs", Size::tiny, 1, quantum, folder_, kKernels),
    };
    std::sort(files.begin(), files.end());
    EXPECT_EQ(std::adjacent_find(files.begin(), files.end()), files.end());
}

TEST_F(Cache, KeysDependOnTheWorkloadsOwnSourceAndPtx) {
    const SuiteWorkload& bfs = find_workload("bfs");
    const std::string ptx = KernelFiles(kKernels).text(bfs.module);
    const std::string key = recording_key("bfs", Size::tiny, 1, {}, kKernels);
    EXPECT_EQ(recording_key(bfs, Size::tiny, 1, {}, source_hash(bfs), ptx), key) << "on that of no other workload";
    EXPECT_NE(recording_key(bfs, Size::tiny, 1, {}, "edited", ptx), key);
    EXPECT_NE(recording_key(bfs, Size::tiny, 1, {}, source_hash(bfs), ptx + "\n"), key);
    std::set<std::string_view> modules, hashes;
    for (const SuiteWorkload& workload : workloads()) {
        if (!modules.insert(workload.module).second) continue;
        EXPECT_TRUE(hashes.insert(source_hash(workload)).second) << workload.name;
    }
    EXPECT_NE(recording_key("2mm", Size::tiny, 1, {}, kKernels), recording_key("2mm_512", Size::tiny, 1, {}, kKernels))
        << "of one file, but another program";
}

TEST_F(Cache, RecordingsThatAreTooLongAreNotKept) {
    const fs::path file = cache_file("bfs", Size::tiny, 1, {}, folder_, kKernels);
    for (const std::uint64_t most : {std::uint64_t{1000}, kMostLongRecordingBytes}) {
        simulate(*make_cached_suite_workload("bfs", Size::tiny, 1, {}, folder_, kKernels, most), "icc60");
        EXPECT_EQ(fs::exists(file), most != 1000);
    }
}

TEST_F(Cache, KeptKernelsCanBeSkipped) {
    std::vector<std::uint64_t> ctas;
    const auto all = make_suite_workload("lud", Size::tiny, 1, {}, kKernels);
    while (const KernelSource* kernel = all->next_kernel()) ctas.push_back(kernel->info().ctas());
    for (int time = 0; time < 2; ++time) {  // executed, then kept
        const auto workload = make_cached_suite_workload("lud", Size::tiny, 1, {}, folder_, kKernels);
        EXPECT_EQ(dynamic_cast<SkippableWorkload*>(workload.get()) != nullptr, time == 1);
        for (std::size_t k = 0; k < ctas.size(); ++k) {
            if (k % 3 != 1) {
                EXPECT_TRUE(skip_kernel(*workload));
                continue;
            }
            const KernelSource* const kernel = workload->next_kernel();
            ASSERT_NE(kernel, nullptr);
            EXPECT_EQ(kernel->info().ctas(), ctas[k]);
        }
        EXPECT_FALSE(skip_kernel(*workload));
    }
}

TEST_F(Cache, AnAbandonedRunKeepsNothing) {
    { EXPECT_NE(make_cached_suite_workload("hotspot", Size::tiny, 1, {}, folder_, kKernels)->next_kernel(), nullptr); }
    EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace mergelane::suite
