// SPDX-License-Identifier: MIT
// Divergence and reconvergence, calls, barriers, atomics, shuffles, votes, vector accesses, generic addresses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "ptx_helpers.hpp"
#include "workload/ptx/flow.hpp"

namespace mergelane::ptx {
namespace {

std::string kernel(const std::string& body, const std::string& before = "", const std::string& params = ".param .u64 po") {
    return ".version 8.0\n.target sm_75\n.address_size 64\n" + before + "\n.visible .entry k(" + params +
           ")\n{\n.reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %x<40>; .reg .f32 %f<20>; .reg .f64 %g<20>;\n"
           "ld.param.u64 %x1, [po]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
           "mad.wide.u32 %x2, %r4, 4, %x1;\n" +
           body + "\nret;\n}\n";
}
std::vector<std::uint32_t> result(const std::string& text, std::uint32_t threads = 64, std::uint32_t quantum = 20) {
    TestDevice device(text);
    device.options.quantum = quantum;
    device.options.budget = 10'000'000;
    const Addr out = device.zeros<std::uint32_t>(threads);
    device.run("k", {1}, {threads}, out);
    return device.get<std::uint32_t>(out, threads);
}
void expect_each(const std::vector<std::uint32_t>& got, const std::function<std::uint32_t(std::uint32_t)>& want) {
    for (std::uint32_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], want(i)) << "thread " << i;
}

TEST(PtxFlow, PostDominatorsOfADiamondALoopAndAnEarlyExit) {
    EXPECT_EQ(post_dominators({{1, 2}, {3}, {3}, {kNoBlock}}), (std::vector<std::uint32_t>{3, 3, 3, kNoBlock}));
    EXPECT_EQ(post_dominators({{1}, {1, 2}, {kNoBlock}}), (std::vector<std::uint32_t>{1, 2, kNoBlock}));
    EXPECT_EQ(post_dominators({{1, 2}, {kNoBlock}, {kNoBlock}}), (std::vector<std::uint32_t>{kNoBlock, kNoBlock, kNoBlock}));
    EXPECT_EQ(post_dominators({{1}, {0}}), (std::vector<std::uint32_t>{kNoBlock, kNoBlock}));  // never ends
}

TEST(PtxControl, PathsMeetAgain) {
    // The mask after each join is seen with activemask: all lanes, not only those of the last path.
    const std::string text = kernel(R"(
        and.b32 %r5, %r1, 3; setp.eq.u32 %p1, %r5, 0; setp.eq.u32 %p2, %r5, 1;
        @%p1 bra A; @%p2 bra B;
        mov.u32 %r6, 30; bra C;
        A: mov.u32 %r6, 10; bra D;
        B: mov.u32 %r6, 20;
        C: activemask.b32 %r7;
        D: activemask.b32 %r8; setp.ne.u32 %p3, %r8, 0xffffffff; selp.u32 %r9, 1000, 0, %p3; @%p1 mov.u32 %r7, 0;
        popc.b32 %r10, %r7; mad.lo.u32 %r9, %r10, 10000, %r9; add.u32 %r9, %r9, %r6; st.global.u32 [%x2], %r9;)");
    expect_each(result(text), [](std::uint32_t i) { return i % 4 == 0 ? 10u : 240000u + (i % 4 == 1 ? 20 : 30); });
}

// Functions by number: 0 doubles and adds 1, 1 adds its argument once per unit of its lowest two bits, 2 has another prototype.
const std::string kPointed = R"(
    .func (.param .b32 r0) twice(.param .b32 a0) {
        .reg .b32 %r<4>; ld.param.u32 %r1, [a0]; mad.lo.u32 %r2, %r1, 2, 1; st.param.b32 [r0], %r2; ret; }
    .func (.param .b32 r1) often(.param .b32 a1) {
        .reg .pred %p<2>; .reg .b32 %r<6>; ld.param.u32 %r1, [a1]; and.b32 %r2, %r1, 3; mov.u32 %r3, 0;
        L: setp.eq.u32 %p1, %r2, 0; @%p1 bra E; add.u32 %r3, %r3, %r1; sub.u32 %r2, %r2, 1; bra L;
        E: st.param.b32 [r1], %r3; ret; }
    .func silent(.param .b64 a2) { ret; }
    .global .align 8 .u64 table[3] = {twice, often, silent};)";
const std::string kCallPointer = R"(
    { .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %r4;
      call (q0), %x9, (p0), proto; proto: .callprototype (.param .b32 _) _ (.param .b32 _);
      ld.param.b32 %r9, [q0]; } st.global.u32 [%x2], %r9;)";

