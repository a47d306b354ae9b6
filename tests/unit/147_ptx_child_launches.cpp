// SPDX-License-Identifier: MIT
// Kernels that launch kernels, and loads and stores that share the look at their address register.
#include <gtest/gtest.h>

#include "ptx_helpers.hpp"

using namespace mergelane;
using namespace mergelane::ptx;

namespace {

constexpr const char* kHead = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2 (.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2 (.param .b64 p, .param .b64 s);
)";

/// log[n] = value, where n counts the entries in the first word.
constexpr const char* kNote = R"(.visible .entry note(.param .u64 log, .param .u32 value) {
    .reg .b32 %r<9>; .reg .b64 %x<9>;
    ld.param.u64 %x1, [log]; ld.param.u32 %r1, [value]; atom.global.add.u32 %r2, [%x1], 1; mad.wide.u32 %x2, %r2, 4, %x1; st.global.u32 [%x2+4], %r1;
    ret; }
)";

/// Launches `kernel` of one CTA of one thread with (log, value) into the stream.
std::string launching(const std::string& kernel, int value, int stream, const std::string& grid = "1") {
    return "{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r; mov.u64 %x3, " + kernel +
           "; st.param.b64 [f], %x3; st.param.b32 [g], " + grid +
           "; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1; st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;"
           " st.param.b32 [s], 0; call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s); ld.param.b64 %x4, [r]; }\n"
           "st.u64 [%x4], %x1; st.u32 [%x4+8], " +
           std::to_string(value) + "; { .param .b64 p; .param .b64 s; .param .b32 r; st.param.b64 [p], %x4; st.param.b64 [s], " +
           std::to_string(stream) + "; call (r), __cudaCDP2LaunchDeviceV2, (p, s); ld.param.b32 %r5, [r]; }\n";
}
std::string entry(const std::string& name, const std::string& body) {
    return ".visible .entry " + name +
           "(.param .u64 log, .param .u32 value) {\n.reg .b32 %r<9>; .reg .b64 %x<9>;\nld.param.u64 %x1, [log];\n" + body + "ret; }\n";
}
std::vector<std::uint32_t> logged(TestDevice& device) {
    const Addr log = device.zeros<std::uint32_t>(64);
    device.run("top", {1}, {1}, log, std::uint32_t{0});
    const auto all = device.get<std::uint32_t>(log, 64);
    return {all.begin() + 1, all.begin() + 1 + all[0]};
}

}  // namespace

TEST(PtxChildLaunches, ChildrenExecuteAfterTheirParentInOrderAndTheTailLast) {
    TestDevice device(kHead + std::string(kNote) + entry("middle", launching("note", 3, 0) + launching("note", 4, 0)) +
                      entry("top", launching("note", 9, 3) + launching("note", 2, 0) + launching("middle", 0, 256) +
                                       launching("note", 5, 4) +
                                       "mov.u32 %r1, 1; atom.global.add.u32 %r2, [%x1], 1; st.global.u32 [%x1+4], 1;\n"));
    const std::uint64_t used = device.memory.used();
    EXPECT_EQ(logged(device), (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 9}));
    EXPECT_LE(device.memory.used(), used + 2048);  // the log stays, the parameters do not
}

TEST(PtxChildLaunches, ALaunchWithoutCtasIsRefusedWithAnErrorCode) {
    TestDevice device(
        kHead + std::string(kNote) +
        entry("top", launching("note", 7, 0, "0") + "mov.u32 %r1, 1; st.global.u32 [%x1], %r1; st.global.u32 [%x1+4], %r5;\n"));
    EXPECT_EQ(logged(device), std::vector<std::uint32_t>{9});  // cudaErrorInvalidConfiguration
}

TEST(PtxChildLaunches, EndlessLaunchesEndAtTheBudget) {
    TestDevice device(kHead + entry("top", launching("top", 0, 3)));
    device.options.budget = 100000;
    EXPECT_THROW(logged(device), InputError);
}

TEST(PtxChildLaunches, WhatIsNoKernelCannotBeLaunched) {
    TestDevice device(kHead + std::string(".func f() { ret; }\n") + entry("top", launching("f", 0, 0)));
    EXPECT_THROW(logged(device), InputError);
}

TEST(PtxChildLaunches, TheyHaveNoTiming) {
    TestDevice device(kHead + std::string(kNote) + entry("top", launching("note", 1, 0)));
    device.record = true;
    EXPECT_THROW(logged(device), InputError);
}

TEST(PtxSharedSpacing, ARegisterThatChangesBetweenAccessesIsLookedAtAgain) {
    TestDevice device(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %x<9>; .shared .align 4 .b8 s[256];
    ld.param.u64 %x1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %x2, %r1, 4; add.u64 %x3, %x1, %x2;
    shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1; st.shared.u32 [%r2+128], %r2;
    bar.sync 0;
    ld.shared.u32 %r4, [%r2]; xor.b32 %r2, %r2, 124; ld.shared.u32 %r5, [%r2]; st.global.u32 [%x3], %r4; st.global.u32 [%x3+128], %r5;
    ld.global.u64 %x3, [%x1+256]; st.global.u32 [%x3], %r1;
    ret; })");
    const Addr last = device.zeros<std::uint32_t>(1);
    std::vector<std::uint64_t> init(33);
    init[32] = last;
    const Addr out = device.put(init);
    device.run("k", {1}, {32}, out);
    const auto got = device.get<std::uint32_t>(out, 64);
    for (std::uint32_t t = 0; t < 32; ++t) {
        EXPECT_EQ(got[t], t);
        EXPECT_EQ(got[32 + t], t ^ 31);
    }
    EXPECT_EQ(device.get<std::uint32_t>(last, 1)[0], 31u);  // all lanes at one place: the last one stays
}

TEST(PtxSharedSpacing, AddressesThatWrapStayInside) {
    // 31 times this stride is 4 modulo 2^64: the outermost lanes are inside, the others are not.
    TestDevice device(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 stride) {
    .reg .b32 %r<9>; .reg .b64 %x<9>;
    ld.param.u64 %x1, [out]; ld.param.u64 %x2, [stride]; mov.u32 %r1, %tid.x; cvt.u64.u32 %x3, %r1; mad.lo.u64 %x4, %x3, %x2, %x1;
    ld.global.u32 %r2, [%x4]; st.global.u32 [%x4], %r1;
    ret; })");
    std::uint64_t inverse = 1;
    for (int k = 0; k < 7; ++k) inverse *= 2 - 31 * inverse;
    const Addr out = device.zeros<std::uint32_t>(2);
    device.run("k", {1}, {32}, out, inverse * 4);
    EXPECT_EQ(device.get<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{0, 31}));
    EXPECT_FALSE(device.memory.warnings().empty());
}
