// SPDX-License-Identifier: MIT
// Invariant: replaying a trace file gives the digest of the workload it was recorded from, for any number of threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "machines.hpp"
#include "run.hpp"
#include "workload/ptx/manifest.hpp"
#include "workload/synthetic.hpp"
#include "workload/tracefile/trace_file.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::testing {
namespace {

using Maker = std::function<std::unique_ptr<Workload>()>;

void same_digest(const Maker& make) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("mergelane-replay-" + std::to_string(::getpid()) + ".mlt")).string();
    tracefile::write_trace(*make(), path);
    MachineSpec spec = icc60_like(3);
    spec.gpu.sms_per_cluster = 2;
    spec.dram.channels = 2;
    const std::unique_ptr<Workload> direct = make();
    const RunResult want = run_on(valid(spec), *direct);
    for (const std::uint32_t threads : {1u, 2u, 4u}) {
        RunOptions options;
        options.threads = threads;
        const std::unique_ptr<Workload> replay = tracefile::open_trace_file(path);
        const RunResult got = run_on(spec, *replay, options);
        EXPECT_EQ(got.digest, want.digest) << threads;
        EXPECT_EQ(got.workload, want.workload);
    }
    std::filesystem::remove(path);
}

TEST(TraceReplay, SyntheticWorkloads) {
    for (const char* kind : {"stream", "tiled", "divergent", "atomic"}) {
        SCOPED_TRACE(kind);
        same_digest([kind] {
            SyntheticParams params = synthetic_defaults(kind);
            params.ctas = 12;
            params.iterations = 1;
            params.kernels = 2;
            return make_synthetic(kind, params);
        });
    }
}

TEST(TraceReplay, KernelsFromPtx) {
    same_digest([] { return ptx::load_manifest(MERGELANE_SOURCE_DIR "/tests/data/ptx/matmul.toml"); });
}

}  // namespace
}  // namespace mergelane::testing
