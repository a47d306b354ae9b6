// SPDX-License-Identifier: MIT
// Modifiers that an opcode does not understand are refused by name; what has no effect is accepted; shuffles from lanes that do not take
// part; clusters; reserved shared memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "ptx_helpers.hpp"
#include "workload/record/recorded_kernel.hpp"

namespace mergelane::ptx {
namespace {

using u32 = std::uint32_t;

std::string kernel(const std::string& body, const std::string& directives = "") {
    return fmt::format(R"(
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 to) {}
{{
    .reg .pred %p<9>;
    .reg .b16 %h<9>;
    .reg .b32 %r<19>;
    .reg .f32 %f<9>;
    .reg .b64 %x<9>;
    ld.param.u64 %x1, [to];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %x1, %r1, 4, %x1;
    {}
    st.global.u32 [%x1], %r2;
    ret;
}}
)",
                       directives, body);
}
/// What threads 0 to 63 leave behind in %r2.
std::vector<u32> results(const std::string& text) {
    TestDevice device(text);
    const Addr to = device.zeros<u32>(64);
    device.run("k", {1}, {64}, to);
    return device.get<u32>(to, 64);
}
std::string refusal(const std::string& text) {
    try {
        results(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(PtxModifiers, UnknownOnesAreRefusedByName) {
    const std::pair<const char*, const char*> forms[] = {
        {"add.wide.u32 %r2, %r1, %r1;", "wide"},
        {"add.relu.f32 %f1, %f2, %f3;", "relu"},
        {"mov.volatile.u32 %r2, %r1;", "volatile"},
        {"ld.global.L3::evict.u32 %r2, [%x1];", "L3::evict"},
        {"st.global.acquire.gpu.u32 [%x1], %r2;", "acquire"},
        {"shfl.sync.left.b32 %r2, %r1, 1, 31, -1;", "left"},
        {"redux.sync.mul.u32 %r2, %r1, -1;", "mul"},
        {"bar.cluster.arrive;", "cluster"},
        {"ld.async.shared.u32 %r2, [%r1];", "async"},
        {"bra.likely END; END:", "likely"},
    };
    for (const auto& [code, modifier] : forms) {
        const std::string text = refusal(kernel(code));
        EXPECT_NE(text.find(fmt::format("modifier '{}'", modifier)), std::string::npos) << code << ": " << text;
        EXPECT_NE(text.find("test.ptx:15:"), std::string::npos) << text;
    }
}

TEST(PtxModifiers, WhatHasNoEffectIsAccepted) {
    for (const char* code :
         {"griddepcontrol.wait;", "griddepcontrol.launch_dependents;", "fence.proxy.async.global;", "fence.acq_rel.gpu;",
          "fence.mbarrier_init.release.cluster;", "membar.gl;", "nanosleep.u32 20;", "prefetch.global.L2 [%x1];", "bar.warp.sync -1;"}) {
        EXPECT_EQ(refusal(kernel(code)), "accepted") << code;
    }
    EXPECT_EQ(results(kernel("st.global.u32 [%x1], %r1; ld.global.L1::evict_last.L2::128B.u32 {%r2}, [%x1];"))[5], 5u);
}

TEST(PtxModifiers, CachePolicies) {
    EXPECT_EQ(
        results(kernel("st.global.L1::no_allocate.L2::cache_hint.u32 [%x1], %r1, %x2; createpolicy.fractional.L2::evict_last.b64 %x2, "
                       "1.0; ld.global.nc.L2::cache_hint.L2::256B.u32 %r2, [%x1], %x2;"))[7],
        7u);
    EXPECT_NE(refusal(kernel("ld.global.u32 %r2, [%x1], %x2;")).find("operands"), std::string::npos);
    EXPECT_EQ(
        refusal(kernel("createpolicy.range.global.L2::evict_last.b64 %x2, [%x1], 4096, 8192; prefetch.global.L2::evict_last [%x1]; "
                       "applypriority.global.L2::evict_normal [%x1], 128; discard.global.L2 [%x1], 128; setmaxnreg.inc.sync.aligned.u32 "
                       "240; pmevent.mask 3;")),
        "accepted");
}

/// The L2 hint of the last load of the kernel, or of its store if it has no load.
L2Hint hint_of(const std::string& body) {
    TestDevice device(kernel(body));
    device.record = true;
    const auto run = device.run("k", {1}, {32}, device.zeros<u32>(64));
    L2Hint hint;
    for (const StaticInst& inst : static_cast<const record::RecordedKernel&>(*run).instructions()) {
        if (inst.op == OpClass::load) hint = inst.l2_hint;
        EXPECT_FALSE(inst.op == OpClass::store && inst.l2_hint.any());
    }
    return hint;
}

TEST(PtxModifiers, L2EvictionPriorities) {
    const std::string use = " ld.global.L2::cache_hint.u32 %r2, [%x1], %x2;";
    const auto made_by = [&](const std::string& maker) { return hint_of(maker + use); };
    constexpr L2Hint kFirst = L2Hint::of(L2Priority::first), kLast = L2Hint::of(L2Priority::last);
    EXPECT_EQ(hint_of("ld.global.u32 %r2, [%x1];"), L2Hint{});
    EXPECT_EQ(hint_of("ld.global.L1::evict_last.u32 %r2, [%x1];"), L2Hint{});
    EXPECT_EQ(hint_of("ld.global.cs.u32 %r2, [%x1];"), kFirst);
    EXPECT_EQ(hint_of("ld.global.L1::evict_first.L2::evict_last.u32 %r2, [%x1];"), kLast);
    EXPECT_EQ(made_by("createpolicy.fractional.L2::evict_first.b64 %x2;"), kFirst);
    EXPECT_EQ(made_by("createpolicy.fractional.L2::evict_last.b64 %x3, 1.0; mov.b64 %x2, %x3;"), kLast);
    EXPECT_EQ(made_by("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %x2, 0.25;"), L2Hint::of(L2Priority::last, 4, true));
    EXPECT_EQ(made_by("mov.f32 %f1, 0f3F000000; createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %x2, %f1;"),
              L2Hint::of(L2Priority::last, 8));
    EXPECT_EQ(made_by("mov.b64 %x2, 0x14F0000000000000;"), kLast);
    EXPECT_EQ(hint_of("ld.global.L2::cache_hint.u32 %r2, [%x1], 0x12F0000000000000;"), kFirst);
    // Policies that are not known, or not everywhere the same, are no hints.
    EXPECT_EQ(made_by("mov.b64 %x2, 5;"), L2Hint{});
    EXPECT_EQ(made_by("ld.global.b64 %x2, [%x1];"), L2Hint{});
    EXPECT_EQ(made_by("createpolicy.range.global.L2::evict_last.b64 %x2, [%x1], 4096, 8192;"), L2Hint{});
    EXPECT_EQ(made_by("createpolicy.fractional.L2::evict_first.b64 %x2; createpolicy.fractional.L2::evict_last.b64 %x2;"), L2Hint{});
    EXPECT_EQ(made_by("mov.b64 %x3, %x2; mov.b64 %x2, %x3;"), L2Hint{}) << "moves in a circle";
}

TEST(PtxModifiers, WideAccesses) {
    // 256 bits of a thread, through vectors of eight and of four and 128-bit registers.
    TestDevice device(R"(
.version 9.0
.target sm_100
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<9>; .reg .b64 %x<9>; .reg .b128 %q<4>;
    ld.param.u64 %x1, [from]; ld.param.u64 %x2, [to];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %x1, %r0, 32, %x1; mad.wide.u32 %x2, %r0, 32, %x2;
    ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%x1];
    st.global.v8.b32 [%x2], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};
    ld.global.b128 %q0, [%x2+16];
    ld.global.v4.b64 {%x3, %x4, %x5, %x6}, [%x2];
    st.global.b128 [%x2], %q0;
    mov.b128 %q1, {%x3, %x4};
    atom.global.exch.b128 %q2, [%x2+16], %q1;
    atom.global.cas.b128 %q3, [%x2+16], %q1, %q0;
    st.global.v2.b64 [%x1], {%x5, %x6};
    st.global.b128 [%x1+16], %q3;
    ret;
}
)");
    std::vector<u32> values(64 * 8);
    for (u32 i = 0; i < values.size(); ++i) values[i] = i * 3;
    const Addr from = device.put(values), to = device.zeros<u32>(values.size());
    device.run("k", {1}, {64}, from, to);
    const auto left = device.get<u32>(from, values.size()), right = device.get<u32>(to, values.size());
    for (u32 i = 0; i < values.size(); ++i) {
        const u32 first = i / 8 * 8, k = i % 4;
        EXPECT_EQ(right[i], values[first + 3 - k]);
        EXPECT_EQ(left[i], values[first + (i % 8 < 4 ? 3 : 7) - k]);
    }
}
TEST(PtxModifiers, VectorsHaveTheElementsTheyName) {
    for (const char* code : {"ld.global.v2.u32 %r2, [%x1];", "ld.global.v4.u32 {%r2, %r3}, [%x1];", "ld.global.u32 {%r2, %r3}, [%x1];",
                             "ld.global.v8.b64 {%x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2}, [%x1];"}) {
        EXPECT_NE(refusal(kernel(code)).find("not supported"), std::string::npos) << code;
    }
    for (const char* code :
         {"{ .reg .b128 %q; mov.b128 %q, 5; }", "{ .reg .b128 %q; popc.b128 %r2, %q; }", "{ .reg .b128 %q; not.b128 %q, %q; }",
          "{ .reg .b128 %q; atom.global.add.b128 %q, [%x1], %q; }", "brev.b16 %h1, %h2;"}) {
        EXPECT_NE(refusal(kernel(code)), "accepted") << code;
    }
}

