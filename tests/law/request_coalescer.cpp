// SPDX-License-Identifier: MIT
// Law: the L2 request coalescer merges what arrives while a sector is in flight, adds no latency of its own, and works with everything that
// merges before it.
#include <gtest/gtest.h>

#include "cluster/icc_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "variants.hpp"

namespace mergelane::testing {
namespace {

MachineSpec coalesced(MachineSpec spec, std::uint32_t max_merged = 4) {
    spec.section<RequestCoalescerSpec>().on = true;
    spec.section<RequestCoalescerSpec>().max_merged = max_merged;
    return valid(spec);
}

/// One warp per SM; all read the same lines, one after the other, around their L1s.
RunResult same_lines(const MachineSpec& spec, std::uint32_t lines) {
    WarpScript script;
    for (std::uint32_t n = 0; n < lines; ++n) {
        Access access;
        access.lanes = affine(0x10000 + 0x4000 * Addr{n});
        access.active = spec.lsu.block_bytes == 128 ? 0xFFFFFFFFu : 0xFFu;
        access.bypass_l1 = true;
        script.load(static_cast<std::uint16_t>(1 + n % 8), access).use(static_cast<std::uint16_t>(1 + n % 8));
    }
    ScriptedWorkload workload({CtaScript{script}}, spec.sms());
    return run_on(spec, workload);
}

TEST(RequestCoalescers, AddNoLatency) {
    for (MachineSpec spec : {icc60_like(1), gtx480_like(), v100_like()}) {
        spec.gpu.clusters = spec.gpu.sms_per_cluster = 1;
        valid(spec);
        const std::uint64_t without = same_lines(spec, 20).stat("sm.load_latency");
        const std::uint64_t with = same_lines(coalesced(spec), 20).stat("sm.load_latency");
        // The lookup is a cycle earlier, which another clock may notice.
        const std::uint64_t slack = spec.gpu.core_mhz == spec.gpu.dram_mhz ? 0 : 20;
        EXPECT_LE(with, without + slack) << spec.name;
        EXPECT_LE(without, with + slack) << spec.name;
    }
}

/// The SMs go in step, so every sector is read by all of them while it is in flight.
TEST(RequestCoalescers, DivideTheReadsOfASliceByTheMergeFactor) {
    for (const std::uint32_t most : {1u, 2u, 4u, 8u}) {
        const RunResult run = same_lines(coalesced(v100_like(), most), 32);
        EXPECT_EQ(run.stat("lrc.sectors_in"), 16u * 32);
        EXPECT_EQ(run.stat("lrc.sectors_out"), run.stat("l2.reads"));
        EXPECT_EQ(run.stat("lrc.reads"), run.stat("l2.reads") * most) << "16 SMs are a multiple of " << most;
        EXPECT_EQ(run.stat("dram.requests"), 32u);
    }
}

TEST(RequestCoalescers, MergeWhatClustersHaveMerged) {
    MachineSpec spec = icc60_like(4);
    const std::uint64_t plain = same_lines(spec, 16).stat("l2.reads");
    const std::uint64_t coalescers = same_lines(coalesced(spec), 16).stat("l2.reads");
    spec.section<IccSpec>().on = spec.section<IccSpec>().l1_bypassing_loads = true;
    const std::uint64_t icc = same_lines(valid(spec), 16).stat("l2.reads");
    const std::uint64_t both = same_lines(coalesced(spec), 16).stat("l2.reads");
    EXPECT_EQ(plain, 20u * 16);
    EXPECT_EQ(coalescers, 5u * 16);
    EXPECT_EQ(icc, 4u * 16);
    EXPECT_EQ(both, 1u * 16);
}

/// All invariants are checked in every run.
TEST(RequestCoalescers, WorkOnEveryNetworkWithFewEntries) {
    for (const auto& [key, value] :
         Settings{{"noc.kind", "crossbar"}, {"noc.kind", "two_stage"}, {"noc.kind", "output_queues"}, {"noc.kind", "mesh"}}) {
        MachineSpec spec = configured(icc60_like(4), {{"gpu.sms_per_cluster", "2"}, {"dram.channels", "2"}, {key, value}});
        spec.section<RequestCoalescerSpec>().entries = 3;
        const RunResult run = run_mixed(coalesced(spec, 3));
        EXPECT_GT(run.stat("lrc.merged"), 0u) << value;
        EXPECT_GT(run.stat("lrc.stalls"), 0u) << value;
        EXPECT_EQ(run.stat("lrc.reads"), run.stat("lrc.answered")) << value;
    }
    const MachineSpec routers = configured(
        icc60_like(4), {{"gpu.sms_per_cluster", "2"}, {"dram.channels", "2"}, {"noc.kind", "mesh"}, {"noc.coalescing.enabled", "true"}});
    EXPECT_GT(run_mixed(coalesced(routers)).stat("lrc.merged"), 0u);
    EXPECT_GT(run_mixed(coalesced(decoupled(4, 2, 1400))).stat("lrc.reads"), 0u);
}

TEST(RequestCoalescers, NeedACache) {
    MachineSpec spec = icc60_like();
    spec.section<RequestCoalescerSpec>().on = true;
    spec.l2.enabled = false;
    const std::vector<SpecProblem> problems = check(spec);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].text.find("set l2.enabled = true"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