TEST(PtxControl, CallsThroughPointersGoWhereEachLanePoints) {
    const std::string index =
        "mov.u64 %x5, table; shr.u32 %r6, %r1, 2; and.b32 %r6, %r6, 1; mad.wide.u32 %x6, %r6, 8, %x5; ld.global.u64 %x9, [%x6];";
    expect_each(result(kernel(index + kCallPointer, kPointed)), [](std::uint32_t i) { return i / 4 % 2 == 0 ? 2 * i + 1 : i % 4 * i; });
    // A pointer that an instruction takes, in some lanes only.
    const std::string some = "mov.u64 %x9, often; mov.u32 %r9, 7; setp.lt.u32 %p1, %r1, 10; @%p1 bra B;";
    expect_each(result(kernel(some + kCallPointer + " bra D; B: st.global.u32 [%x2], 7; D:", kPointed)),
                [](std::uint32_t i) { return i < 10 ? 7 : i % 4 * i; });
}

TEST(PtxControl, PointersThatLeadNowhereAreReported) {
    const auto expect_fault = [](const std::string& text, const std::string& part) {
        try {
            result(text);
            ADD_FAILURE() << "accepted: " << part;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    };
    expect_fault(kernel("mov.u64 %x9, 0;" + kCallPointer, kPointed), "the called pointer 0x0 is no function of this prototype");
    expect_fault(kernel("mov.u64 %x9, silent;" + kCallPointer, kPointed), "is no function of this prototype; check where it was set");
    expect_fault(kernel("call %x9, noproto;", kPointed), "names no .callprototype");
    const std::string itself = R"(
        .func (.param .b32 r0) loop(.param .b32 a0) {
            .reg .b32 %r<4>; .reg .b64 %x<4>; .param .b32 p1; .param .b32 q1; ld.param.u32 %r1, [a0]; st.param.b32 [p1], %r1; mov.u64 %x1, loop;
            call (q1), %x1, (p1), proto; proto: .callprototype (.param .b32 _) _ (.param .b32 _);
            ret; })";
    expect_fault(kernel("mov.u64 %x9, loop;" + kCallPointer, itself), "does a function call itself forever?");
}

// Fibonacci numbers by two calls, which keep the argument and the first result in registers, and the argument in a local variable, too.
const std::string kFibonacci = R"(
    .func (.param .b32 r0) fib(.param .b32 a0) {
        .local .align 8 .b8 kept[16]; .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %x<4>; .param .b32 p0; .param .b32 q0;
        ld.param.u32 %r1, [a0]; mov.u64 %x1, kept; st.local.u32 [%x1+4], %r1; setp.lt.u32 %p1, %r1, 2; @%p1 bra SMALL;
        sub.u32 %r2, %r1, 1; st.param.b32 [p0], %r2; call (q0), fib, (p0); ld.param.b32 %r3, [q0];
        ld.local.u32 %r4, [kept+4]; setp.ne.u32 %p1, %r4, %r1; @%p1 trap;
        sub.u32 %r2, %r4, 2; st.param.b32 [p0], %r2; call (q0), fib, (p0); ld.param.b32 %r5, [q0];
        add.u32 %r6, %r3, %r5; st.param.b32 [r0], %r6; ret;
        SMALL: st.param.b32 [r0], %r1; ret; })";
const std::string kCallFibonacci = R"(
    { .param .b32 p0; .param .b32 q0; and.b32 %r9, %r1, 15; st.param.b32 [p0], %r9; call (q0), fib, (p0); ld.param.b32 %r9, [q0]; }
    st.global.u32 [%x2], %r9;)";

TEST(PtxControl, FunctionsMayCallThemselves) {
    const auto fibonacci = [](std::uint32_t n) {
        std::uint32_t a = 0, b = 1;
        for (; n > 0; --n) a = std::exchange(b, a + b);
        return a;
    };
    expect_each(result(kernel(kCallFibonacci, kFibonacci)), [&](std::uint32_t i) { return fibonacci(i % 16); });
    expect_each(result(kernel(kCallFibonacci, kFibonacci), 64, 0), [&](std::uint32_t i) { return fibonacci(i % 16); });
}

// odd and even call each other; the pointers to a caller's variable lead to that activation's.
TEST(PtxControl, RecursionThroughOthersAndPointersToVariablesOfCallers) {
    const std::string functions = R"(
        .func even(.param .b32 n0, .param .b64 v0);
        .func odd(.param .b32 n1, .param .b64 v1) {
            .local .align 4 .b8 mine[4]; .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %x<4>; .param .b32 p0; .param .b64 p1;
            ld.param.u32 %r1, [n1]; ld.param.u64 %x1, [v1]; setp.eq.u32 %p1, %r1, 0; @%p1 ret;
            st.local.u32 [mine], 0; sub.u32 %r2, %r1, 1; cvta.local.u64 %x2, mine; mov.u64 %x3, mine; cvta.local.u64 %x2, %x3;
            st.param.b32 [p0], %r2; st.param.b64 [p1], %x2; call even, (p0, p1);
            ld.local.u32 %r3, [mine]; add.u32 %r3, %r3, %r1; st.u32 [%x1], %r3; ret; }
        .func even(.param .b32 n0, .param .b64 v0) {
            .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %x<4>; .param .b32 p0; .param .b64 p1;
            ld.param.u32 %r1, [n0]; ld.param.u64 %x1, [v0]; setp.eq.u32 %p1, %r1, 0; @%p1 ret; sub.u32 %r2, %r1, 1;
            st.param.b32 [p0], %r2; st.param.b64 [p1], %x1; call odd, (p0, p1);
            ld.u32 %r3, [%x1]; mad.lo.u32 %r3, %r3, 2, %r1; st.u32 [%x1], %r3; ret; })";
    const std::string call = R"(
        .local .align 4 .b8 sum[4]; st.local.u32 [sum], 0; mov.u64 %x5, sum; cvta.local.u64 %x6, %x5;
        { .param .b32 p0; .param .b64 p1; and.b32 %r9, %r1, 7; st.param.b32 [p0], %r9; st.param.b64 [p1], %x6; call odd, (p0, p1); }
        ld.local.u32 %r9, [sum]; st.global.u32 [%x2], %r9;)";
    const auto sum = [](const auto& self, std::uint32_t n, bool odd, std::uint32_t& to) -> void {
        if (n == 0) return;
        std::uint32_t mine = 0;
        self(self, n - 1, !odd, odd ? mine : to);
        to = odd ? mine + n : to * 2 + n;
    };
    expect_each(result(kernel(call, functions)), [&](std::uint32_t i) {
        std::uint32_t to = 0;
        sum(sum, i % 8, true, to);
        return to;
    });
}