TEST(PtxModifiers, DirectivesMayStandWithoutBlanks) {
    EXPECT_EQ(results(kernel("{.reg.b32 mine; .shared.align 4 .b32 word; add.u32 mine, %r1, 1; mov.u32 %r2, mine;}"))[4], 5u);
}

TEST(PtxModifiers, HiddenLinkage) {
    EXPECT_EQ(results(".version 8.6\n.target sm_90\n.address_size 64\n.hidden .global .u32 g = 7;\n" +
                      kernel("ld.global.u32 %r2, [g];").substr(45))[0],
              7u);
}

TEST(PtxModifiers, ClustersThatDoNotFitAreRefusedAtLaunch) {
    EXPECT_NE(refusal(kernel("", ".reqnctapercluster 2, 2, 1")).find("cannot be divided into clusters of 2 x 2 x 1"), std::string::npos);
    EXPECT_NE(refusal(kernel("", ".explicitcluster")).find("must be launched with clusters"), std::string::npos);
    EXPECT_NE(refusal(kernel("", ".reqnctapercluster 0")).find("does not exist"), std::string::npos);
    EXPECT_EQ(refusal(kernel("", ".explicitcluster .reqnctapercluster 1, 1, 1")), "accepted");
    EXPECT_EQ(refusal(kernel("", ".maxntid 64 .maxclusterrank 8")), "accepted");
}

