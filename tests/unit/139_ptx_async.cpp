// SPDX-License-Identifier: MIT
// cp.async and mbarriers: results, refusals, and the time that copies overlap with.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "core/error.hpp"
#include "machines.hpp"
#include "ptx_helpers.hpp"
#include "run.hpp"
#include "sm/copy_groups.hpp"
#include "workload/record/recording_file.hpp"
#include "workload/tracefile/trace_file.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::ptx {
namespace {

/// %x1: output, %x2: output of the thread, %x3: input, %x4: 16 bytes of input per thread; %r1: thread, %r2: thread * 16 in shared memory.
std::string kernel(const std::string& body, const std::string& more = "") {
    return ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[4096];\n.shared .align 8 .b64 bars[8];\n" + more +
           ".visible .entry k(.param .u64 po, .param .u64 pi)\n{\n"
           ".reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %x<40>; .reg .f32 %f<20>;\n"
           "ld.param.u64 %x1, [po]; ld.param.u64 %x3, [pi]; mov.u32 %r1, %tid.x; mul.wide.u32 %x5, %r1, 4; add.u64 %x2, %x1, %x5;\n"
           "mul.wide.u32 %x6, %r1, 16; add.u64 %x4, %x3, %x6; shl.b32 %r2, %r1, 4; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3;\n" +
           body + "\nret;\n}\n";
}
std::vector<std::uint32_t> result(const std::string& body, std::uint32_t threads = 64, std::uint32_t words = 1024, bool portable = false) {
    TestDevice device(kernel(body));
    device.options.budget = 1'000'000;
    device.options.portable = portable;
    std::vector<std::uint32_t> input(words);
    std::iota(input.begin(), input.end(), 100u);
    const Addr out = device.zeros<std::uint32_t>(1024);
    device.run("k", {1}, {threads}, out, device.put(input));
    return device.get<std::uint32_t>(out, threads);
}
std::string refusal(const std::string& body) {
    try {
        result(body);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(PtxAsync, CopiesOfAllSizes) {
    for (const char* copy :
         {"cp.async.ca.shared.global [%r2], [%x4], 4;", "cp.async.ca.shared::cta.global.L2::64B [%r2], [%x4], 8;",
          "cp.async.ca.shared.global.L2::256B [%r2+0], [%x4+0], 16;", "cp.async.cg.shared.global.L2::128B [%r2], [%x4], 16;",
          "mov.u64 %x9, 0; cp.async.cg.shared.global.L2::cache_hint [%r2], [%x4], 16, %x9;"}) {
        const std::string text =
            fmt::format("{} cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r4, [%r2]; st.global.u32 [%x2], %r4;", copy);
        const auto got = result(text);
        for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], 100 + 4 * i) << copy;
        EXPECT_EQ(got, result(text, 64, 1024, true)) << copy;
    }
}

TEST(PtxAsync, WhatIsNotReadIsZero) {
    // 6 bytes of 16 in odd lanes, none in even ones; the last thread's source would be outside.
    const std::string sizes = R"(
        and.b32 %r5, %r1, 1; mul.lo.u32 %r5, %r5, 6; mov.u32 %r6, 0xffffffff; st.shared.v4.u32 [%r2], {%r6, %r6, %r6, %r6};
        cp.async.cg.shared.global [%r2], [%x4], 16, %r5; cp.async.wait_all;
        ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r2]; add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; add.u32 %r7, %r7, %r10; st.global.u32 [%x2], %r7;)";
    const auto got = result(sizes, 64, 63 * 4 + 2);
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i % 2 == 0 ? 0 : 2 * (100 + 4 * i) + 1) << i;  // the second word's low half
    for (const char* ignore : {"%p1", "!%p2"}) {
        const auto some = result(fmt::format(R"(setp.lt.u32 %p1, %r1, 10; setp.ge.u32 %p2, %r1, 10;
            cp.async.ca.shared.global [%r2], [%x4], 4, {}; cp.async.wait_all; ld.shared.u32 %r7, [%r2]; st.global.u32 [%x2], %r7;)",
                                             ignore));
        for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(some[i], i < 10 ? 0 : 100 + 4 * i) << ignore;
    }
}

