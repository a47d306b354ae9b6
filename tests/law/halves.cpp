// SPDX-License-Identifier: MIT
// Law: in an L2 of two halves, an access to the other half takes the latency between the halves longer, each way; the links between the
// halves bound the bandwidth; a copy answers at the latency of the own half until a write of this half invalidates it; and the halves never
// block each other.
#include <gtest/gtest.h>

#include "l2/halves_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "variants.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kLatency = 60;

/// Chunk c of 256 bytes belongs to channel c mod 8; channels 0 to 3 and cluster 0 are the first half.
MachineSpec halves(HalvesSpec::Far far, std::uint32_t bytes_per_cycle = 64) {
    MachineSpec spec = v100_like();
    spec.gpu.clusters = 2;
    spec.l2.slice_hash = "plain";
    auto& section = spec.section<HalvesSpec>();
    section.on = true;
    section.far = far;
    section.latency = kLatency;
    section.bytes_per_cycle = bytes_per_cycle;
    return valid(spec);
}
MachineSpec whole() {
    MachineSpec spec = halves(HalvesSpec::Far::home);
    spec.section<HalvesSpec>().on = false;
    return valid(spec);
}
constexpr Addr kNear = 0x100000, kFar = kNear + 4 * 256;

Access around_l1(Addr address) {
    Access access;
    access.lanes = affine(address);
    access.active = 0xFFu;
    access.bypass_l1 = true;
    return access;
}

/// Latency of the last of these accesses, one after the other, by SM 0.
std::uint64_t last_latency(const MachineSpec& spec, const std::vector<Access>& accesses) {
    const auto latency = [&](std::size_t count) {
        WarpScript script;
        for (std::size_t n = 0; n < count; ++n) script.load(1, accesses[n]).use(1);
        return run_on(spec, script).stat("sm.load_latency");
    };
    return latency(accesses.size()) - latency(accesses.size() - 1);
}

TEST(Halves, TheOtherHalfIsItsLatencyAway) {
    for (const bool coalescers : {false, true}) {
        MachineSpec one = whole();
        MachineSpec two = halves(HalvesSpec::Far::home);
        one.section<RequestCoalescerSpec>().on = two.section<RequestCoalescerSpec>().on = coalescers;
        const Access near = around_l1(kNear), far = around_l1(kFar);
        EXPECT_EQ(last_latency(two, {near, near}), last_latency(one, {near, near}));
        EXPECT_EQ(last_latency(two, {far, far}), last_latency(one, {far, far}) + 2 * kLatency);
        // Misses wait for the edge of another clock.
        EXPECT_NEAR(static_cast<double>(last_latency(two, {near})), static_cast<double>(last_latency(one, {near})), 2);
        EXPECT_NEAR(static_cast<double>(last_latency(two, {far})), static_cast<double>(last_latency(one, {far})) + 2 * kLatency, 2);
    }
}

TEST(Halves, ACopyIsAsFarAsTheOwnHalf) {
    const MachineSpec one = whole(), two = halves(HalvesSpec::Far::copy);
    const Access near = around_l1(kNear), far = around_l1(kFar);
    const std::uint64_t hit = last_latency(one, {near, near});
    EXPECT_EQ(last_latency(two, {near, near}), hit);
    EXPECT_EQ(last_latency(two, {far, near, far}), hit);
    // The first time, both slices are looked up, but only one pipeline is passed.
    const auto first = static_cast<double>(last_latency(two, {far}));
    const auto direct = static_cast<double>(last_latency(one, {far})) + 2 * kLatency;
    EXPECT_GT(first, direct);
    EXPECT_LT(first, direct + 10);
    WarpScript script;
    script.load(1, far).use(1).load(1, near).use(1).load(1, far).use(1);
    const RunResult run = run_on(two, script);
    EXPECT_EQ(run.stat("halves.far"), 2u);
    EXPECT_EQ(run.stat("halves.near"), 1u);
    EXPECT_EQ(run.stat("halves.lookups"), 2u);
    EXPECT_EQ(run.stat("halves.copy_hits"), 1u);
    EXPECT_EQ(run.stat("halves.copy_fills"), 1u);
    EXPECT_EQ(run.stat("dram.requests"), 2u);
    EXPECT_EQ(run.stat("l2.sector_accesses"), 3u) << "each request is counted where it was served";
}

