// SPDX-License-Identifier: MIT
// What device code asks of its runtime: printing, assertions, a heap, a clock, and barriers of the whole grid.
#include <gtest/gtest.h>

#include "ptx_helpers.hpp"
#include "workload/ptx/print_format.hpp"

using namespace mergelane;
using namespace mergelane::ptx;

namespace {

constexpr const char* kHead = R"(.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 list);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.extern .func (.param .b64 result) malloc (.param .b64 bytes);
.extern .func free (.param .b64 pointer);
.global .align 1 .b8 text[9] = {116, 37, 100, 32, 37, 108, 108, 100, 10};
)";

std::string kernel(const std::string& body) {
    return kHead + std::string(R"(.visible .entry k(.param .u64 out) {
    .local .align 8 .b8 list[16];
    .reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %x<19>;
    ld.param.u64 %x1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %x2, %r1, 8, %x1;
)") + body +
           "\n ret; }\n";
}

constexpr const char* kMalloc = R"({ .param .b64 a; .param .b64 b; st.param.b64 [a], %x3; call (b), malloc, (a); ld.param.b64 %x4, [b]; })";
constexpr const char* kFree = R"({ .param .b64 a; st.param.b64 [a], %x4; call free, (a); })";

/// The text that a format makes of arguments in memory.
std::string printed(std::string_view format, std::vector<std::uint64_t> values) {
    std::size_t next = 0;
    PrintArguments arguments;
    arguments.next = [&](std::uint32_t bytes) { return next < values.size() ? values[next++] & (bytes == 8 ? ~0ull : 0xFFFFFFFFull) : 0; };
    arguments.text_at = [](Addr at) { return at == 7 ? std::string("seven") : std::string("other"); };
    return format_print(format, arguments).text;
}

}  // namespace

