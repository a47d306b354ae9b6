// SPDX-License-Identifier: MIT
// Invariant: a trace gives the same counters for any number of threads, although all of them read and decode it concurrently.
#include <gtest/gtest.h>

#include "dispatch/clustering_spec.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "traces.hpp"

namespace mergelane::testing {
namespace {

/// One kernel of short CTAs, and one whose CTAs are long enough to be read in windows.
std::string write_list() {
    for (int kernel = 1; kernel <= 2; ++kernel) {
        TraceText trace;
        trace.name = "k" + std::to_string(kernel);
        trace.grid = "(12,1,1)";
        trace.block = "(64,1,1)";
        const int rounds = kernel == 1 ? 3 : 18;
        for (int cta = 0; cta < 12; ++cta) {
            std::vector<std::vector<std::string>> warps(2);
            for (std::size_t w = 0; w < 2; ++w) {
                for (int i = 0; i < rounds; ++i) {
                    const std::string page = std::to_string(10 + (cta * 7 + i) % 90);
                    const std::string pad(kernel == 1 ? 0 : 4000, ' ');
                    warps[w].push_back("0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00" + page + "000 4 0" + pad);
                    warps[w].push_back("0010 0000ffff 1 R5 FADD 2 R4 R5 0 0");
                    if (i % 5 == 0) warps[w].push_back("0020 ffffffff 0 BAR.SYNC 0 0 0");
                    warps[w].push_back("0030 0000000f 0 STG.E 2 R2 R5 4 2 0x7f4b10" + page + "000 128 -4096 64 0");
                    if (i % 7 == 0) warps[w].push_back("0040 00000003 0 RED.E.ADD 1 R2 4 0 0x7f4b20000000 0x7f4b20000000 0");
                    if (i == 2) warps[w].push_back("0050 ffffffff 0 OPCODE" + std::to_string(cta) + " 0 0 0");
                }
                warps[w].push_back("0060 ffffffff 0 EXIT 0 0 0");
            }
            trace.cta(std::to_string(cta) + ",0,0", warps);
        }
        trace.write("kernel-" + trace.name + ".traceg");
    }
    return write_temporary("kernelslist.g", "kernel-k1.traceg\nkernel-k2.traceg\n");
}

/// Reads the next CTA of a trace while others still read this one.
MachineSpec prefetching() {
    MachineSpec s = icc60_like(2);
    s.name = "prefetching";
    s.gpu.sms_per_cluster = 1;
    s.dispatch.transform = "agents";
    s.section<ClusteringSpec>().agents = 2;
    s.section<ClusteringSpec>().prefetch = 2;
    return s;
}

TEST(TracedKernels, OneDigestForThreadsWindowsAndSleep) {
    const std::string list = write_list();
    for (MachineSpec spec : {icc60_like(2), v100_like(), prefetching()}) {
        spec.gpu.clusters = 2;
        spec.dram.channels = 2;
        spec = valid(spec);
        std::string digest;
        std::vector<std::string> warnings;
        struct Mode {
            std::uint32_t threads;
            std::uint32_t window;
        };
        for (const auto [threads, window] : {Mode{1, 0}, Mode{2, 0}, Mode{4, 0}, Mode{2, 1}}) {
            RunOptions options;
            options.threads = threads;
            options.window_cycles = window;
            options.sleep = window == 0;
            std::vector<std::string> now;
            accelsim::ReplayOptions replay;
            replay.warn = [&](const std::string& text) { now.push_back(text); };
            const auto workload = accelsim::open_trace(list, replay);
            const RunResult result = run_on(spec, *workload, options);
            EXPECT_EQ(result.kernels.size(), 2u);
            if (digest.empty()) {
                digest = result.digest;
                warnings = now;
                EXPECT_EQ(warnings.size(), 1u);
            }
            EXPECT_EQ(result.digest, digest) << spec.name << ", " << threads << " threads, window " << window;
            EXPECT_EQ(now, warnings);
        }
    }
}

}  // namespace
}  // namespace mergelane::testing
