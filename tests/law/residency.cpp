// SPDX-License-Identifier: MIT
// Law: with l2.residency, a stream with evict_first leaves a resident set in place, lines with evict_last survive a normal stream up to
// their share of the ways, and an access with evict_unchanged leaves the order as it is. Without hints nothing changes, and without
// l2.residency hints change nothing.
#include <gtest/gtest.h>

#include "l2/halves_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "l2/residency_spec.hpp"
#include "machines.hpp"
#include "ptx_helpers.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kLines = 384;  ///< of the L2

/// Two slices of 8 sets and 24 ways.
MachineSpec machine(bool residency, std::uint32_t share = 75) {
    MachineSpec spec = v100_like();
    spec.gpu.clusters = 4;
    spec.dram.channels = 1;
    spec.l2.size_kib = 24;
    spec.l2.set_hash = spec.l2.slice_hash = "plain";
    auto& section = spec.section<ResidencySpec>();
    section.on = residency;
    section.evict_last_share = share;
    return valid(spec);
}

class Script {
public:
    /// Loads so many lines from `base` on, one after the other, past the L1.
    Script& read(Addr base, std::uint32_t lines, L2Hint hint = {}) {
        for (std::uint32_t n = 0; n < lines; ++n) script_.load(1, access(base + n * 128u, hint)).use(1);
        return *this;
    }
    Script& write(Addr base, std::uint32_t lines, L2Hint hint = {}) {
        for (std::uint32_t n = 0; n < lines; ++n) script_.store(access(base + n * 128u, hint));
        return *this;
    }
    RunResult run(const MachineSpec& spec) const { return run_on(spec, script_); }

private:
    static Access access(Addr address, L2Hint hint) {
        Access access;
        access.lanes = affine(address);
        access.bypass_l1 = true;
        access.l2_hint = hint;
        return access;
    }
    WarpScript script_;
};

constexpr Addr kTable = 0x100000, kStream = 0x800000;
constexpr L2Hint kFirst = L2Hint::of(L2Priority::first), kLast = L2Hint::of(L2Priority::last);

/// A table of a third of the L2, read again after each of four streams of twice the L2.
Script table_and_streams(L2Hint table, L2Hint stream) {
    Script script;
    for (std::uint32_t pass = 0; pass < 4; ++pass)
        script.read(kTable, kLines / 3, table).read(kStream + pass * 0x100000u, 2 * kLines, stream);
    script.read(kTable, kLines / 3, table);
    return script;
}
constexpr std::uint64_t kTableSectors = 4 * kLines / 3;

TEST(Residency, AStreamWithEvictFirstLeavesATableInPlace) {
    EXPECT_EQ(table_and_streams({}, {}).run(machine(true)).stat("l2.sector_hits"), 0u) << "least recently used: nothing survives";
    const RunResult run = table_and_streams({}, kFirst).run(machine(true));
    EXPECT_EQ(run.stat("residency.normal_hits"), 4 * kTableSectors);
    EXPECT_EQ(run.stat("residency.evict_first_hits"), 0u);
    EXPECT_EQ(run.stat("residency.normal_evictions"), 0u);
    EXPECT_EQ(run.stat("residency.evict_first_accesses"), 4u * 4 * 2 * kLines);
}

TEST(Residency, LinesWithEvictLastSurviveANormalStream) {
    const RunResult run = table_and_streams(kLast, {}).run(machine(true));
    EXPECT_EQ(run.stat("residency.evict_last_hits"), 4 * kTableSectors);
    EXPECT_EQ(run.stat("residency.evict_last_evictions"), 0u);
    EXPECT_EQ(run.stat("residency.demotions"), 0u);
    EXPECT_EQ(table_and_streams(kLast, {}).run(machine(true, 0)).stat("l2.sector_hits"), 0u) << "no way may hold them";
}