TEST(PtxAsync, AccessesOutsideAreReported) {
    TestDevice device(kernel("cp.async.ca.shared.global [%r2+4090], [%x4+1000000], 4; cp.async.wait_all; st.global.u32 [%x2], 1;"));
    const Addr out = device.zeros<std::uint32_t>(64);
    device.run("k", {1}, {32}, out, device.zeros<std::uint32_t>(64));
    ASSERT_EQ(device.memory.warnings().size(), 2u);
    EXPECT_NE(device.memory.warnings()[0].find("invalid write"), std::string::npos);
    EXPECT_NE(device.memory.warnings()[1].find("it reads 0"), std::string::npos);
}

TEST(PtxAsync, WhatIsWrongIsRefused) {
    EXPECT_NE(refusal("cp.async.cg.shared.global [%r2], [%x4], 8;").find("cannot copy 8 bytes"), std::string::npos);
    EXPECT_NE(refusal("cp.async.ca.shared.global [%r2], [%x4], 12;").find("cannot copy 12 bytes"), std::string::npos);
    EXPECT_NE(refusal("cp.async.ca.shared.global.L3::1B [%r2], [%x4], 4;").find("is not supported"), std::string::npos);
    EXPECT_NE(refusal("cp.async.wait_group %r1;").find("needs a number"), std::string::npos);
    EXPECT_NE(refusal("cp.async.later;").find("is not supported"), std::string::npos);
    EXPECT_NE(refusal("cp.async;").find("is not supported"), std::string::npos);
    EXPECT_NE(refusal("mbarrier.maybe.shared.b64 [bars];").find("is not supported"), std::string::npos);
    EXPECT_NE(refusal("mbarrier.arrive.noComplete.shared.b64 %x9, [bars];").find("operands"), std::string::npos);
    EXPECT_NE(refusal("mbarrier.init.shared.b64 bars, 1;").find("needs an address"), std::string::npos);
}

TEST(PtxAsync, APhaseOfAnMbarrierEndsWithItsLastArrival) {
    // Each thread notes the pending count that its arrival found; then all wait, by state and by parity, for the first phase.
    const std::string text = R"(
        setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared::cta.b64 [bars], 64; bar.sync 0;
        mbarrier.arrive.release.cta.shared::cta.b64 %x10, [bars]; mbarrier.pending_count.b64 %r5, %x10;
        A: mbarrier.try_wait.acquire.cta.shared::cta.b64 %p2, [bars], %x10, 1000; @!%p2 bra A;
        B: mbarrier.test_wait.parity.shared.b64 %p3, [bars], 0; @!%p3 bra B;
        mbarrier.test_wait.parity.shared.b64 %p4, [bars], 1; selp.u32 %r6, 1000, 0, %p4; add.u32 %r5, %r5, %r6;
        st.global.u32 [%x2], %r5;)";
    auto got = result(text);
    std::sort(got.begin(), got.end());
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i + 1);
}

TEST(PtxAsync, CountsOfAnMbarrier) {
    // Arrivals with a count, without completion, that drop out; expected bytes; generic addresses. Digits: is phase 0 over?
    const std::string text = R"(
        .reg .b32 %s; mov.u32 %s, 0; mov.u32 %r9, bars; cvt.u64.u32 %x11, %r9; cvta.shared.u64 %x12, %x11;
        mbarrier.init.b64 [%x12], 4;
        mbarrier.arrive.noComplete.shared.b64 %x13, [bars], 2;
        mbarrier.arrive_drop.b64 _, [%x12];
        mbarrier.test_wait.b64 %p1, [%x12], %x13; selp.u32 %r5, 1, 0, %p1; mad.lo.u32 %s, %s, 10, %r5;
        mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 %x14, [bars], 100; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bars], 20;
        mbarrier.test_wait.b64 %p1, [%x12], %x13; selp.u32 %r5, 1, 0, %p1; mad.lo.u32 %s, %s, 10, %r5;
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bars], 90;
        mbarrier.test_wait.b64 %p1, [%x12], %x13; selp.u32 %r5, 1, 0, %p1; mad.lo.u32 %s, %s, 10, %r5;
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bars], 30;
        mbarrier.test_wait.b64 %p1, [%x12], %x13; selp.u32 %r5, 1, 0, %p1; mad.lo.u32 %s, %s, 10, %r5;
        mbarrier.arrive.b64 %x15, [%x12]; mbarrier.pending_count.b64 %r6, %x15; mad.lo.u32 %s, %s, 10, %r6;
        mbarrier.inval.shared.b64 [bars]; st.global.u32 [%x2], %s;)";
    EXPECT_EQ(result(text, 1)[0], 13u);
}