TEST(PtxControl, EndlessRecursionIsReported) {
    for (const bool with_variables : {false, true}) {
        const std::string forever =
            std::string(".func f() { ") + (with_variables ? ".local .b8 a[1024]; st.local.u32 [a], 1; " : "") + "call f; ret; }";
        try {
            result(kernel("call f;", forever));
            ADD_FAILURE();
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(with_variables ? "more than 32 KiB" : "forever"), std::string::npos) << error.what();
        }
    }
}

TEST(PtxControl, LoopsOfDifferentLengthMeetBehindTheLoop) {
    const std::string text = kernel(R"(
        mov.u32 %r5, 0; mov.u32 %r6, 0;
        LOOP: setp.ge.u32 %p1, %r5, %r1; @%p1 bra OUT;
        and.b32 %r7, %r5, 1; setp.eq.u32 %p2, %r7, 0; @%p2 bra NEXT;
        add.u32 %r6, %r6, %r5;
        setp.gt.u32 %p3, %r6, 300; @%p3 bra OUT;
        NEXT: add.u32 %r5, %r5, 1; bra.uni LOOP;
        OUT: activemask.b32 %r8; popc.b32 %r8, %r8; mad.lo.u32 %r6, %r8, 1000, %r6; st.global.u32 [%x2], %r6;)");
    expect_each(result(text), [](std::uint32_t i) {
        std::uint32_t sum = 0;
        for (std::uint32_t k = 1; k < i && sum <= 300; k += 2) sum += k;
        return 32000 + sum;
    });
}

TEST(PtxControl, PredicatedReturnExitAndCall) {
    const std::string text = kernel(R"(
        setp.lt.u32 %p1, %r1, 5; @%p1 exit;
        setp.lt.u32 %p2, %r1, 9; mov.u32 %r5, 1; st.global.u32 [%x2], %r5; @%p2 ret;
        { .param .b32 a0; st.param.b32 [a0+0], %r1; .param .b32 r0; setp.gt.u32 %p3, %r1, 20; mov.u32 %r6, 77; st.param.b32 [r0], %r6; @%p3 call (r0), f, (a0); ld.param.b32 %r6, [r0+0]; }
        st.global.u32 [%x2], %r6;)",
                                    R"(
        .func (.param .b32 ret) f(.param .b32 v) { .reg .pred %p<3>; .reg .b32 %r<5>; ld.param.u32 %r1, [v];
            setp.gt.u32 %p1, %r1, 40; @%p1 bra BIG; add.u32 %r2, %r1, 100; st.param.b32 [ret+0], %r2; ret;
            BIG: { .param .b32 q; .param .b32 z; st.param.b32 [q], %r1; call.uni (z), g, (q); ld.param.b32 %r3, [z]; st.param.b32 [ret+0], %r3; }
            ret; }
        .func (.param .b32 ret) g(.param .b32 v) { .reg .b32 %r<5>; ld.param.u32 %r1, [v]; mul.lo.u32 %r1, %r1, 3; st.param.b32 [ret], %r1; ret; })");
    // g is declared after its use in f, as nvcc does with a prototype; here the text order is enough.
    expect_each(result(text), [](std::uint32_t i) -> std::uint32_t {
        return i < 5 ? 0 : i < 9 ? 1 : i <= 20 ? 77 : i <= 40 ? i + 100 : i * 3;
    });
}

TEST(PtxControl, TablesOfTargets) {
    const std::string text = kernel(R"(
        and.b32 %r5, %r1, 3;
        T: .branchtargets A, B, C, A;
        brx.idx %r5, T;
        A: mov.u32 %r6, 1; bra E;
        B: mov.u32 %r6, 2; bra E;
        C: mov.u32 %r6, 3;
        E: activemask.b32 %r7; popc.b32 %r7, %r7; mad.lo.u32 %r6, %r7, 100, %r6; st.global.u32 [%x2], %r6;)");
    expect_each(result(text), [](std::uint32_t i) { return 3200 + (i % 4 == 1 ? 2u : i % 4 == 2 ? 3u : 1u); });
}