TEST(Residency, TheirShareOfTheWaysIsLimited) {
    // All of the L2 with evict_last, then a stream: 75 % of 24 ways, 18 of each set, survive. They are the last ones.
    Script script;
    script.read(kTable, kLines, kLast).read(kStream, 2 * kLines);
    const std::uint32_t kept = kLines * 18 / 24;
    const RunResult run = Script(script).read(kTable + (kLines - kept) * 128u, kept).run(machine(true));
    EXPECT_EQ(run.stat("residency.normal_hits"), 4u * kept);
    EXPECT_EQ(run.stat("residency.demotions"), kLines - kept);
    EXPECT_EQ(Script(script).read(kTable, kLines - kept).run(machine(true)).stat("l2.sector_hits"), 0u);
}

TEST(Residency, TheLastAccessSaysThePriority) {
    Script script;
    script.read(kTable, 16, kLast).read(kTable, 16).read(kStream, 2 * kLines).read(kTable, 16);
    EXPECT_EQ(script.run(machine(true)).stat("residency.normal_hits"), 4u * 16) << "only the second access";
    Script stores;
    stores.write(kTable, 16, kLast).read(kStream, 2 * kLines).read(kTable, 16, kLast);
    const RunResult run = stores.run(machine(true));
    EXPECT_EQ(run.stat("residency.evict_last_hits"), 4u * 16) << "stores carry it, too";
}

TEST(Residency, UnchangedKeepsTheOrder) {
    // The set is full of lines 0 to 23, line 0 next; a use would save it.
    const std::uint32_t stride = 2 * 8 * 128;  // of one set of one slice, with chunks of 256 bytes
    const auto last_of = [&](L2Hint hint) {
        Script script;
        for (std::uint32_t n = 0; n < 24; ++n) script.read(kTable + n * stride, 1);
        script.read(kTable, 1, hint).read(kTable + 24 * stride, 1).read(kTable, 1);
        return script.run(machine(true)).stat("l2.sector_hits");
    };
    EXPECT_EQ(last_of({}), 8u);
    EXPECT_EQ(last_of(L2Hint::of(L2Priority::unchanged)), 4u);
}

TEST(Residency, NothingChangesWithoutHintsOrWithoutTheKey) {
    const RunResult off = table_and_streams({}, {}).run(machine(false));
    EXPECT_EQ(table_and_streams(kLast, kFirst).run(machine(false)).digest, off.digest);
    const RunResult on = table_and_streams({}, {}).run(machine(true));
    EXPECT_EQ(on.cycles, off.cycles);
    for (const char* name : {"l2.sector_hits", "l2.sector_misses", "l2.writebacks", "dram.requests"})
        EXPECT_EQ(on.stat(name), off.stat(name)) << name;
    // Ranks keep the order of every policy.
    for (const char* policy : {"lru", "fifo"}) {
        MachineSpec without = machine(false), with = machine(true);
        without.l2.replacement = with.l2.replacement = policy;
        EXPECT_EQ(table_and_streams({}, {}).run(with).cycles, table_and_streams({}, {}).run(without).cycles) << policy;
    }
}

TEST(Residency, PrioritiesPassEverythingOnTheWay) {
    MachineSpec spec = machine(true);
    spec.dram.channels = 2;
    spec.gpu.clusters = 2;
    for (const HalvesSpec::Far far : {HalvesSpec::Far::home, HalvesSpec::Far::copy}) {
        spec.section<HalvesSpec>().on = true;
        spec.section<HalvesSpec>().far = far;
        spec.section<RequestCoalescerSpec>().on = true;
        const RunResult run = table_and_streams(kLast, kFirst).run(valid(spec));
        EXPECT_GT(run.stat("halves.far"), 0u);
        EXPECT_EQ(run.stat("residency.evict_last_hits"), 4 * kTableSectors);
        EXPECT_EQ(run.stat("residency.normal_accesses"), 0u);
    }
}