TEST(PtxAsync, CopiesArriveAtAnMbarrier) {
    // The second warp waits for what the first one copies, with and without .noinc.
    for (const bool noinc : {false, true}) {
        const std::string text = fmt::format(R"(
            setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bars], {}; bar.sync 0;
            setp.lt.u32 %p2, %r1, 32; @!%p2 bra WAIT;
            cp.async.ca.shared.global [%r2], [%x4], 4; cp.async.mbarrier.arrive{}.shared.b64 [bars]; {}
            ret;
            WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [bars], 0; @!%p3 bra WAIT;
            ld.shared.u32 %r4, [%r2-512]; st.global.u32 [%x2], %r4;)",
                                             32, noinc ? ".noinc" : "", noinc ? "" : "mbarrier.arrive.shared.b64 %x9, [bars];");
        const auto got = result(text);
        for (std::uint32_t i = 32; i < 64; ++i) EXPECT_EQ(got[i], 100 + 4 * (i - 32)) << noinc;
    }
}

TEST(PtxAsync, WaitingForeverIsReported) {
    TestDevice device(kernel("mbarrier.init.shared.b64 [bars], 40; A: mbarrier.try_wait.parity.shared.b64 %p3, [bars], 0; @!%p3 bra A;"));
    try {
        device.run("k", {1}, {32}, device.zeros<std::uint32_t>(1), device.zeros<std::uint32_t>(1));
        FAIL() << "it ended";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("wait for something that never happens"), std::string::npos) << error.what();
    }
}

TEST(CopyGroups, WaitsReferToTheOrderInWhichGroupsEnded) {
    CopyGroups groups;
    EXPECT_EQ(groups.all_but(0), 0u);
    groups.issued();                   // at 1
    groups.issued();                   // at 2
    EXPECT_EQ(groups.all_but(0), 0u);  // a group that has not ended is not waited for
    groups.end_group(CopyGroups::kNoBarrier, 3);
    groups.issued();  // at 4
    groups.end_group(0x40, 5);
    groups.end_group(CopyGroups::kNoBarrier, 6);  // empty
    EXPECT_EQ(groups.all_but(0), kNever);
    EXPECT_EQ(groups.all_but(3), 0u);
    groups.finished(4, 50);
    EXPECT_EQ(groups.all_but(2), kNever);
    EXPECT_EQ(groups.observed_by(0x40), kNever);  // groups before it count, too
    EXPECT_EQ(groups.observed_by(0x48), 0u);
    groups.finished(2, 90);
    groups.finished(1, 70);
    EXPECT_EQ(groups.all_but(2), 90u);
    EXPECT_EQ(groups.all_but(0), 90u);
    EXPECT_EQ(groups.observed_by(0x40), 90u);
    groups.end_group(CopyGroups::kNoBarrier, 100);  // the others are forgotten, for no wait can be longer for them
    EXPECT_EQ(groups.all_but(0), 0u);
}