TEST(PtxControl, ScopesShadowAndLabelsRepeat) {
    const std::string text = kernel(R"(
        mov.u32 %r5, 1;
        { .reg .b32 %r<9>; .reg .pred q; mov.u32 %r5, 50; setp.lt.u32 q, %r5, 60; @q bra L; mov.u32 %r5, 99; L: }
        { .reg .b32 t; mov.u32 t, 7; bra L; mov.u32 t, 1000; L: add.u32 %r5, %r5, t; }
        st.global.u32 [%x2], %r5;)");
    expect_each(result(text), [](std::uint32_t) { return 8u; });
}

TEST(PtxControl, BarriersOrderSharedMemory) {
    const std::string text = kernel(R"(
        mov.u32 %r5, s; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r1;
        mov.u32 %r7, 0;
        ROUND: bar.sync 0;
        xor.b32 %r8, %r1, 63; mad.lo.u32 %r9, %r8, 4, %r5; ld.shared.u32 %r10, [%r9];
        bar.sync 0;
        add.u32 %r10, %r10, 1; st.shared.u32 [%r6], %r10;
        add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 10; @%p1 bra ROUND;
        st.global.u32 [%x2], %r10;)",
                                    ".shared .align 4 .b8 s[256];");
    for (const std::uint32_t quantum : {1u, 2u, 7u, 20u, 0u})
        expect_each(result(text, 64, quantum), [](std::uint32_t i) { return i + 10; });
}

TEST(PtxControl, BarriersForSomeWarpsAndAfterExit) {
    // Warp 0 produces, warp 1 consumes, warp 2 has gone.
    const std::string text = kernel(R"(
        shr.u32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, 2; @%p1 exit;
        setp.eq.u32 %p2, %r5, 1; @%p2 bra USE;
        mov.u32 %r6, 41; st.shared.u32 [s], %r6; bar.arrive 1, 64; bra END;
        USE: bar.sync 1, 64; ld.shared.u32 %r7, [s+0]; st.global.u32 [%x2], %r7;
        END: bar.sync 0;)",
                                    ".shared .align 4 .u32 s;");
    expect_each(result(text, 96), [](std::uint32_t i) -> std::uint32_t { return i / 32 == 1 ? 41 : 0; });
}

TEST(PtxControl, ABarrierThatIsNeverReachedIsReported) {
    const std::string text = kernel("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1; bra END; A: bar.sync 2; END:");
    try {
        result(text);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("barriers that the others never reach"), std::string::npos) << error.what();
    }
}

TEST(PtxControl, AKernelThatNeverEndsRunsOutOfBudget) {
    EXPECT_THROW(result(kernel("L: bra L;")), InputError);
    EXPECT_THROW(result(kernel("L: bra L;"), 64, 0), InputError);
    EXPECT_THROW(result(kernel("L: ld.volatile.global.u32 %r5, [%x1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra L;")), InputError);
    EXPECT_THROW(result(kernel("L: ld.volatile.global.u32 %r5, [%x1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra L;"), 64, 0), InputError);
}

TEST(PtxControl, Shuffles) {
    const auto shuffle = [](const std::string& mode, const std::string& by, const std::string& clamp) {
        return kernel("mul.lo.u32 %r5, %r1, 3; shfl.sync." + mode + ".b32 %r6|%p1, %r5, " + by + ", " + clamp +
                      ", 0xffffffff; selp.u32 %r7, 1000, 0, %p1; add.u32 %r6, %r6, %r7; st.global.u32 [%x2], %r6;");
    };
    const auto expect_from = [](const std::string& text, const std::function<int(std::uint32_t)>& from) {
        expect_each(result(text, 32),
                    [&](std::uint32_t i) { return from(i) < 0 ? i * 3 : static_cast<std::uint32_t>(from(i)) * 3 + 1000; });
    };
    expect_from(shuffle("up", "5", "0"), [](std::uint32_t i) { return static_cast<int>(i) - 5; });
    expect_from(shuffle("down", "5", "31"), [](std::uint32_t i) { return i + 5 < 32 ? static_cast<int>(i + 5) : -1; });
    expect_from(shuffle("bfly", "9", "31"), [](std::uint32_t i) { return static_cast<int>(i ^ 9); });
    expect_from(shuffle("idx", "7", "31"), [](std::uint32_t) { return 7; });
    // Segments of eight lanes: mask 24 in the upper byte.
    expect_from(shuffle("up", "3", "0x1800"), [](std::uint32_t i) { return i % 8 >= 3 ? static_cast<int>(i - 3) : -1; });
    expect_from(shuffle("down", "3", "0x181f"), [](std::uint32_t i) { return i % 8 < 5 ? static_cast<int>(i + 3) : -1; });
    expect_from(shuffle("idx", "2", "0x181f"), [](std::uint32_t i) { return static_cast<int>(i / 8 * 8 + 2); });
}