TEST(PtxModifiers, ShufflesFromLanesThatDoNotTakePartGiveZero) {
    for (const bool portable : {false, true}) {
        TestDevice device(
            kernel("add.u32 %r2, %r1, 100; setp.ge.u32 %p1, %r1, 8; @%p1 bra END;"
                   "shfl.sync.down.b32 %r2|%p2, %r2, 4, 31, 255; END:"));
        device.options.portable = portable;
        const Addr to = device.zeros<u32>(64);
        device.run("k", {1}, {64}, to);
        const auto got = device.get<u32>(to, 64);
        for (u32 i = 0; i < 64; ++i) EXPECT_EQ(got[i], i < 4 ? i + 104 : i < 8 ? 0 : i + 100);
    }
}

TEST(PtxModifiers, ReservedSharedMemoryIsApart) {
    // The reserved area is written by all threads; the variable keeps what it has.
    const auto got = results(kernel(
        ".shared .align 4 .b8 mine[256]; .shared .align 4 .b8 more[256]; shl.b32 %r3, %r1, 2; mov.u32 %r4, mine; add.u32 %r4, %r4, %r3;"
        "st.shared.u32 [%r4], %r1; bar.sync 0; mov.u32 %r5, %reserved_smem_offset_1; add.u32 %r5, %r5, %r3; st.shared.u32 [%r5], -1;"
        "bar.sync 0; ld.shared.u32 %r2, [%r4]; mov.u32 %r6, %total_smem_size; add.u32 %r2, %r2, %r6;"));
    for (u32 i = 0; i < 64; ++i) EXPECT_EQ(got[i], i + 512);
}

}  // namespace
}  // namespace mergelane::ptx