TEST(Halves, AWriteInvalidatesTheCopyOfItsHalf) {
    const MachineSpec two = halves(HalvesSpec::Far::copy);
    const Access far = around_l1(kFar), near = around_l1(kNear);
    WarpScript script;
    script.load(1, far).use(1).load(1, near).use(1).store(far).fence().load(1, near).use(1).load(1, far).use(1);
    const RunResult run = run_on(two, script);
    EXPECT_EQ(run.stat("l2.copies_invalidated"), 1u);
    EXPECT_EQ(run.stat("halves.copy_hits"), 0u);
    EXPECT_EQ(run.stat("l2.writes"), 1u);
    EXPECT_EQ(run.stat("dram.requests"), 2u) << "the line is still in its home slice";
}

/// Many reads of few lines of one slice of the other half.
std::uint64_t cycles_of_far_reads(const MachineSpec& spec, std::uint64_t& replies) {
    CtaScript cta(8);
    for (std::uint32_t w = 0; w < 8; ++w) {
        for (std::uint32_t n = 0; n < 128; ++n) cta[w].load(static_cast<std::uint16_t>(1 + n % 24), around_l1(kFar + n * 32 % 256));
    }
    ScriptedWorkload workload({cta}, 1);
    const RunResult run = run_on(spec, workload);
    replies = run.stat("halves.answered");
    EXPECT_EQ(run.stat("halves.far"), 1024u);
    return run.cycles;
}

TEST(Halves, TheLinkBoundsTheBandwidth) {
    std::uint64_t replies = 0;
    const std::uint64_t wide = cycles_of_far_reads(halves(HalvesSpec::Far::home, 64), replies);
    // A reply of 40 bytes takes five and ten cycles.
    const std::uint64_t narrow = cycles_of_far_reads(halves(HalvesSpec::Far::home, 8), replies);
    const std::uint64_t narrower = cycles_of_far_reads(halves(HalvesSpec::Far::home, 4), replies);
    EXPECT_EQ(replies, 1024u);
    EXPECT_GT(narrow, wide);
    EXPECT_GE(narrow, 5 * 1024u);
    EXPECT_GE(narrower, 10 * 1024u);
    EXPECT_LE(narrower, 11 * 1024u);
    const std::uint64_t copies = cycles_of_far_reads(halves(HalvesSpec::Far::copy, 4), replies);
    EXPECT_LT(copies, narrower);
    EXPECT_LT(replies, 1024u);
}

/// Every queue as small as it may be, everything random; all invariants are checked in every run.
TEST(Halves, NeverBlockEachOther) {
    for (const HalvesSpec::Far far : {HalvesSpec::Far::home, HalvesSpec::Far::copy}) {
        for (const char* kind : {"crossbar", "two_stage", "output_queues", "mesh"}) {
            for (const bool tiny : {false, true}) {
                MachineSpec spec = icc60_like(4);
                spec.gpu.sms_per_cluster = 2;
                spec.dram.channels = 2;
                spec.l2.slices_per_channel = 2;
                spec.l2.size_kib = 4;
                spec.l2.ways = 2;
                spec.noc.kind = kind;
                if (tiny && spec.noc.kind != "mesh") spec = with_tiny_buffers(spec);
                auto& section = spec.section<HalvesSpec>();
                section.on = true;
                section.far = far;
                section.queue = tiny ? 2 : 16;
                section.bytes_per_cycle = tiny ? 8 : 64;
                spec.section<RequestCoalescerSpec>().on = tiny;
                spec.section<RequestCoalescerSpec>().entries = 5;
                const RunResult run = run_mixed(valid(spec));
                EXPECT_GT(run.stat("halves.near"), 0u) << kind;
                EXPECT_GT(run.stat("halves.answered"), 0u) << kind;
                EXPECT_EQ(run.stat("halves.copy_hits") > 0, far == HalvesSpec::Far::copy) << kind;
            }
        }
    }
}

TEST(Halves, AreRefusedWhereTheyCannotBe) {
    const auto problem = [](auto&& change) {
        MachineSpec spec = halves(HalvesSpec::Far::home);
        change(spec);
        const std::vector<SpecProblem> problems = check(spec);
        return problems.empty() ? std::string() : problems.front().text;
    };
    EXPECT_NE(problem([](MachineSpec& s) { s.dram.channels = 7; }).find("make dram.channels even"), std::string::npos);
    EXPECT_NE(problem([](MachineSpec& s) { s.gpu.clusters = 1; }).find("gpu.clusters"), std::string::npos);
    EXPECT_NE(problem([](MachineSpec& s) { s.l2.enabled = false; }).find("set l2.enabled = true"), std::string::npos);
    MachineSpec nodes = decoupled(4, 2, 1400);
    nodes.section<HalvesSpec>().on = true;
    ASSERT_FALSE(check(nodes).empty());
    EXPECT_NE(check(nodes).front().text.find("switch off the fabric"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