TEST(PtxControl, VotesMatchesAndReductions) {
    const std::string text = kernel(R"(
        setp.lt.u32 %p1, %r1, 20; @!%p1 bra END;
        and.b32 %r5, %r1, 1; setp.eq.u32 %p2, %r5, 0;
        vote.sync.ballot.b32 %r6, %p2, 0xfffff; vote.sync.any.pred %p3, !%p2, 0xfffff; vote.sync.all.pred %p4, %p1, 0xfffff; vote.sync.uni.pred %p5, %p2, 0xfffff;
        selp.u32 %r7, 1, 0, %p3; selp.u32 %r8, 2, 0, %p4; selp.u32 %r9, 4, 0, %p5; or.b32 %r7, %r7, %r8; or.b32 %r7, %r7, %r9;
        setp.ne.u32 %p6, %r6, 0x55555; @%p6 mov.u32 %r7, 100;
        and.b32 %r10, %r1, 3; match.any.sync.b32 %r11, %r10, 0xfffff; popc.b32 %r11, %r11; mad.lo.u32 %r7, %r11, 1000, %r7;
        redux.sync.max.u32 %r12, %r1, 0xfffff; mad.lo.u32 %r7, %r12, 10000, %r7;
        st.global.u32 [%x2], %r7; END:)");
    expect_each(result(text, 32), [](std::uint32_t i) { return i < 20 ? 195003u : 0u; });
}

TEST(PtxControl, GroupsOfLanesEachHaveTheirOwnMembers) {
    // Lanes 0 to 23 execute, in four groups by their lowest bits.
    const std::string text = kernel(R"(
        setp.lt.u32 %p1, %r1, 24; @!%p1 bra END;
        and.b32 %r5, %r1, 3; shl.b32 %r6, 0x11111111, %r5;
        redux.sync.max.u32 %r7, %r1, %r6; redux.sync.add.s32 %r8, %r1, %r6; mad.lo.u32 %r7, %r8, 100, %r7;
        setp.lt.u32 %p2, %r1, 22;
        vote.sync.ballot.b32 %r9, %p2, %r6; popc.b32 %r10, %r9; and.b32 %r9, %r9, %r6; popc.b32 %r9, %r9; mad.lo.u32 %r7, %r9, 100000, %r7;
        setp.ne.u32 %p6, %r9, %r10; @%p6 mov.u32 %r7, 77;
        vote.sync.all.pred %p3, %p2, %r6; selp.u32 %r11, 1000000, 0, %p3; add.u32 %r7, %r7, %r11;
        vote.sync.any.pred %p3, !%p2, %r6; selp.u32 %r11, 2000000, 0, %p3; add.u32 %r7, %r7, %r11;
        vote.sync.uni.pred %p2, %p2, %r6; selp.u32 %r11, 4000000, 0, %p2; add.u32 %r7, %r7, %r11;
        shr.u32 %r12, %r1, 4; match.any.sync.b32 %r13, %r12, %r6; popc.b32 %r13, %r13; mad.lo.u32 %r7, %r13, 10000000, %r7;
        setp.gt.u32 %p4, %r5, 1; selp.u32 %r14, %r12, %r5, %p4; match.all.sync.b32 %r15|%p5, %r14, %r6;
        popc.b32 %r15, %r15; mad.lo.u32 %r7, %r15, 100000000, %r7; @%p5 add.u32 %r7, %r7, 8000000;
        st.global.u32 [%x2], %r7; END:)");
    expect_each(result(text, 32), [](std::uint32_t i) {
        if (i >= 24) return 0u;
        const std::uint32_t group = i % 4, largest = 20 + group, sum = 60 + 6 * group, low = group < 2 ? 6u : 5u;
        const std::uint32_t votes = group < 2 ? 1000000 + 4000000 : 2000000, equal = group < 2 ? 608000000 : 0;
        return largest + sum * 100 + low * 100000 + votes + (i < 16 ? 4u : 2u) * 10000000 + equal;
    });
}

TEST(PtxControl, AMemberMaskThatAllLanesShare) {
    // Lanes 0 to 7 execute, with a mask that names them and others, then lanes 4 to 7 with one that names only themselves.
    const std::string text = kernel(R"(
        mov.u32 %r5, 0xffff; setp.gt.u32 %p1, %r1, 7; @%p1 bra END;
        redux.sync.add.u32 %r6, %r1, %r5; vote.sync.ballot.b32 %r7, 1, %r5; mad.lo.u32 %r6, %r7, 100, %r6;
        setp.lt.u32 %p2, %r1, 4; @%p2 bra OUT;
        activemask.b32 %r5; redux.sync.min.s32 %r6, %r1, %r5; match.any.sync.b64 %r7, %x1, %r5; mad.lo.u32 %r6, %r7, 100, %r6;
        OUT: st.global.u32 [%x2], %r6; END:)");
    expect_each(result(text, 32), [](std::uint32_t i) { return i < 4 ? 25528u : i < 8 ? 24004u : 0u; });
    EXPECT_THROW(result(kernel("redux.sync.add.u32 %r6, %r1, %x1;")), InputError) << "the mask has 32 bits";
    EXPECT_THROW(result(kernel("vote.sync.ballot.b32 %r6, %p1, %h1;")), InputError);
}