/// A CTA adds up 64 tiles, one after the other. stages 0: loads and stores to shared memory; otherwise copies, of so many tiles at once.
std::string tile_loop(std::uint32_t stages, bool mbarriers = false) {
    std::string compute = "ld.shared.f32 %f1, [%r20];\n";
    for (int i = 0; i < 30; ++i) compute += "fma.rn.f32 %f2, %f1, %f1, %f2;\n";
    // Starts copying tile %r10, if there is one, to its place in the ring.
    const auto copy = [&](const std::string& skip) {
        return fmt::format(
            "setp.ge.u32 %p5, %r10, 64; @%p5 bra {0}; rem.u32 %r11, %r10, {1}; mad.lo.u32 %r12, %r11, 512, %r2;\n"
            "mad.wide.u32 %x10, %r10, 65536, %x4; cp.async.cg.shared.global [%r12], [%x10], 16;\n{0}: {2}\n",
            skip, stages,
            mbarriers ? "rem.u32 %r11, %r10, " + std::to_string(stages) +
                            "; shl.b32 %r13, %r11, 3; mov.u32 %r14, bars; add.u32 %r13, %r13, %r14; "
                            "cp.async.mbarrier.arrive.noinc.shared.b64 [%r13];"
                      : "cp.async.commit_group;");
    };
    std::string text = "mov.u32 %r9, 0; mov.f32 %f2, 0f00000000; mov.u32 %r10, 0;\n";
    if (stages == 0) {
        text +=
            "LOOP: mad.wide.u32 %x10, %r9, 65536, %x4; ld.global.cg.v4.u32 {%r15, %r16, %r17, %r18}, [%x10];\n"
            "st.shared.v4.u32 [%r2], {%r15, %r16, %r17, %r18}; bar.sync 0; mov.u32 %r20, %r2;\n" +
            compute + "bar.sync 0;\n";
    } else {
        if (mbarriers) {
            text += "setp.eq.u32 %p1, %r1, 0; @!%p1 bra INIT;\n";
            for (std::uint32_t s = 0; s < stages; ++s) text += fmt::format("mbarrier.init.shared.b64 [bars+{}], 32;\n", 8 * s);
            text += "INIT: bar.sync 0;\n";
        }
        for (std::uint32_t s = 0; s + 1 < stages; ++s) text += copy(fmt::format("P{}", s)) + "add.u32 %r10, %r10, 1;\n";
        text += "LOOP:\n";
        if (stages == 1) text += copy("Q") + "add.u32 %r10, %r10, 1;\n";
        if (mbarriers)
            text += fmt::format(
                "rem.u32 %r21, %r9, {0}; div.u32 %r22, %r9, {0}; and.b32 %r22, %r22, 1; shl.b32 %r21, %r21, 3; mov.u32 %r23, bars; add.u32 "
                "%r21, %r21, %r23;\n"
                "W: mbarrier.try_wait.parity.shared.b64 %p6, [%r21], %r22; @!%p6 bra W;\n",
                stages);
        else
            text += fmt::format("cp.async.wait_group {};\n", stages == 1 ? 0 : stages - 2);
        text += "bar.sync 0;\n";
        if (stages > 1) text += copy("R") + "add.u32 %r10, %r10, 1;\n";
        text += fmt::format("rem.u32 %r11, %r9, {}; mad.lo.u32 %r20, %r11, 512, %r2;\n", stages) + compute;
        if (stages == 1) text += "bar.sync 0;\n";
    }
    return kernel(text + "add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 64; @%p2 bra LOOP;\nst.global.f32 [%x2], %f2;");
}
struct Timed {
    Cycle cycles = 0;
    std::vector<float> sums;
    RunResult result;
};
Timed timed(const std::string& text, const MachineSpec& machine = testing::v100_like(), bool by_instruction = false) {
    TestDevice device(text);
    device.record = true;
    std::vector<float> input(64 * 16384 + 1024);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 97) / 8;
    const Addr out = device.zeros<float>(32);
    const auto kernel = device.run("k", {1}, {32}, out, device.put(input));
    testing::OneKernel workload(*kernel);
    RunOptions options;
    options.by_instruction = by_instruction;
    RunResult result = testing::run_on(machine, workload, options);
    return {result.cycles, device.get<float>(out, 32), std::move(result)};
}

TEST(AsyncTiming, CopiesOverlapWithComputation) {
    const Timed synchronous = timed(tile_loop(0));
    const Timed one = timed(tile_loop(1)), two = timed(tile_loop(2)), three = timed(tile_loop(3)), four = timed(tile_loop(4));
    for (const Timed* other : {&one, &two, &three, &four}) EXPECT_EQ(other->sums, synchronous.sums);
    EXPECT_GT(one.cycles, synchronous.cycles * 9 / 10);
    EXPECT_LT(one.cycles, synchronous.cycles * 12 / 10);
    EXPECT_LT(two.cycles, one.cycles * 9 / 10);
    EXPECT_LT(three.cycles, two.cycles * 95 / 100);
    EXPECT_LE(four.cycles, three.cycles);
    EXPECT_LT(four.cycles, synchronous.cycles * 7 / 10);
}

