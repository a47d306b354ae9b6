// SPDX-License-Identifier: MIT
// Law: every machine is given the same work. What a kernel computes and which instructions, lanes and addresses it has is
// settled before it is timed, so all of it is equal on different machines, for any number of host threads.
#include <gtest/gtest.h>

#include "machines.hpp"
#include "run.hpp"
#include "workload/ptx/manifest.hpp"

namespace mergelane::testing {
namespace {

RunResult run_manifest(const MachineSpec& spec, const std::string& name, std::uint32_t threads = 1) {
    const auto workload = ptx::load_manifest(std::string(MERGELANE_SOURCE_DIR) + "/tests/data/ptx/" + name);
    RunOptions options;
    options.threads = threads;
    return run_on(spec, *workload, options);
}

TEST(PtxSameWork, OnEveryMachine) {
    for (const char* name : {"saxpy.toml", "matmul.toml"}) {
        const RunResult a = run_manifest(valid(icc60_like(3)), name);
        const RunResult b = run_manifest(valid(v100_like()), name);
        for (const char* stat : {"sm.warp_instructions", "sm.thread_instructions", "sm.memory_instructions", "sm.shared_instructions"}) {
            EXPECT_EQ(a.stat(stat), b.stat(stat)) << name << ' ' << stat;
        }
        EXPECT_GT(a.stat("sm.warp_instructions"), 0u);
        EXPECT_NE(a.digest, b.digest);
    }
}

TEST(PtxSameWork, ForAnyNumberOfThreads) {
    EXPECT_EQ(run_manifest(valid(icc60_like(3)), "matmul.toml", 1).digest, run_manifest(valid(icc60_like(3)), "matmul.toml", 2).digest);
}

}  // namespace
}  // namespace mergelane::testing