TEST(PtxControl, AtomicsReturnTheOldValueInLaneOrder) {
    TestDevice device(kernel(R"(
        atom.global.add.u32 %r5, [%x1+256], 3; atom.global.max.s32 %r6, [%x1+260], %r1; atom.global.inc.u32 %r7, [%x1+264], 4;
        atom.global.exch.b32 %r8, [%x1+268], %r1; red.global.add.f32 [%x1+272], 0f3F000000; atom.global.cas.b32 %r9, [%x1+276], 0, %r4; red.global.and.b32 [%x1+280], -2;
        atom.add.u32 %r10, [%x1+284], 1;
        mad.lo.u32 %r5, %r8, 1000, %r5; mad.lo.u32 %r5, %r7, 1000000, %r5; st.global.u32 [%x2], %r5;)"));
    const Addr out = device.zeros<std::uint32_t>(72);
    device.options.quantum = 0;
    device.run("k", {1}, {64}, out);
    const auto got = device.get<std::uint32_t>(out, 72);
    for (std::uint32_t i = 0; i < 64; ++i) ASSERT_EQ(got[i], i % 5 * 1000000 + (i == 0 ? 0 : i - 1) * 1000 + i * 3) << i;
    EXPECT_EQ(got[64], 192u);
    EXPECT_EQ(got[65], 63u);
    EXPECT_EQ(got[66], 64u % 5);
    EXPECT_EQ(got[67], 63u);
    EXPECT_EQ(std::bit_cast<float>(got[68]), 32.0f);
    EXPECT_EQ(got[69], 1u);  // each lane finds zero until lane 1 has written
    EXPECT_EQ(got[71], 64u);
}

TEST(PtxControl, VectorsWidenAndSinks) {
    TestDevice device(kernel(R"(
        mad.wide.u32 %x3, %r1, 16, %x1;
        ld.global.v4.u32 {%r10, %r11, _, %r13}, [%x3+256]; ld.global.v2.u64 {%x10, %x11}, [%x3+256];
        ld.global.s32 %x12, [%x3+256]; ld.global.s8 %r14, [%x3+256]; ld.global.u8 %h1, [%x3+257]; cvt.u32.u16 %r15, %h1;
        add.u32 %r5, %r10, %r11; add.u32 %r5, %r5, %r13; cvt.u32.u64 %r16, %x10; sub.u32 %r5, %r5, %r16;
        shr.s64 %x12, %x12, 32; cvt.u32.u64 %r17, %x12; add.u32 %r5, %r5, %r17; add.u32 %r5, %r5, %r14; add.u32 %r5, %r5, %r15;
        st.global.v2.u32 [%x3+256], {%r5, %r13}; st.global.u8 [%x3+264], %r5; st.global.u16 [%x3+266], %h1; st.global.u32 [%x2], %r5;)"));
    std::vector<std::uint32_t> data(64 + 256);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint32_t>(0x9E3779B9u * (i + 1));
    const Addr out = device.put(data);
    device.run("k", {1}, {64}, out);
    const auto got = device.get<std::uint32_t>(out, data.size());
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t* d = &data[64 + 4 * i];
        std::uint32_t want = d[1] + d[3] + ((d[0] >> 31) != 0 ? ~0u : 0u);
        want += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(d[0]))) + (d[0] >> 8 & 255);
        ASSERT_EQ(got[i], want);
        ASSERT_EQ(got[64 + 4 * i], want);
        ASSERT_EQ(got[64 + 4 * i + 1], d[3]);
        ASSERT_EQ(got[64 + 4 * i + 2], (want & 255) | (d[2] & 0xFF00) | (d[0] >> 8 & 255) << 16);
    }
}

TEST(PtxControl, GenericAddressesOfAllMemories) {
    // Even lanes point to shared memory, odd ones to local memory; a third access goes to global memory.
    const std::string text = kernel(R"(
        .local .align 8 .b8 depot[64];
        cvta.shared.u64 %x3, s; mad.wide.u32 %x3, %r1, 4, %x3;
        mov.u64 %x4, depot; cvta.local.u64 %x5, %x4; add.u64 %x5, %x5, 24;
        and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; selp.b64 %x6, %x3, %x5, %p1;
        add.u32 %r6, %r1, 500; st.u32 [%x6], %r6; ld.u32 %r7, [%x6];
        isspacep.shared %p2, %x6; isspacep.local %p3, %x6; isspacep.global %p4, %x1; and.pred %p3, %p3, %p4;
        selp.u32 %r8, 1000, 0, %p2; selp.u32 %r9, 2000, 0, %p3; add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9;
        cvta.to.local.u64 %x7, %x5; ld.local.u32 %r10, [%x7]; @!%p1 sub.u32 %r7, %r7, %r10; @!%p1 add.u32 %r7, %r7, %r6;
        st.u32 [%x2], %r7;)",
                                    ".shared .align 4 .b8 s[256];");
    expect_each(result(text), [](std::uint32_t i) { return i + 500 + (i % 2 == 0 ? 1000u : 2000u); });
}

