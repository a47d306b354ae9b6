// SPDX-License-Identifier: MIT
// Version 6 of the tracer, and what Ampere and Hopper brought: lines that are read, lines that are timed, lines that are refused.
#include <gtest/gtest.h>

#include <functional>

#include "core/error.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "traces.hpp"
#include "workload/accelsim/line_fields.hpp"

namespace mergelane::testing {
namespace {

using Lines = std::vector<std::string>;

TraceText version6(const std::string& sm = "90") {
    TraceText trace;
    trace.version = "6";
    trace.more_header = "-binary version = " + sm + "\n";
    return trace;
}

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

std::string refusal_of(const std::string& line) {
    return refusal([&] { read_lines(version6(), {line}); });
}

std::string refusal_in_time(const TraceText& trace) {
    return refusal([&] {
        accelsim::TracedKernel kernel(std::make_unique<accelsim::TraceFile>(trace.write()), true);
        read_kernel(kernel);
    });
}

std::string values(int count) {
    std::string text = std::to_string(count);
    for (int i = 0; i < count; ++i) text += " 0x" + std::to_string(1000 + i);
    return text + " ";
}

TEST(TraceVersion6, RegistersOfAllFiles) {
    const TracedWarp warp =
        read_lines(version6(), {"0000 ffffffff 1 UR4 ULDC.64 0 0 0 NoVal", "0010 ffffffff 1 P0 ISETP 4 R1 UR2 P3 UP4 0 0 7 NoVal",
                                "0020 ffffffff 1 R3 R2UR 2 R255 R9 0 0 Val " + values(32) + values(1) + values(1)});
    ASSERT_EQ(warp.size(), 3u);
    EXPECT_EQ(warp[0].inst.reg_count, 0u);
    EXPECT_EQ(warp[1].inst.dst_count, 0u);
    ASSERT_EQ(warp[1].inst.reg_count, 1u);
    EXPECT_EQ(warp[1].inst.regs[0], 1u);
    EXPECT_EQ(warp[2].inst.reg_count, 2u);
    EXPECT_NE(refusal([] { read_lines({}, {"0000 ffffffff 1 UR4 ULDC 0 0 0"}); }).find("expected a register R0 to R255 (1 of 1)"),
              std::string::npos);
    EXPECT_NE(refusal_of("0000 ffffffff 1 Q4 ULDC 0 0 0").find("expected a register R0 to R255, UR, P or UP (1 of 1), found 'Q4'"),
              std::string::npos);
}

TEST(TraceVersion6, EndsOfLines) {
    for (const char* end : {"", " 0", " 18446744073709551615 -5", " NoVal", " 0 NoVal", " 0 0 NoVal ", " Val 1 0xff 1 ff"}) {
        const std::string line = "0000 ffffffff 1 R4 IADD3 1 R2 0" + std::string(end);
        EXPECT_EQ(refusal_of(line), "") << line;
        EXPECT_EQ(refusal_of("0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x1000 4" + std::string(end)), "") << end;
    }
    const std::pair<const char*, const char*> wrong[] = {
        {" 0 0 0", "expected an immediate, Val, NoVal or the end of the line, found '0'"},
        {" 0 Vla", "expected an immediate, Val, NoVal or the end of the line, found 'Vla'"},
        {" NoVal 3", "expected an immediate, Val, NoVal or the end of the line, found '3'"},
        {" 0 Val", "expected the number of values of a register (1 or 32), found the end of the line"},
        {" 0 Val 2 1 2", "a register has 2 values; it must have 1 for all lanes or 32"},
        {" 0 Val 1 0xff", "expected the number of values of a register (1 or 32), found the end of the line"},
        {" 0 Val 1 zz", "expected the value of a register, a hexadecimal number, found 'zz'"},
        {" 0 Val 1 0 1 0 1", "expected an immediate, Val, NoVal or the end of the line, found '1'"}};
    for (const auto& [end, message] : wrong) {
        for (const char* line : {"0000 ffffffff 1 R4 IADD3 1 R2 0", "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x1000 4"}) {
            const std::string found = refusal_of(line + std::string(end));
            EXPECT_NE(found.find(message), std::string::npos) << line << end << ": " << found;
        }
    }
    EXPECT_EQ(refusal([] { read_lines({}, {"0000 ffffffff 1 R4 IADD3 1 R2 0 0 what follows is ignored"}); }), "");
}

TEST(TraceVersion6, GroupProductsHaveAFlag) {
    const TracedWarp warp =
        read_lines(version6(), {"0000 ffffffff 1 R24 HGMMA.64x64x16.F32 2 UR8 R24 1 0 0 NoVal", "0010 ffffffff 0 EXIT 0 0 0"});
    ASSERT_EQ(warp.size(), 2u);
    EXPECT_EQ(warp[0].inst.op, OpClass::tensor);
    EXPECT_NE(
        refusal_of("0000 ffffffff 1 R24 HGMMA.64x64x16.F32 1 R24 2 0 0").find("whether the instruction ends a group of products (0 to 1)"),
        std::string::npos);
}

TEST(TraceVersion6, BulkCopies) {
    accelsim::BulkCopy copy;
    std::string problem;
    const auto scan = [&](const std::string& text) {
        static std::string padded;
        padded = text + "\n" + std::string(64, '\0');
        const char* at = padded.c_str();
        problem.clear();
        return accelsim::scan_bulk_copy(at, copy, problem) != nullptr;
    };
    EXPECT_TRUE(scan(" 0x400 0 128 16 3 2 0x7f0000000000 7f0000000100 0 NoVal"));
    EXPECT_EQ(copy.mbarrier, 0x400u);
    EXPECT_EQ(copy.cta_mask, 0u);
    EXPECT_EQ(copy.bytes, 128u);
    EXPECT_EQ(copy.bytes_out_of_bounds, 16u);
    EXPECT_EQ(copy.addresses, (std::vector<Addr>{0x7f0000000000, 0x7f0000000100}));
    EXPECT_TRUE(scan(" 0x400 1 000f 128 0 4 0x7f0000000000 3 128 -64 0 NoVal"));
    EXPECT_EQ(copy.cta_mask, 0xfu);
    EXPECT_EQ(copy.addresses, (std::vector<Addr>{0x7f0000000000, 0x7f0000000080, 0x7f0000000040}));
    EXPECT_TRUE(scan(" 0 0 0 0 4 0x0 0 NoVal"));
    EXPECT_TRUE(copy.addresses.empty());
    const std::pair<const char*, const char*> wrong[] = {
        {" ", "the address of the mbarrier"},
        {" 0x0 2 0 0 3 0", "the multicast flag of a bulk copy (0 or 1)"},
        {" 0x0 1 10000 0 0 3 0", "a hexadecimal mask of 16 bits"},
        {" 0x0 0 x 0 3 0", "the bytes of a bulk copy"},
        {" 0x0 0 1 x 3 0", "out of bounds"},
        {" 0x0 0 1 0 1 0x0 4", "an address mode of bulk copies (3 list, 4 base and deltas)"},
        {" 0x0 0 1 0 5 0", "the address mode of a bulk copy"},
        {" 0x0 0 1 0 3 65537", "the number of addresses of a bulk copy (0 to 65536)"},
        {" 0x0 0 1 0 3 2 0x0", "a hexadecimal address"},
        {" 0x0 0 1 0 4 0x0 3 5 z", "the distance to the address before"}};
    for (const auto& [text, message] : wrong) {
        EXPECT_FALSE(scan(text));
        EXPECT_NE(problem.find(message), std::string::npos) << text << ": " << problem;
    }
}

/// In windows as well as in blocks that are held as a whole.
TEST(TraceVersion6, BulkCopiesMayHaveThousandsOfAddresses) {
    std::string addresses = "0000 00000001 0 UTMALDG.2D 2 UR4 UR8 0 0x400 0 32768 0 4 0x7f0000000000 4000";
    for (int i = 1; i < 4000; ++i) addresses += " " + std::to_string(i % 3 * 32);
    for (const std::size_t rounds : {1, 40}) {
        Lines lines;
        for (std::size_t i = 0; i < rounds; ++i) {
            lines.push_back(addresses + " 0 NoVal");
            lines.push_back("0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f0000001000 4 0 NoVal");
        }
        const TracedWarp warp = read_lines(version6(), lines);
        ASSERT_EQ(warp.size(), lines.size());
        EXPECT_EQ(warp.back().addresses.front(), 0x7f0000001000u);
    }
}

TEST(TraceVersion6, ReplayMarksAreNoInstructions) {
    Lines lines(3, "0000 ffffffff 0 REPLAY_START 0 0 0 NoVal");
    lines.push_back("0010 ffffffff 1 R1 MOV 1 R2 0 0 NoVal");
    lines.insert(lines.end(), 100'000, "0020 ffffffff 0 REPLAY_END 0 0 0 NoVal");
    const TracedWarp warp = read_lines(version6(), lines);
    ASSERT_EQ(warp.size(), 1u);
    EXPECT_EQ(warp[0].inst.pc, 0x10u);

    std::vector<std::string> warnings;
    accelsim::ReplayOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    TraceText trace = version6();
    const auto workload = accelsim::open_trace(trace.cta("0,0,0", {lines}).write(), options);
    while (const KernelSource* kernel = workload->next_kernel()) read_kernel(*kernel);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("1 kernel with spin loops that the tracer recorded once; they run once"), std::string::npos) << warnings[0];
}

std::string with_cluster(const std::string& rank) {
    TraceText trace = version6();
    trace.grid = "(2,1,1)";
    const Lines lines = {"0000 ffffffff 0 EXIT 0 0 0 NoVal"};
    std::string text = trace.cta("0,0,0", {lines}).cta("1,0,0", {lines}).text();
    const std::string key = "thread block = 1,0,0\n";
    text.insert(text.find(key) + key.size(), "\ncluster id = 0,0,0\ncluster cta = 1,0,0\ncluster rank = " + rank + "\n");
    return text;
}

TEST(TraceVersion6, ClustersAreReadButNotTimed) {
    const std::string path = write_temporary("kernel-1.traceg", with_cluster("1"));
    const accelsim::TraceFile file(path);
    EXPECT_EQ(file.header().cluster_ctas, 2u);
    EXPECT_EQ(read_kernel(*open_kernel(path)).size(), 2u);
    EXPECT_NE(refusal([&] {
                  accelsim::TracedKernel(std::make_unique<accelsim::TraceFile>(path), true);
              }).find(":1: kernel 'test' has thread-block clusters of 2, which have no timing yet; 'mergelane profile' reads this trace"),
              std::string::npos);
    const std::string alone = write_temporary("kernel-2.traceg", with_cluster("0"));
    EXPECT_EQ(accelsim::TraceFile(alone).header().cluster_ctas, 1u);
    EXPECT_NE(refusal([] {
                  accelsim::TraceFile(write_temporary("kernel-1.traceg", with_cluster("x")));
              }).find("expected 'cluster id = x,y,z', 'cluster cta = x,y,z' or 'cluster rank = 0 to 1023', found 'cluster rank = x'"),
              std::string::npos);
}

TEST(TraceVersion6, WhatHasNoTimingIsRefusedByNameWhenTimed) {
    const std::pair<const char*, const char*> lines[] = {
        {"0010 00000001 0 UTMALDG.2D 2 UR4 UR8 0 0x400 0 128 0 3 0 0 NoVal", "UTMALDG.2D is a bulk copy of the tensor memory accelerator"},
        {"0010 00000001 0 UBLKCP.S.G 2 UR4 UR8 0 0x400 0 128 0 3 0 0 NoVal", "UBLKCP.S.G is a bulk copy"},
        {"0010 ffffffff 1 R24 HGMMA.64x64x16.F32 2 UR8 R24 1 0 0 NoVal", "HGMMA.64x64x16.F32 is a matrix product of a group of four warps"},
        {"0010 ffffffff 0 UCGABAR_ARV 0 0 0 NoVal", "UCGABAR_ARV is an instruction of thread-block clusters"},
        {"0010 ffffffff 0 STAS 2 R2 R3 4 1 0x0 4 0 NoVal", "STAS is an instruction of thread-block clusters"}};
    for (const auto& [line, message] : lines) {
        TraceText trace = version6();
        trace.cta("0,0,0", {{"0000 ffffffff 1 R1 MOV 1 R2 0 0 NoVal", line, "0020 ffffffff 0 EXIT 0 0 0 NoVal"}});
        const std::string found = refusal_in_time(trace);
        EXPECT_NE(found.find(message), std::string::npos) << found;
        EXPECT_NE(found.find(", which has no timing yet; 'mergelane profile' reads this trace"), std::string::npos) << found;
        EXPECT_NE(found.find(".traceg:24: "), std::string::npos) << found;
        EXPECT_EQ(refusal([&] { read_kernel(*open_kernel(trace.write())); }), "");
    }
    TraceText unknown;
    unknown.cta("0,0,0", {{"0000 ffffffff 1 R1 WARBLE.E 1 R2 4 1 0x1000 4 0"}});
    EXPECT_NE(refusal_in_time(unknown).find("WARBLE.E accesses memory, but how is unknown; add it to the table in"), std::string::npos);
    TraceText harmless;
    harmless.cta("0,0,0", {{"0000 ffffffff 1 R1 WARBLE.E 1 R2 0 0"}});
    EXPECT_EQ(refusal_in_time(harmless), "");
}

TEST(TracesOfAmpere, AsynchronousCopies) {
    TraceText trace;
    trace.more_header = "-binary version = 80\n";
    const Lines lines = {"0000 ffffffff 0 LDGSTS.E.BYPASS.LTC128B.128 2 R3 R2 16 1 0x7f0000000000 16 0", "0010 ffffffff 0 LDGDEPBAR 0 0 0",
                         "0020 ffffffff 0 DEPBAR.LE 0 0 1", "0020 ffffffff 0 DEPBAR.LE 0 0 0", "0030 ffffffff 0 DEPBAR 0 0 5"};
    const TracedWarp warp = read_lines(trace, lines);
    EXPECT_TRUE(warp[0].inst.async);
    EXPECT_TRUE(warp[0].inst.bypass_l1);
    EXPECT_EQ(warp[0].inst.op, OpClass::load);
    EXPECT_EQ(warp[0].inst.lane_bytes, 16u);
    EXPECT_TRUE(warp[1].inst.async);
    EXPECT_EQ(warp[1].inst.op, OpClass::fence);
    EXPECT_EQ(warp[1].inst.lane_bytes, StaticInst::kEndsGroup);
    EXPECT_EQ(warp[2].inst.op, OpClass::fence);
    EXPECT_EQ(warp[2].inst.lane_bytes, 1u);
    EXPECT_EQ(warp[3].inst.lane_bytes, 0u);
    EXPECT_EQ(warp[4].inst.op, OpClass::int_add);
    EXPECT_FALSE(warp[4].inst.async);
    EXPECT_EQ(read_lines({}, lines)[2].inst.op, OpClass::int_add) << "before Ampere it waits for scoreboards";
}

/// A warp copies, ends the group and waits, or does not wait: the difference is the time of the copy.
TEST(TracesOfAmpere, WaitsTakeTime) {
    const auto cycles = [](bool waits) {
        TraceText trace;
        trace.more_header = "-binary version = 80\n";
        Lines lines;
        for (int i = 0; i < 20; ++i) {
            lines.push_back("0000 ffffffff 0 LDGSTS.E.128 2 R3 R2 16 1 0x7f00000" + std::to_string(10 + i) + "000 16 0");
            lines.emplace_back("0010 ffffffff 0 LDGDEPBAR 0 0 0");
            lines.push_back(waits ? "0020 ffffffff 0 DEPBAR.LE 0 0 0" : "0020 ffffffff 0 NOP 0 0 0");
        }
        lines.emplace_back("0030 ffffffff 0 EXIT 0 0 0");
        accelsim::ReplayOptions options;
        options.timed = true;
        const auto workload = accelsim::open_trace(trace.cta("0,0,0", {lines}).write(), options);
        return run_on(valid(icc60_like(3)), *workload).cycles;
    };
    EXPECT_GT(cycles(true), 3 * cycles(false));
}

TEST(TracesOfAmpere, MatrixProductsCountByTheirShape) {
    const std::pair<const char*, std::size_t> expected[] = {{"HMMA.884.F32.F32.STEP0", 1},
                                                            {"HMMA.1688.F16", 4},
                                                            {"HMMA.16816.F32", 8},
                                                            {"HMMA.16816.F32.BF16", 8},
                                                            {"HMMA.1688.F32.TF32", 8},
                                                            {"HMMA.1684.F32.TF32", 4},
                                                            {"HMMA.SP.16832.F32", 8},
                                                            {"DMMA.884", 16},
                                                            {"DMMA.8x8x4", 16},
                                                            {"IMMA.8816.S8.S8", 2},
                                                            {"IMMA.16832.S8.S8.SAT", 8},
                                                            {"IMMA.16864.S4.S4", 8},
                                                            {"BMMA.168256.XOR.POPC", 8},
                                                            {"QMMA.16832.F32.E4M3.E4M3", 8},
                                                            {"HMMA", 1}};
    for (const auto& [opcode, count] : expected) {
        const TracedWarp warp =
            read_lines({}, {"0000 ffffffff 1 R4 " + std::string(opcode) + " 3 R8 R10 R4 0 0", "0010 ffffffff 0 EXIT 0 0 0"});
        ASSERT_EQ(warp.size(), count + 1) << opcode;
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(warp[i].inst.op, OpClass::tensor);
            EXPECT_EQ(warp[i].inst.dst_count, i + 1 == count ? 1u : 0u);
            EXPECT_EQ(warp[i].inst.reg_count - warp[i].inst.dst_count, 3);
        }
    }
}

TEST(TracesOfAmpere, MatrixLoadsAccessOneMatrixAtATime) {
    // Rows of 16 bytes at a distance of 64 bytes.
    const std::string end = " 1 R2 16 1 0x100 64 0";
    for (const std::size_t matrices : {1u, 2u, 4u}) {
        const std::string opcode = matrices == 1 ? "LDSM.16.M88" : "LDSM.16.MT88." + std::to_string(matrices);
        for (int repetition = 0; repetition < 2; ++repetition) {
            const TracedWarp warp = read_lines({}, Lines(3, "0000 ffffffff 1 R4 " + opcode + end));
            ASSERT_EQ(warp.size(), 3 * matrices);
            for (std::size_t m = 0; m < warp.size(); ++m) {
                EXPECT_EQ(warp[m].inst.space, Space::shared);
                EXPECT_EQ(warp[m].inst.lane_bytes, 4u);
                EXPECT_EQ(warp[m].inst.dst_count, (m + 1) % matrices == 0 ? 1u : 0u);
                for (std::size_t lane = 0; lane < 32; ++lane)
                    EXPECT_EQ(warp[m].addresses[lane], 0x100 + 64 * (8 * (m % matrices) + lane / 4) + 4 * (lane % 4));
            }
        }
    }
    EXPECT_EQ(read_lines({}, {"0000 000000ff 1 R4 LDSM.16.M88.4" + end}).size(), 1u);
}

}  // namespace
}  // namespace mergelane::testing