TEST(AsyncTiming, MbarriersThatObserveCopiesOverlapThemTheSame) {
    const Timed groups = timed(tile_loop(3)), mbarriers = timed(tile_loop(3, true)), one = timed(tile_loop(1, true));
    EXPECT_EQ(groups.sums, mbarriers.sums);
    EXPECT_EQ(groups.sums, one.sums);
    EXPECT_LT(mbarriers.cycles, one.cycles * 8 / 10);
    EXPECT_GT(one.cycles, timed(tile_loop(0)).cycles * 9 / 10);
}

TEST(AsyncTiming, AWaitTakesTheLatencyOfMemory) {
    // Each step waits for the copy of the one before or, without waits, for none.
    const auto chain = [](const std::string& wait) {
        std::string text;
        for (int i = 0; i < 8; ++i)
            text += fmt::format("cp.async.cg.shared.global [%r2], [%x4+{}], 16; cp.async.commit_group; {}\n", 65536 * i, wait);
        return timed(kernel(text + "st.global.u32 [%x2], %r1;")).cycles;
    };
    EXPECT_GE(chain("cp.async.wait_group 0;"), chain("") + 7 * 150);
    EXPECT_EQ(chain("cp.async.wait_group 8;"), chain("cp.async.wait_group 99;"));
    EXPECT_LT(chain("cp.async.wait_group 4;"), chain("cp.async.wait_group 1;"));
    EXPECT_LT(chain("cp.async.wait_group 1;"), chain("cp.async.wait_all;"));
}

TEST(AsyncTiming, InvariantsHoldOnOtherMachinesToo) {
    // Counts by instruction add up to those of the SMs; with and without a path of its own for shared memory.
    for (const MachineSpec& machine : {testing::v100_like(), testing::icc60_like(), testing::gtx480_like()}) {
        Cycle before = kNever;
        for (const std::uint32_t stages : {1u, 2u, 4u}) {
            const Timed result = timed(tile_loop(stages), machine, true);
            EXPECT_LT(result.cycles, before) << machine.name << " " << stages;
            before = result.cycles;
            const auto& rows = result.result.by_instruction.at(0).instructions;
            const auto copy =
                std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.opcode == "cp.async.cg.shared.global"; });
            ASSERT_NE(copy, rows.end());
            EXPECT_EQ(copy->counts[InstCount::l1_sectors], 0u);
            EXPECT_GE(copy->counts[InstCount::stalled], stages == 1 ? 1u : 0u);
        }
        timed(tile_loop(3, true), machine, true);
    }
}

TEST(AsyncTiming, FilesKeepWhatIsAsynchronous) {
    TestDevice device(tile_loop(3, true));
    device.record = true;
    const auto made = device.run("k", {1}, {32}, device.zeros<float>(32), device.zeros<float>(64 * 16384 + 1024));
    const auto& recorded = static_cast<const record::RecordedKernel&>(*made);
    const auto file = std::filesystem::temp_directory_path() / fmt::format("mergelane_async_{}", getpid());
    record::RecordingWriter writer(file, "key");
    writer.add(recorded);
    writer.finish();
    const auto back = record::RecordingReader::open(file, "key")->next();
    std::uint32_t marked = 0;
    for (std::size_t i = 0; i < recorded.instructions().size(); ++i) {
        EXPECT_EQ(back->instructions()[i].async, recorded.instructions()[i].async);
        EXPECT_EQ(back->instructions()[i].space, recorded.instructions()[i].space);
        marked += recorded.instructions()[i].async;
    }
    EXPECT_EQ(marked, 7u);  // three copies, three arrivals, one wait
    testing::OneKernel original(recorded);
    tracefile::write_trace(original, file.string());
    testing::OneKernel again(recorded);
    const auto replayed = tracefile::open_trace_file(file.string());
    EXPECT_EQ(testing::run_on(testing::v100_like(), *replayed).digest, testing::run_on(testing::v100_like(), again).digest);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace mergelane::ptx