TEST(PtxControl, LanesOutsideTheirMemoryReadZeroAndAreReportedOnce) {
    TestDevice device(kernel("ld.global.u32 %r5, [%x2]; add.u32 %r5, %r5, 7; st.global.u32 [%x2+4], %r5; st.global.u32 [%x2], %r5;"));
    const Addr out = device.put(std::vector<std::uint32_t>(20, 1));
    const Addr next = device.put(std::vector<std::uint32_t>(200, 3));
    device.run("k", {1}, {64}, out);
    EXPECT_EQ(device.get<std::uint32_t>(out, 20), std::vector<std::uint32_t>(20, 8));
    EXPECT_EQ(device.get<std::uint32_t>(next, 200), std::vector<std::uint32_t>(200, 3));
    ASSERT_EQ(device.memory.warnings().size(), 3u);
    const std::string where = fmt::format("the allocation of 80 bytes at {:#x}", out);
    EXPECT_NE(
        device.memory.warnings()[0].find(fmt::format("kernel k, CTA 0, thread 20: invalid read of 4 bytes at {:#x}, 0 bytes after {}; "
                                                     "it reads 0",
                                                     out + 80, where)),
        std::string::npos)
        << device.memory.warnings()[0];
    EXPECT_NE(device.memory.warnings()[1].find("thread 19: invalid write of 4 bytes"), std::string::npos) << device.memory.warnings()[1];
    EXPECT_NE(device.memory.warnings()[1].find("nothing is written"), std::string::npos);
}

TEST(PtxControl, AnAccessOutOfBoundsNamesSourceLineAndMemory) {
    TestDevice device(kernel(R"(
        .loc 1 13 5
        ld.global.u32 %r5, [%x1+-8]; ld.global.u64 %x3, [%x1+76]; mov.u64 %x4, 16; ld.global.u32 %r5, [%x4];
        ld.shared.u32 %r5, [s+1000]; st.global.u32 [%x1], %r5;)",
                             ".file 1 \"/home/me/app.cu\"\n.shared .align 4 .b8 s[256];"));
    const Addr out = device.put(std::vector<std::uint32_t>(20, 1));
    device.run("k", {1}, {32}, out);
    const std::vector<std::string>& said = device.memory.warnings();
    ASSERT_EQ(said.size(), 4u);
    EXPECT_NE(said[0].find("kernel k (app.cu:13), CTA 0, thread 0: invalid read of 4 bytes"), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("8 bytes before the allocation of 80 bytes"), std::string::npos) << said[0];
    EXPECT_NE(said[1].find("4 bytes too long for the allocation of 80 bytes"), std::string::npos) << said[1];
    EXPECT_NE(said[2].find("offset to a null pointer"), std::string::npos) << said[2];
    EXPECT_NE(said[3].find("outside the 256 bytes of shared memory"), std::string::npos) << said[3];
}

// One thread polls a value of another CTA, a limited number of times, and shares what it saw. The others must not read it before.
TEST(PtxControl, ALimitedLoopOverAnotherCtasValueLeavesNoStaleSharedMemory) {
    for (const char* const together : {"bar.sync 0;", "bar.warp.sync 0xffffffff;"}) {
        TestDevice device(kernel(std::string(R"(
            setp.ne.u32 %p1, %r2, 0; @%p1 bra SET;
            setp.ne.u32 %p2, %r1, 0; @%p2 bra JOIN;
            mov.u32 %r6, 0;
            L: ld.volatile.global.u32 %r7, [%x1+4096]; add.u32 %r6, %r6, 1;
            setp.eq.u32 %p3, %r7, 0; setp.lt.u32 %p4, %r6, 5000; and.pred %p3, %p3, %p4; @%p3 bra L;
            add.u32 %r8, %r7, 40; st.shared.u32 [s], %r8;
            JOIN: )") + together + R"(
            ld.shared.u32 %r9, [s]; st.global.u32 [%x2], %r9; bra END;
            SET: st.global.u32 [%x1+4096], 2;
            END:)",
                                 ".shared .align 4 .b8 s[4];"));
        const Addr out = device.zeros<std::uint32_t>(2048);
        device.run("k", {2}, {32}, out);
        for (const std::uint32_t value : device.get<std::uint32_t>(out, 32)) ASSERT_EQ(value, 42u) << together;
    }
}