TEST(Residency, AFractionOfTheLinesIsChosenByTheirAddresses) {
    const L2Hint half = L2Hint::of(L2Priority::last, 8, true);
    std::uint32_t last = 0;
    for (Addr line = 0; line < 4096; ++line) {
        const L2Priority priority = half.at(line * 128);
        EXPECT_EQ(priority, half.at(line * 128 + 96)) << "sectors of a line agree";
        EXPECT_NE(priority, L2Priority::normal);
        last += priority == L2Priority::last ? 1 : 0;
    }
    EXPECT_NEAR(last, 2048, 40);
    EXPECT_EQ(L2Hint::of(L2Priority::last, 8).at(0) == L2Priority::last, half.at(0) == L2Priority::last);
    EXPECT_FALSE(L2Hint::of(L2Priority::normal).any());
    for (std::uint32_t byte = 1; byte <= L2Hint::kMost; ++byte) {
        const L2Hint hint = L2Hint::from_byte(static_cast<std::uint8_t>(byte));
        if (hint.sixteenths() == L2Hint::kWhole && hint.otherwise() == L2Priority::first) continue;  // of() never makes these
        EXPECT_EQ(L2Hint::of(hint.priority(), hint.sixteenths(), hint.otherwise() == L2Priority::first), hint);
    }
}

/// A PTX program for sm_80: CTAs read a table through a cache policy, and stream through an array with evict_first.
constexpr const char* kProgram = R"(
.version 7.4
.target sm_80
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 stream, .param .u64 out)
{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .b64 %x<12>;
    ld.param.u64 %x1, [table];
    ld.param.u64 %x2, [stream];
    ld.param.u64 %x3, [out];
    createpolicy.fractional.L2::evict_last.b64 %x4, 1.0;
    createpolicy.fractional.L2::evict_first.b64 %x5;
    mov.b64 %x6, %x5;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %x7, %r1, 4;
    add.s64 %x1, %x1, %x7;
    add.s64 %x2, %x2, %x7;
    add.s64 %x3, %x3, %x7;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
PASS:
    mov.u32 %r4, 0;
    mov.b64 %x8, %x1;
TABLE:
    ld.global.cg.L2::cache_hint.u32 %r5, [%x8], %x4;
    add.u32 %r2, %r2, %r5;
    add.s64 %x8, %x8, 1024;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 16;
    @%p1 bra TABLE;
    mov.u32 %r4, 0;
STREAM:
    ld.global.cg.L2::cache_hint.u32 %r5, [%x2], %x6;
    add.u32 %r2, %r2, %r5;
    add.s64 %x2, %x2, 1024;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 96;
    @%p1 bra STREAM;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 3;
    @%p1 bra PASS;
    st.global.cs.u32 [%x3], %r2;
    ret;
}
)";

RunResult run_program(const MachineSpec& spec, std::uint32_t threads = 1) {
    ptx::TestDevice device(kProgram);
    device.record = true;
    const Addr table = device.zeros<std::uint32_t>(16 * 256), stream = device.zeros<std::uint32_t>(3 * 96 * 256);
    const auto kernel = device.run("k", {1}, {256}, table, stream, device.zeros<std::uint32_t>(256));
    OneKernel workload(*kernel);
    RunOptions options;
    options.threads = threads;
    return run_on(spec, workload, options);
}

TEST(Residency, APtxProgramKeepsItsTable) {
    const RunResult off = run_program(machine(false)), on = run_program(machine(true));
    EXPECT_EQ(off.stat("l2.sector_hits"), 0u);
    EXPECT_EQ(on.stat("residency.evict_last_hits"), 2u * 16 * 32) << "16 KiB, in the second and third pass";
    EXPECT_EQ(on.stat("residency.evict_first_accesses"), 3u * 96 * 32 + 32) << "the stream and the store with .cs";
    EXPECT_LT(on.cycles, off.cycles);
    EXPECT_LT(on.stat("dram.requests"), off.stat("dram.requests"));
    for (const std::uint32_t threads : {2u, 4u}) EXPECT_EQ(run_program(machine(true), threads).digest, on.digest) << threads;
}

}  // namespace
}  // namespace mergelane::testing
