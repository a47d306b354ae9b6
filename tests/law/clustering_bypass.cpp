// SPDX-License-Identifier: MIT
// Invariants of L1 bypass in CTA clustering: listed loads never access the L1, all others do as before, and nothing else changes.
#include "clustering.hpp"
#include "core/error.hpp"
#include "dispatch/past_l1.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kCtas = 40;
constexpr const char* kTransforms[] = {"redirect", "agents"};

/// Loads 0 and 2 stream: each CTA has lines of its own, two of them for load 2. Loads 1 and 3 of all CTAs read the same line. The load at
/// 5 is from shared memory, the one at 6 reads what bypasses the L1 anyway.
std::vector<CtaScript> streams_and_tables() {
    std::vector<CtaScript> ctas;
    for (std::uint32_t c = 0; c < kCtas; ++c) {
        const Addr own = Addr{c} * 4096 + (1 << 20);
        Access shared, past;
        shared.space = Space::shared;
        past.lanes = affine(0);
        past.bypass_l1 = true;
        WarpScript warp;
        warp.load(1, {affine(own)}).load(2, {affine(0)}).load(3, {affine(own + 1024, 8)}).load(4, {affine(0)});
        warp.compute(OpClass::int_add, 5, {1, 2, 3, 4}).load(6, shared).load(7, past).store({affine(own + 2048)}, {5});
        ctas.push_back({warp, warp});
    }
    return ctas;
}

RunResult run_with(std::string_view transform, const std::string& bypass, std::uint32_t run_length = 3) {
    MachineSpec s = clustering_machine(2, "round_robin", transform);
    s.section<ClusteringSpec>().bypass = bypass;
    const StrictKernel kernel(streams_and_tables(), kCtas, run_length);
    return run_kernel(s, kernel);
}

std::uint64_t load_lookups(const RunResult& result) {
    return (result.stat("l1.sector_accesses") - result.stat("l1.sector_write_accesses")) * 32 / 128;
}

TEST(ClusteringBypass, ListedLoadsDoNotTouchTheL1) {
    constexpr std::uint64_t kWarps = 2 * kCtas;
    for (const char* transform : kTransforms) {
        for (const std::uint32_t length : {1u, 2u, 3u, 8u}) {
            const RunResult plain = run_with(transform, "none", length);
            EXPECT_EQ(load_lookups(plain), kWarps * (1 + 1 + 2 + 1)) << transform;
            const RunResult streams = run_with(transform, "0x2,0", length);
            EXPECT_EQ(load_lookups(streams), kWarps * (1 + 1)) << transform << ", runs of " << length;
            EXPECT_EQ(streams.stat("l1.fills"), 2u) << "the line that all read, on each SM";
            // Past the L1: loads 0 and 2, and the one that went there before.
            EXPECT_EQ(streams.stat("l2.reads"), kWarps * (1 + 2 + 1) + 2) << transform;
            for (const char* same : {"sm.loads", "sm.memory_instructions", "sm.shared_instructions", "l2.writes"})
                EXPECT_EQ(streams.stat(same), plain.stat(same)) << same;
            const RunResult all = run_with(transform, "0 1 2 3", length);
            EXPECT_EQ(load_lookups(all), 0u);
            EXPECT_EQ(all.stat("l2.reads"), kWarps * (1 + 1 + 2 + 1 + 1));
        }
    }
}

TEST(ClusteringBypass, HowInstructionsComeInRunsMakesNoDifference) {
    for (const char* transform : kTransforms)
        EXPECT_EQ(run_with(transform, "0,3", 1).digest, run_with(transform, "0,3", 8).digest) << transform;
}

TEST(ClusteringBypass, WhatIsNoGlobalLoadStaysAsItIs) {
    for (const char* transform : kTransforms) {
        const std::string plain = run_with(transform, "none").digest;
        EXPECT_EQ(run_with(transform, "4,5,6,7").digest, plain) << "arithmetic, shared memory, past the L1 already, a store";
        EXPECT_EQ(run_with(transform, "1000,0xFFFFFFFF").digest, plain) << "no instruction at all";
        EXPECT_NE(run_with(transform, "1").digest, plain);
    }
}

/// A loop whose body is one run: the same instructions come again and again, with other addresses.
TEST(ClusteringBypass, LoopsBypassInEveryIteration) {
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 12;
    params.warps = 2;
    params.iterations = 5;
    const auto reads_through_l1 = [&](const std::string& bypass) {
        MachineSpec s = clustering_machine(2, "round_robin", "agents");
        s.section<ClusteringSpec>().bypass = bypass;
        const auto workload = make_synthetic("stream", params);
        const RunResult result = run_on(valid(s), *workload);
        EXPECT_EQ(result.stat("l2.reads"), 12u * 2 * 5 * 7) << "every line is read once, whichever way";
        return load_lookups(result);
    };
    EXPECT_EQ(reads_through_l1("none"), 12u * 2 * 5 * 7);
    EXPECT_EQ(reads_through_l1("0,3,6"), 12u * 2 * 5 * 4);
}

std::string complaint(const std::string& text) {
    try {
        pc_list(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(ClusteringBypass, ReadsListsAndRefusesOthers) {
    using List = std::vector<std::uint32_t>;
    EXPECT_EQ(pc_list("none"), List{});
    EXPECT_EQ(pc_list("0x58,0x40"), (List{0x40, 0x58}));
    EXPECT_EQ(pc_list(" 7, 0XfF  12 "), (List{7, 12, 255}));
    for (const char* wrong : {"0x", "x40", "12a", "-1", "some", "0x1g"}) {
        EXPECT_NE(complaint(wrong).find(std::string("clustering.bypass has '") + wrong + "'"), std::string::npos) << complaint(wrong);
        EXPECT_NE(complaint(wrong).find("as 0x40,0x58"), std::string::npos) << "the remedy";
    }
    EXPECT_NE(complaint("1 0x100000000").find("more than 32 bits"), std::string::npos);
    EXPECT_NE(complaint(" , ").find("is empty"), std::string::npos);
}

TEST(ClusteringBypass, BelongsToTransformsThatChangeTheKernel) {
    MachineSpec s = clustering_machine(2, "round_robin", "none");
    const std::string hash = config_hash(s);
    s.section<ClusteringSpec>().bypass = "64";
    EXPECT_EQ(config_hash(s), hash);
    s.dispatch.transform = "redirect";
    EXPECT_TRUE(check(s).empty());
    const std::string redirected = config_hash(s);
    s.section<ClusteringSpec>().bypass = "72";
    EXPECT_NE(config_hash(s), redirected);
    s.section<ClusteringSpec>().bypass = "64 or so";
    ASSERT_EQ(check(s).size(), 1u);
    EXPECT_NE(check(s).front().text.find("'or'"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