TEST(PtxControl, SpecialRegistersAndPlacement) {
    TestDevice device(kernel(R"(
        mov.u32 %r5, %laneid; mov.u32 %r6, %lanemask_lt; popc.b32 %r6, %r6; sub.u32 %r5, %r5, %r6;
        mov.u32 %r7, %tid.y; mov.u32 %r8, %ntid.y; mov.u32 %r9, %nctaid.x; mad.lo.u32 %r7, %r7, 10, %r8; mad.lo.u32 %r7, %r9, 1000, %r7; add.u32 %r7, %r7, %r5;
        mov.u32 %r10, %tid.x; mad.lo.u32 %r11, %r8, 0, %r10; mov.u32 %r12, %ctaid.x; mov.u32 %r13, %tid.y; mad.lo.u32 %r11, %r13, 8, %r11; mad.lo.u32 %r11, %r12, 40, %r11;
        mad.wide.u32 %x5, %r11, 4, %x1; st.global.u32 [%x5], %r7;)"));
    const Addr out = device.zeros<std::uint32_t>(120);
    device.run("k", {3}, {8, 5}, out);
    const auto got = device.get<std::uint32_t>(out, 120);
    for (std::uint32_t i = 0; i < 120; ++i) ASSERT_EQ(got[i], 3000 + i % 40 / 8 * 10 + 5);
    EXPECT_FALSE(device.module->placement_dependent("k"));
    EXPECT_TRUE(parse_module(kernel("mov.u32 %r5, %smid;"), "x.ptx")->placement_dependent("k"));
    EXPECT_TRUE(parse_module(kernel("mov.u64 %x5, %clock64;"), "x.ptx")->placement_dependent("k"));
}

/// Whether every path from `from` to the end passes `through`.
bool always_passes(const FlowGraph& graph, std::uint32_t from, std::uint32_t through) {
    std::vector<bool> seen(graph.size());
    std::vector<std::uint32_t> left = {from};
    while (!left.empty()) {
        const std::uint32_t block = left.back();
        left.pop_back();
        if (block == kNoBlock) return false;
        if (block == through || seen[block]) continue;
        seen[block] = true;
        left.insert(left.end(), graph[block].begin(), graph[block].end());
    }
    return true;
}

TEST(PtxFlow, PostDominatorsAreTheFirstBlocksThatAllPathsPass) {
    Rng random(5);
    for (int k = 0; k < 300; ++k) {
        FlowGraph graph(2 + random.below(14));
        const auto count = static_cast<std::uint32_t>(graph.size());
        for (auto& next : graph) {
            for (std::uint32_t n = 1 + random.below(3); n-- > 0;) next.push_back(random.below(8) == 0 ? kNoBlock : random.below(count));
        }
        const std::vector<std::uint32_t> found = post_dominators(graph);
        for (std::uint32_t b = 0; b < count; ++b) {
            std::uint32_t want = kNoBlock;
            const bool ends = !always_passes(graph, b, kNoBlock - 1);
            for (std::uint32_t c = 0; c < count && ends; ++c) {
                // The first one: all others that are always passed are passed after it.
                if (c != b && always_passes(graph, b, c) && (want == kNoBlock || always_passes(graph, c, want))) want = c;
            }
            ASSERT_EQ(found[b], want) << k << ' ' << b;
        }
    }
}

TEST(PtxControl, LargeInputsTakeTimeInProportion) {
    const auto seconds = [](const std::string& text) {
        const std::clock_t begin = std::clock();
        TestDevice device(text);
        device.run("k", {1}, {32}, device.zeros<std::uint32_t>(32));
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    const auto nested_loops = [](int many) {
        std::string nested;
        for (int i = 0; i < many; ++i) nested += fmt::format("L{}: add.u32 %r5, %r5, 1;\n", i);
        for (int i = many; i-- > 0;) nested += fmt::format("setp.lt.u32 %p1, %r5, 1; @%p1 bra L{};\n", i);
        return kernel(nested);
    };
    const auto global_variables = [](int many) {
        std::string globals;
        for (int i = 0; i < many; ++i) globals += fmt::format(".global .align 4 .u32 g{};\n", i);
        return kernel("", globals);
    };
    // Eight times as much: quadratic, it took 64 times as long, which is 3 to 22 seconds. The least of three, for noise.
    const auto least = [&](const std::string& text) { return std::min({seconds(text), seconds(text), seconds(text)}); };
    EXPECT_LT(least(nested_loops(20'000)), 24 * least(nested_loops(2'500)));
    EXPECT_LT(least(global_variables(20'000)), 24 * least(global_variables(2'500)));
}

TEST(PtxControl, ParametersReadAtComputedAddresses) {
    TestDevice device(
        kernel("mov.b64 %x3, q; and.b32 %r5, %r1, 3; mad.wide.u32 %x3, %r5, 4, %x3; ld.param.u32 %r6, [%x3+4]; st.global.u32 [%x2], %r6;",
               "", ".param .u64 po, .param .align 4 .b8 q[20]"));
    struct Q {
        std::uint32_t v[5];
    } q{{9, 10, 11, 12, 13}};
    const Addr out = device.zeros<std::uint32_t>(32);
    device.run("k", {1}, {32}, out, q);
    expect_each(device.get<std::uint32_t>(out, 32), [](std::uint32_t i) { return 10 + i % 4; });
}

}  // namespace
}  // namespace mergelane::ptx
