// SPDX-License-Identifier: MIT
// Traces on a machine: counters, and robustness against any address that a trace may contain.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "traces.hpp"

namespace mergelane::testing {
namespace {

std::uint64_t total(const RunResult& result, std::string_view name) {
    return result.stat(name);
}

MachineSpec small_machine() {
    MachineSpec spec = icc60_like(3);
    spec.gpu.clusters = 2;
    spec.dram.channels = 2;
    return valid(spec);
}

RunResult replay(const std::string& path) {
    const auto workload = accelsim::open_trace(path, {});
    return run_on(small_machine(), *workload);
}

TEST(TraceReplay, CountsWhatTheTraceSays) {
    TraceText trace;
    trace.grid = "(2,1,1)";
    trace.block = "(64,1,1)";
    for (int cta = 0; cta < 2; ++cta) {
        std::vector<std::vector<std::string>> warps;
        for (int w = 0; w < 2; ++w) {
            const std::string place = std::to_string(cta * 2 + w) + "00";  // a line of its own for every warp
            warps.push_back({"0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00000" + place + " 4 0",
                             "0010 0000ffff 1 R5 LDG.E 1 R2 4 1 0x7f4b10000" + place + " 4 0", "0020 ffffffff 1 R6 FADD 2 R4 R5 0 0",
                             "0030 00000000 0 STG.E 2 R2 R6 4 1 0x0 0 0", "0040 ffffffff 0 STS 2 R2 R6 4 1 0x0 4 0",
                             "0050 ffffffff 0 BAR.SYNC 0 0 0", "0060 000000ff 0 STG.E 2 R2 R6 4 1 0x7f4b20000" + place + " 4 0",
                             "0070 ffffffff 0 EXIT 0 0 0"});
        }
        trace.cta(std::to_string(cta) + ",0,0", warps);
    }
    const RunResult result = replay(trace.write());
    EXPECT_EQ(total(result, "sm.ctas_finished"), 2u);
    EXPECT_EQ(total(result, "sm.warp_instructions"), 4u * 8);
    EXPECT_EQ(total(result, "sm.thread_instructions"), 4u * (5 * 32 + 16 + 8));
    EXPECT_EQ(total(result, "sm.memory_instructions"), 4u * 3) << "predicated off: not an access";
    EXPECT_EQ(total(result, "sm.shared_instructions"), 4u);
    EXPECT_EQ(total(result, "sm.loads"), 4u * 2);
    EXPECT_EQ(total(result, "l1.sector_accesses"), 4u * (4 + 4 + 1)) << "this machine loads whole lines";
    EXPECT_EQ(total(result, "l1.sector_write_accesses"), 4u);
    EXPECT_EQ(total(result, "l2.reads"), 4u * 2);
    EXPECT_EQ(total(result, "l2.writes"), 4u);
}

TEST(TraceReplay, AnyAddressIsSurvived) {
    TraceText trace;
    std::vector<std::string> lines;
    for (const char* opcode : {"LDG.E.128", "STG.E.64", "ATOMG.E.ADD.64", "LDS.128", "STS.U8", "LDL", "LD.E.128", "ATOMS.ADD"}) {
        for (const char* addresses :
             {"1 0xffffffffffffffff 999999999999999999 0", "1 0xffffffffffffffff -1 0", "1 0xfffffffffffffff0 16 0",
              "1 0x0 -999999999999999999 0",
              "2 0x0 -999999999999999999 4 4 4 4 4 4 999999999999999999 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 0",
              "1 0xffffffffffffff 3 0", "1 0x8000000000000000 0 0"})
            lines.push_back("0000 ffffffff 1 R4 " + std::string(opcode) + " 2 R2 R3 4 " + addresses);
    }
    const RunResult result = replay(trace.cta("0,0,0", {lines}).write());
    EXPECT_EQ(total(result, "sm.warp_instructions"), lines.size());
}

/// Found only when the machine gets there, on whichever thread that is.
TEST(TraceReplay, AMistakeInTheMiddleEndsTheRun) {
    for (const std::uint32_t threads : {1u, 2u}) {
        std::vector<std::string> lines(50, "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00001000 4 0");
        lines.push_back("0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00001000 four 0");
        TraceText trace;
        const auto workload = accelsim::open_trace(trace.cta("0,0,0", {lines}).write(), {});
        RunOptions options;
        options.threads = threads;
        EXPECT_THROW(run_on(small_machine(), *workload, options), InputError);
    }
}

TEST(TraceReplay, AKernelThatDoesNotFitIsRefused) {
    TraceText trace;
    trace.more_header = "-shmem = 16000000\n";
    trace.cta("0,0,0", {{"0000 ffffffff 0 EXIT 0 0 0"}});
    EXPECT_THROW(replay(trace.write()), InputError);
}

TEST(TraceReplay, WarpsThatNeverMeetAtABarrierEnd) {
    TraceText trace;
    trace.block = "(64,1,1)";
    trace.cta("0,0,0", {{"0000 ffffffff 0 BAR.SYNC 0 0 0", "0010 ffffffff 0 EXIT 0 0 0"}, {"0010 ffffffff 0 EXIT 0 0 0"}});
    EXPECT_EQ(total(replay(trace.write()), "sm.ctas_finished"), 1u);
}

}  // namespace
}  // namespace mergelane::testing