TEST(PtxServices, PrintsLaneAfterLaneInTheOrderOfExecution) {
    TestDevice device(kernel(R"(
        mov.u64 %x5, list; cvta.local.u64 %x6, %x5; st.local.u32 [%x5], %r1; cvt.u64.u32 %x7, %r1; neg.s64 %x7, %x7; st.local.u64 [%x5+8], %x7;
        mov.u64 %x8, text; cvta.global.u64 %x8, %x8; setp.gt.u32 %p1, %r1, 32; @%p1 bra done;
        { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %x8; st.param.b64 [b], %x6; call (c), vprintf, (a, b); ld.param.b32 %r2, [c]; }
        cvt.u64.u32 %x9, %r2; st.global.u64 [%x2], %x9;
        done:)"));
    std::string text;
    device.options.print = [&](std::string_view more) { text += more; };
    const Addr out = device.zeros<std::uint64_t>(64);
    device.run("k", {1}, {40}, out);
    EXPECT_EQ(device.get<std::uint64_t>(out, 1)[0], 2u);
    std::string expected;
    for (int t = 0; t < 33; ++t) expected += "t" + std::to_string(t) + " " + std::to_string(-t) + "\n";
    EXPECT_EQ(text, expected);
    device.options.print = {};  // nobody listens
    device.run("k", {1}, {40}, out);
    EXPECT_EQ(device.get<std::uint64_t>(out, 1)[0], 0u);
}

TEST(PtxServices, FormatsAsPrintfDoes) {
    EXPECT_EQ(printed("%d|%5d|%-5d|%05u|%+d", {1, 0xFFFFFFFE, 3, 4, 5}), "1|   -2|3    |00004|+5");
    EXPECT_EQ(printed("%x %X %o %#x %llx %hhd %hu", {255, 255, 8, 255, 1ull << 40, 0x1FF, 0x1FFFF}), "ff FF 10 0xff 10000000000 -1 65535");
    EXPECT_EQ(printed("%f %.2f %8.1e %g", {0x3FF8000000000000, 0x3FF8000000000000, 0x4024000000000000, 0x3FE0000000000000}),
              "1.500000 1.50  1.0e+01 0.5");
    EXPECT_EQ(printed("%s,%8s,%c,%p,%%", {7, 1, 'z', 0x1234}), "seven,   other,z,0x1234,%");
    EXPECT_EQ(printed("%*d|%-*d|%.*f", {4, 7, 4, 7, 1, 0x3FF8000000000000}), "   7|7   |1.5");
    EXPECT_EQ(printed("%y %", {}), "%y %");
    EXPECT_EQ(printed("%999999999d", {1}).size(), 4096u);  // a kernel cannot exhaust memory by one conversion
}

TEST(PtxServices, AFailedAssertionNamesItsThreadsAndEndsTheLaunch) {
    TestDevice device(kernel(R"(
        setp.lt.u32 %p1, %r1, 2; @%p1 bra fine; mov.u64 %x8, text; cvta.global.u64 %x8, %x8; mov.u32 %r3, 17;
        { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %x8; st.param.b64 [b], %x8;
          st.param.b32 [c], %r3; st.param.b64 [d], %x8; st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); }
        fine: bar.sync 0; st.global.u64 [%x2], 5;)"));
    const Addr out = device.zeros<std::uint64_t>(64);
    try {
        device.run("k", {5}, {4}, out);
        FAIL();
    } catch (const KernelFault& fault) {
        const std::string text = fault.what();
        EXPECT_EQ(fault.kind, KernelFault::Kind::assertion);
        EXPECT_NE(text.find("block: [0,0,0], thread: [2,0,0] Assertion `"), std::string::npos) << text;
        EXPECT_NE(text.find("thread: [3,0,0]"), std::string::npos);
        EXPECT_EQ(text.find("block: [1,0,0]"), std::string::npos);
    }
    EXPECT_EQ(device.get<std::uint64_t>(out, 4), (std::vector<std::uint64_t>{5, 5, 0, 0}));
}

TEST(PtxServices, TrapEndsTheLaunchWhereItIsExecuted) {
    TestDevice device(kernel("setp.ne.u32 %p1, %r1, 3; @%p1 bra fine; trap; fine:"));
    const Addr out = device.zeros<std::uint64_t>(64);
    device.run("k", {2}, {3}, out);
    EXPECT_THROW(device.run("k", {2}, {4}, out), KernelFault);
}

TEST(PtxServices, AllocatesFirstFitAndReturnsNullWhenTheHeapIsExhausted) {
    TestDevice device(kernel(std::string("mov.u64 %x3, 1000; ") + kMalloc +
                             " st.global.u64 [%x2], %x4; setp.gt.u32 %p1, %r1, 1; @%p1 bra done; " + kFree + " done:"));
    device.memory.heap().set_bytes(4096);
    const Addr out = device.zeros<std::uint64_t>(64);
    device.run("k", {1}, {6}, out);
    auto got = device.get<std::uint64_t>(out, 6);
    for (int t = 1; t < 4; ++t) EXPECT_EQ(got[t], got[0] + 1008u * static_cast<unsigned>(t));
    EXPECT_EQ(got[4], 0u);
    EXPECT_EQ(got[5], 0u);
    const Addr first = got[0];
    device.run("k", {1}, {2}, out);  // what two lanes freed is one piece again
    got = device.get<std::uint64_t>(out, 2);
    EXPECT_EQ(got[0], first);
    EXPECT_EQ(got[1], first + 1008);
    device.memory.heap().set_bytes(1 << 20);
    EXPECT_EQ(device.memory.heap().bytes(), 4096u);
    TestDevice wrong(kernel(std::string("mov.u64 %x4, 12345; ") + kFree));
    EXPECT_THROW(wrong.run("k", {1}, {1}, out), InputError);
}

TEST(PtxServices, TheClockAdvancesSoThatWaitingForItEnds) {
    TestDevice device(kernel(R"(
        mov.u64 %x5, %clock64;
        again: mov.u64 %x6, %clock64; sub.s64 %x7, %x6, %x5; setp.lt.s64 %p1, %x7, 5000; @%p1 bra again;
        st.global.u64 [%x2], %x7;)"));
    const Addr out = device.zeros<std::uint64_t>(64);
    device.run("k", {2}, {32}, out);
    const std::uint64_t waited = device.get<std::uint64_t>(out, 1)[0];
    EXPECT_GE(waited, 5000u);
    EXPECT_LT(waited, 6000u);
    device.run("k", {2}, {32}, out);
    EXPECT_EQ(device.get<std::uint64_t>(out, 1)[0], waited);
}

TEST(PtxServices, ACooperativeLaunchHasABarrierForAllCtas) {
    TestDevice device(kernel(R"(
        mov.u32 %r2, %envreg1; mov.u32 %r3, %envreg2; cvt.u64.u32 %x5, %r2; cvt.u64.u32 %x6, %r3; shl.b64 %x5, %x5, 32; or.b64 %x5, %x5, %x6;
        setp.eq.s64 %p1, %x5, 0; @%p1 trap; mov.u32 %r6, %nctaid.x;
        atom.add.release.gpu.u32 %r4, [%x5+4], 1;
        again: ld.acquire.gpu.u32 %r5, [%x5+4]; setp.lt.u32 %p2, %r5, %r6; @%p2 bra again;
        cvt.u64.u32 %x7, %r5; mov.u32 %r7, %ctaid.x; mad.wide.u32 %x8, %r7, 8, %x1; st.global.u64 [%x8], %x7;)"));
    const Addr out = device.zeros<std::uint64_t>(64);
    const std::vector<std::byte> params = device.module->pack("k", {Argument{&out, sizeof out}});
    const auto launch = [&] { execute(*device.module, "k", {{20}, {1}, 0, true}, params, device.memory, {}, false); };
    launch();
    const std::uint64_t used = device.memory.used();
    launch();
    EXPECT_EQ(device.get<std::uint64_t>(out, 20), std::vector<std::uint64_t>(20, 20));
    EXPECT_EQ(device.memory.used(), used);
    EXPECT_THROW(device.run("k", {20}, {1}, out), KernelFault);  // an ordinary launch has none
}

TEST(PtxServices, CallsThatDoNotFitAreRefused) {
    for (const char* body :
         {"{ .param .b64 a; call free, (); }", "{ .param .b32 a; call free, (a); }", "{ .param .b64 a; call unknown, (a); }"}) {
        TestDevice device(kernel(body));
        const Addr out = device.zeros<std::uint64_t>(64);
        EXPECT_THROW(device.run("k", {1}, {1}, out), InputError) << body;
    }
}
