// SPDX-License-Identifier: MIT
// The trace reader on every variant of the format.
#include <gtest/gtest.h>
#include <lzma.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "core/error.hpp"
#include "traces.hpp"

namespace mergelane::testing {
namespace {

using accelsim::TracedKernel;

const std::vector<std::string> kLoadAndExit = {"0000 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 0x7f4b00001000 4 0", "0010 ffffffff 0 EXIT 0 0 0"};

std::vector<std::string> with_prefix(const std::string& prefix, std::vector<std::string> lines) {
    for (std::string& line : lines) line = prefix + line;
    return lines;
}

std::vector<Addr> ascending(Addr base, std::int64_t stride, std::uint32_t count) {
    std::vector<Addr> list;
    for (std::uint32_t i = 0; i < count; ++i) list.push_back(base + static_cast<Addr>(stride) * i);
    return list;
}

/// The addresses of one load with the given mask, mode and address text.
std::vector<Addr> load(const std::string& mask, const std::string& addresses, const std::string& opcode = "LDG.E") {
    return read_lines({}, {"0000 " + mask + " 1 R4 " + opcode + " 1 R2 4 " + addresses}).at(0).addresses;
}

std::string compressed(const std::string& text) {
    std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
    std::size_t size = 0;
    EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                      reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size()),
              LZMA_OK);
    packed.resize(size);
    return packed;
}

/// Instructions of all kinds with lines of very different lengths.
std::vector<std::string> varied_lines(std::uint32_t seed, std::size_t bytes) {
    std::mt19937 source(seed);
    const auto random = [&source] { return static_cast<std::uint32_t>(source()); };
    std::vector<std::string> lines;
    for (std::size_t size = 0; size < bytes; size += lines.back().size() + 1) {
        const std::uint32_t kind = random() % 5;
        const std::uint32_t mask = kind == 0 ? 0xffffffffu : random();
        const int active = std::popcount(mask);
        char begin[64];
        std::snprintf(begin, sizeof begin, "%04x %08x 1 R%u ", random() % 200 * 16, mask, random() % 256);
        std::string line = begin;
        if (kind == 1 || active == 0) {
            line += "FFMA 3 R2 R3 R4 0 " + std::to_string(static_cast<int>(random() % 2000) - 1000);
        } else if (kind == 2) {
            line += "LDG.E.64.SYS 1 R2 8 0";
            for (int i = 0; i < active; ++i) {
                std::snprintf(begin, sizeof begin, " 0x%08x%08x", random(), random());
                line += begin;
            }
            line += " 0";
        } else if (kind == 3) {
            line += "STG.E 2 R2 R3 4 2 0x7f4b00000000";
            for (int i = 1; i < active; ++i) line += " " + std::to_string(static_cast<std::int64_t>(random()) >> random() % 32);
            line += " 0";
        } else {
            line += "LDS.U8 1 R2 1 1 0x" + std::to_string(random() % 1000) + " -" + std::to_string(random() % 64) + " 0";
        }
        lines.push_back(line);
        if (random() % 16 == 0) lines.back() += "\n  \n";
    }
    return lines;
}

/// Text that was seen before is recognised as a whole; what it means must not depend on what was seen first.
TEST(TraceReader, RepeatedTextMeansTheSameInEveryWarp) {
    const auto lines = [](int warp) {
        const std::string base = " 0x7f4b0000" + std::to_string(1000 + 128 * warp);
        std::vector<std::string> list = {
            "0000 ffffffff 1 R1 MOV 0 0 0 ",
            "0010 ffffffff 1 R2 IMAD 2 R1 R3 0 0 ",
            "0020 ffffffff 1 R4 LDG.E 1 R2 4 1" + base + " 4 0 ",
            "0030 ffffffff 1 R4 LDG.E 1 R2 4 2" + base + " 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 68 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 0 ",
            "0040 ffffffff 1 R5 LD.E 1 R4 4 1 " + std::string(warp % 2 == 0 ? "0x7f4ace000040" : "0x100040") + " 4 0 ",
            "0050 000000ff 1 R6 FADD 2 R4 R5 0 0 ",
            "0060 ffffffff 0 EXIT 0 0 0 "};
        if (warp == 2) list[1] = "0010  ffffffff 1 R2 IMAD 2 R1 R3 0 0 ";  // one blank more, the same meaning
        if (warp == 3) list[1] = "0010 ffffffff 1 R2 IMAD 2 R1 R33 0 0 ";  // another register
        if (warp == 4) list[2] = "0020 0000ffff 1 R4 LDG.E 1 R2 4 1" + base + " 4 0 ";
        if (warp == 5) list[2] = "0020 ffffffff 1 R4 LDG.E 1 R2 4 1" + base + " 44 0 ";
        if (warp == 6) list.resize(2);
        if (warp == 7) list[2] = "0020 ffffffff 1 R4 LDG.E 1 R2 4 1" + base + "0 4 0 ";
        return list;
    };
    TraceText trace;
    trace.block = "(512,1,1)";
    std::vector<std::vector<std::string>> warps;
    for (int w = 0; w < 16; ++w) warps.push_back(lines(w % 8));
    const auto kernel = open_kernel(trace.cta("0,0,0", warps).write());
    const std::vector<TracedWarp> read = read_kernel(*kernel).front();
    for (std::size_t w = 0; w < 16; ++w) {
        const TracedWarp alone = read_lines({}, warps[w]);
        EXPECT_EQ(alone.size(), warps[w].size());
        EXPECT_EQ(read[w], alone) << "warp " << w;
    }
    EXPECT_EQ(read[0][4].inst.space, Space::shared);
    EXPECT_EQ(read[1][4].inst.space, Space::global);
    EXPECT_EQ(read[5][2].addresses, ascending(0x7f4b00001640, 44, 32));
}

TEST(TraceReader, HeaderBecomesKernelInfo) {
    TraceText trace;
    trace.name = "_Z6vecaddPKfS0_Pf";
    trace.grid = "(2,1,1)";
    trace.block = "(16,4,2)";
    trace.more_header = "-shmem = 4096\n-nregs = 40\n-some new key = whatever\n";
    const std::vector<std::vector<std::string>> warps(4, kLoadAndExit);
    const auto kernel = open_kernel(trace.cta("0,0,0", warps).cta("1,0,0", warps).write());
    EXPECT_EQ(kernel->info().name, "_Z6vecaddPKfS0_Pf");
    EXPECT_EQ(kernel->info().ctas(), 2u);
    EXPECT_EQ(kernel->info().warps_per_cta(), 4u);
    EXPECT_EQ(kernel->info().block.y, 4u);
    EXPECT_EQ(kernel->info().shared_bytes, 4096u);
    EXPECT_EQ(kernel->info().registers_per_thread, 40u);
}

TEST(TraceReader, InstructionsBecomeWhatTheMachineNeeds) {
    const TracedWarp warp = read_lines(
        {}, {"0a10 0000ffff 1 R4 LDG.E.128.STRONG.GPU 2 R2 R255 16 1 0x7f4b00001000 16 0", "0a20 ffffffff 0 STS.U8 2 R7 R8 1 1 0x40 1 0",
             "0a30 00000001 1 R255 RED.E.ADD 1 R9 4 1 0x7f4b00001000 0 0", "0a40 ffffffff 0 BAR.SYNC 0 0 0",
             "0a50 ffffffff 1 R1 FFMA 3 R2 R3 R4 0 -7", "0a60 ffffffff 1 R6 LDL.64 1 R2 8 1 0x100 8 0", "0a70 ffffffff 0 EXIT 0 0 0"});
    ASSERT_EQ(warp.size(), 7u);
    EXPECT_EQ(warp[0].inst.pc, 0xa10u);
    EXPECT_EQ(warp[0].inst.op, OpClass::load);
    EXPECT_EQ(warp[0].inst.space, Space::global);
    EXPECT_EQ(warp[0].inst.lane_bytes, 16u);
    EXPECT_TRUE(warp[0].inst.bypass_l1);
    EXPECT_EQ(warp[0].active, 0xffffu);
    EXPECT_EQ(warp[0].inst.dst_count, 1u);
    EXPECT_EQ(warp[0].inst.reg_count, 2u) << "R255 is always zero and never waited for";
    EXPECT_EQ(warp[0].inst.regs[0], 4u);
    EXPECT_EQ(warp[0].inst.regs[1], 2u);
    EXPECT_EQ(warp[0].addresses, ascending(0x7f4b00001000, 16, 16));
    EXPECT_EQ(warp[1].inst.op, OpClass::store);
    EXPECT_EQ(warp[1].inst.space, Space::shared);
    EXPECT_EQ(warp[1].inst.lane_bytes, 1u);
    EXPECT_EQ(warp[1].inst.dst_count, 0u);
    EXPECT_EQ(warp[2].inst.op, OpClass::atomic);
    EXPECT_EQ(warp[2].inst.dst_count, 0u);
    EXPECT_EQ(warp[3].inst.op, OpClass::barrier);
    EXPECT_EQ(warp[3].inst.lane_bytes, 0u) << "barrier 0";
    EXPECT_EQ(warp[4].inst.op, OpClass::fp_mad);
    EXPECT_EQ(warp[4].inst.reg_count, 4u);
    EXPECT_EQ(warp[5].inst.space, Space::local);
    EXPECT_EQ(warp[5].inst.lane_bytes, 8u);
    EXPECT_EQ(warp[6].inst.op, OpClass::exit);
}

TEST(TraceReader, EveryVersionSaysTheSame) {
    const TracedWarp expected = read_lines({}, kLoadAndExit);
    ASSERT_EQ(expected.size(), 2u);
    ASSERT_EQ(expected[0].addresses, ascending(0x7f4b00001000, 4, 32));
    for (const char* version : {"", "1.2", "2", "3", "4", "5"}) {
        TraceText trace;
        trace.version = version;
        const bool prefix = trace.version.empty() || trace.version[0] < '3';
        std::vector<std::string> lines = prefix ? with_prefix("0 0 0 0 ", kLoadAndExit) : kLoadAndExit;
        EXPECT_EQ(read_lines(trace, lines), expected) << "version " << version;
        // The immediate at the end came with version 4.
        for (std::string& line : lines) line.erase(line.size() - 2);
        if (trace.version.empty() || trace.version[0] < '5') {
            EXPECT_EQ(read_lines(trace, lines), expected) << "version " << version << " without immediates";
        }
    }
    TraceText with_lines;
    with_lines.version = "4";
    with_lines.line_numbers = true;
    EXPECT_EQ(read_lines(with_lines, with_prefix("117 ", kLoadAndExit)), expected);
    with_lines.version = "1.2";
    EXPECT_EQ(read_lines(with_lines, with_prefix("0 0 0 0 117 ", kLoadAndExit)), expected);
}

TEST(TraceReader, AddressModesSayTheSame) {
    const std::vector<Addr> expected = {0x7f4b00000ff8, 0x7f4b00000ffc, 0x7f4b00001000, 0x7f4b00001004};
    EXPECT_EQ(load("0000000f", "1 0x7f4b00000ff8 4 0"), expected);
    EXPECT_EQ(load("0000000f", "0 0x7f4b00000ff8 0x7f4b00000ffc 0x7f4b00001000 0x7f4b00001004 0"), expected);
    EXPECT_EQ(load("0000000f", "0 7F4B00000FF8 7f4b00000ffc 0X7f4b00001000 0x00007f4b00001004"), expected);
    EXPECT_EQ(load("0000000f", "2 0x7f4b00000ff8 4 4 4 0"), expected);
    EXPECT_EQ(load("0000000f", "2  0x7f4b00000ff8\t4   4 4"), expected);
}

TEST(TraceReader, NegativeStridesAndDeltas) {
    EXPECT_EQ(load("ffffffff", "1 0x7f4b00001000 -8 0"), ascending(0x7f4b00001000, -8, 32));
    EXPECT_EQ(load("00000007", "2 0x1000 -16 999999999999 0"), (std::vector<Addr>{0x1000, 0xff0, 0xff0 + 999999999999}));
    EXPECT_EQ(load("0000001f", "2 0x10000000 12345678 -12345678 1234567 -123456789 0"),
              (std::vector<Addr>{0x10000000, 0x10000000 + 12345678, 0x10000000, 0x10000000 + 1234567, 0x10000000 + 1234567 - 123456789}));
    EXPECT_EQ(load("00000003", "2 0x0 -999999999999999999 0"), (std::vector<Addr>{0, Addr{0} - 999999999999999999}));
    EXPECT_EQ(load("00000003", "1 0xffffffffffffffff 999999999999999999 0"), (std::vector<Addr>{~Addr{0}, 999999999999999998}));
    for (std::uint64_t value = 1; value < 1'000'000'000'000'000'000; value = value * 7 + 3) {
        EXPECT_EQ(load("00000003", "2 0x0 " + std::to_string(value) + " 0").at(1), value);
        EXPECT_EQ(load("00000003", "2 0x0 -" + std::to_string(value)).at(1), Addr{0} - value);
    }
}

TEST(TraceReader, MasksWithHoles) {
    // The stride counts lanes from the first active one; list and deltas name active lanes only.
    EXPECT_EQ(load("80000014", "1 0x1000 4 0"), (std::vector<Addr>{0x1000, 0x1008, 0x1000 + 4 * 29}));
    EXPECT_EQ(load("80000014", "0 0x1000 0x2000 0x3000 0"), (std::vector<Addr>{0x1000, 0x2000, 0x3000}));
    EXPECT_EQ(load("80000014", "2 0x1000 4 4 0"), (std::vector<Addr>{0x1000, 0x1004, 0x1008}));
    EXPECT_EQ(load("80000000", "2 0x1000 0"), (std::vector<Addr>{0x1000}));
    EXPECT_EQ(load("80000000", "0 0x1000 0"), (std::vector<Addr>{0x1000}));
}

TEST(TraceReader, PredicatedOffAccessesTouchNothing) {
    const TracedWarp warp = read_lines({}, {"0000 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0 0", "0010 00000000 1 R4 LD.E 1 R2 4 1 0x0 0 0",
                                            "0020 00000000 0 EXIT 0 0 0", "0030 ffffffff 0 EXIT 0 0 0"});
    ASSERT_EQ(warp.size(), 4u);
    EXPECT_EQ(warp[0].active, 0u);
    EXPECT_EQ(warp[1].inst.op, OpClass::load);
    EXPECT_EQ(warp[3].active, 0xffffffffu);
}

TEST(TraceReader, AMemoryOpcodeWithoutAddressesIsAnOrdinaryInstruction) {
    const TracedWarp warp = read_lines({}, {"0000 ffffffff 1 R4 LDG.E 1 R2 0 0", "0010 ffffffff 1 R4 LD.E 1 R2 0 0"});
    EXPECT_EQ(warp.at(0).inst.op, OpClass::int_add);
    EXPECT_EQ(warp.at(1).inst.op, OpClass::int_add);
}

TEST(TraceReader, AccessWidths) {
    const auto bytes = [](const std::string& opcode) {
        return read_lines({}, {"0000 ffffffff 1 R4 " + opcode + " 1 R2 4 1 0x1000 16 0"}).at(0).inst.lane_bytes;
    };
    EXPECT_EQ(bytes("LDG.E"), 4);
    EXPECT_EQ(bytes("LDG.E.64"), 8);
    EXPECT_EQ(bytes("LDG.E.128.CONSTANT"), 16);
    EXPECT_EQ(bytes("LDG.E.U8"), 1);
    EXPECT_EQ(bytes("LDG.E.U16"), 2);
    EXPECT_EQ(bytes("LDG.E.S16"), 4) << "as the reference reads it";
}

TEST(TraceReader, GenericAccessesGoWhereTheirAddressPoints) {
    const auto space = [](const std::string& opcode, const std::string& address) {
        const TracedWarp warp = read_lines({}, {"0000 ffffffff 1 R4 " + opcode + " 1 R2 4 1 " + address + " 4 0"});
        EXPECT_EQ(warp.at(0).addresses.size(), 32u);
        return warp.at(0).inst.space;
    };
    EXPECT_EQ(space("LD.E", "0x7f4b00000000"), Space::global);
    EXPECT_EQ(space("LD.E", "0x7f4ace000000"), Space::shared);
    EXPECT_EQ(space("LD.E", "0x7f4aceffff00"), Space::shared);
    EXPECT_EQ(space("LD.E", "0x7f4acf000000"), Space::global);
    EXPECT_EQ(space("LD.E", "0x7f4acdffffff"), Space::global);
    EXPECT_EQ(space("ST.E", "0x7f4ad0000010"), Space::local);
    EXPECT_EQ(space("LDG.E", "0x7f4ace000000"), Space::global) << "only generic instructions look";
    // One instruction of the program, first to one window, then to another.
    const TracedWarp warp =
        read_lines({}, {"0000 ffffffff 1 R4 LD.E 1 R2 4 1 0x7f4ace000000 4 0", "0000 ffffffff 1 R4 LD.E 1 R2 4 0 0x1000" + [] {
                            std::string more;
                            for (int i = 1; i < 32; ++i) more += " 0x1000";
                            return more;
                        }()});
    EXPECT_EQ(warp.at(0).inst.space, Space::shared);
    EXPECT_EQ(warp.at(1).inst.space, Space::global);
}

TEST(TraceReader, OnePlaceMayHoldSeveralInstructions) {
    const TracedWarp warp =
        read_lines({}, {"0000 ffffffff 1 R4 FADD 1 R2 0 0", "0000 ffffffff 1 R4 FADD 1 R3 0 0", "0000 ffffffff 1 R4 FADD 1 R2 0 0",
                        "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x1000 4 0", "0000 ffffffff 1 R4 LDG.E 1 R2 41 1 0x1000 4 0"});
    EXPECT_EQ(warp.at(0).inst.regs[1], 2u);
    EXPECT_EQ(warp.at(1).inst.regs[1], 3u);
    EXPECT_EQ(warp.at(2), warp.at(0));
    EXPECT_EQ(warp.at(3).addresses, warp.at(4).addresses) << "the width says only whether addresses follow";
}

TEST(TraceReader, BlankLinesTabsAndWindowsLineEnds) {
    TraceText trace;
    trace.block = "(64,1,1)";
    trace.cta("0,0,0", {kLoadAndExit, kLoadAndExit});
    const auto expected = read_kernel(*open_kernel(trace.write()));
    const std::string text = trace.text();
    std::string windows;
    for (const char c : text) windows += c == '\n' ? "\r\n" : std::string(1, c);
    EXPECT_EQ(read_kernel(*open_kernel(write_temporary("kernel-windows.traceg", windows))), expected);
    const std::size_t body = text.find("#BEGIN_TB");
    std::string airy = text.substr(0, body);
    for (const char c : text.substr(body)) airy += c == '\n' ? " \t\n\n  \n  " : c == ' ' ? " \t " : std::string(1, c);
    airy.replace(airy.find("thread \t block"), 14, "thread block");
    EXPECT_EQ(read_kernel(*open_kernel(write_temporary("kernel-airy.traceg", airy))), expected);
}

TEST(TraceReader, TheLastLineNeedsNoLineBreak) {
    TraceText trace;
    trace.cta("0,0,0", {kLoadAndExit});
    std::string text = trace.text();
    while (text.back() == '\n') text.pop_back();
    EXPECT_EQ(read_kernel(*open_kernel(write_temporary("kernel-end.traceg", text))), read_kernel(*open_kernel(trace.write())));
}

TEST(TraceReader, WarpWithoutInstructions) {
    TraceText trace;
    trace.block = "(64,1,1)";
    const auto ctas = read_kernel(*open_kernel(trace.cta("0,0,0", {{}, kLoadAndExit}).write()));
    EXPECT_EQ(ctas[0][0].size(), 0u);
    EXPECT_EQ(ctas[0][1].size(), 2u);
}

/// CTA (x,y,z) loads from an address that tells where it is.
std::vector<std::vector<std::string>> labelled(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t warps) {
    std::vector<std::vector<std::string>> lines;
    for (std::uint32_t w = 0; w < warps; ++w) {
        char line[100];
        std::snprintf(line, sizeof line, "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x%x%x%x%x000 4 0", z + 1, y, x, w);
        lines.push_back({line, kLoadAndExit[1]});
    }
    return lines;
}

TEST(TraceReader, BlocksAndWarpsInAnyOrderOpenedInAnyOrder) {
    struct Id {
        std::uint32_t x, y, z;
    };
    std::vector<Id> ids;
    for (std::uint32_t z = 0; z < 2; ++z)
        for (std::uint32_t y = 0; y < 3; ++y)
            for (std::uint32_t x = 0; x < 4; ++x) ids.push_back({x, y, z});
    std::mt19937 random(7);
    for (int round = 0; round < 4; ++round) {
        TraceText trace;
        trace.grid = "(4,3,2)";
        trace.block = "(96,1,1)";
        if (round != 0) std::shuffle(ids.begin(), ids.end(), random);
        for (const Id& id : ids) {
            std::vector<std::pair<std::uint32_t, std::vector<std::string>>> warps;
            const auto lines = labelled(id.x, id.y, id.z, 3);
            for (std::uint32_t w = 0; w < 3; ++w)
                warps.emplace_back((w + static_cast<std::uint32_t>(round)) % 3, lines[(w + static_cast<std::uint32_t>(round)) % 3]);
            trace.cta_in_order(std::to_string(id.x) + "," + std::to_string(id.y) + "," + std::to_string(id.z), warps);
        }
        const auto kernel = open_kernel(trace.write());
        const auto stream = kernel->make_stream();
        std::vector<std::uint64_t> order(24);
        for (std::uint64_t i = 0; i < 24; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random);
        for (const std::uint64_t cta : order) {
            const auto warps = read_cta(*stream, kernel->info(), cta);
            for (std::uint32_t w = 0; w < 3; ++w) {
                const Addr place = ((cta / 12 + 1) << 12 | (cta / 4 % 3) << 8 | (cta % 4) << 4 | w) << 12;
                // The label has one hexadecimal digit for each of z, y, x and w.
                EXPECT_EQ(warps[w].at(0).addresses.at(0), place) << "block " << cta << " warp " << w;
            }
        }
    }
}

TEST(TraceReader, LongBlocksAreReadInWindowsWithTheSameResult) {
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
        std::vector<std::vector<std::string>> warps;
        for (std::uint32_t w = 0; w < 5; ++w) {
            auto lines = varied_lines(seed * 10 + w, 60'000);
            // Blank lines belong to the line before; they are no instructions.
            warps.push_back(lines);
        }
        TraceText together;
        together.block = "(160,1,1)";
        together.cta("0,0,0", warps);
        ASSERT_GT(together.text().size(), std::size_t{256} << 10);
        const auto windowed = read_kernel(*open_kernel(together.write("kernel-long.traceg")));
        for (std::uint32_t w = 0; w < 5; ++w) {
            TraceText alone;
            alone.cta("0,0,0", {warps[w]});
            ASSERT_LT(alone.text().size(), std::size_t{128} << 10);
            const auto whole = read_kernel(*open_kernel(alone.write("kernel-short.traceg")));
            ASSERT_EQ(windowed[0][w].size(), warps[w].size());
            EXPECT_TRUE(windowed[0][w] == whole[0][0]) << "seed " << seed << " warp " << w;
        }
    }
}

TEST(TraceReader, ShortAndLongBlocksTakeTurns) {
    TraceText trace;
    trace.grid = "(4,1,1)";
    trace.block = "(64,1,1)";
    const auto lines = varied_lines(3, 90'000);
    for (int cta = 0; cta < 4; ++cta)
        trace.cta(std::to_string(cta) + ",0,0", cta % 2 == 0 ? std::vector{kLoadAndExit, lines} : std::vector{lines, lines});
    const auto ctas = read_kernel(*open_kernel(trace.write()));
    EXPECT_TRUE(ctas[0] == ctas[2]);
    EXPECT_TRUE(ctas[1] == ctas[3]);
    EXPECT_TRUE(ctas[0][1] == ctas[1][0]);
}

TEST(TraceReader, ErrorsInWindowsNameTheirLine) {
    for (const bool long_block : {false, true}) {
        std::vector<std::string> lines(long_block ? 5000 : 1000, kLoadAndExit[0]);
        lines[lines.size() - 10] = "0000 ffffffff 1 R4 LDG.E.SYS 1 R2 4 7 0x7f4b00001000 4 0";
        TraceText trace;
        const std::string path = trace.cta("0,0,0", {lines}).write("kernel-error.traceg");
        const std::string text = trace.text();
        const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(" 4 7 ")), '\n') + 1;
        try {
            read_kernel(*open_kernel(path));
            FAIL() << "accepted";
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("kernel-error.traceg:" + std::to_string(line) + ": expected an address mode"),
                      std::string::npos)
                << error.what();
        }
    }
}

TEST(TraceReader, LinesUpToFourKibibytesAreReadEverywhere) {
    for (const std::size_t lines : {std::size_t{10}, std::size_t{100}}) {
        for (const std::size_t length : {std::size_t{4095}, std::size_t{4096}}) {
            std::string line = "0000 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 ";
            line += std::string(length - line.size() - 20, ' ') + "0x7f4b00001000 128 0";
            ASSERT_EQ(line.size(), length);
            const auto read = [&] { return read_lines({}, std::vector<std::string>(lines, line)); };
            if (length == 4096) {
                EXPECT_THROW(read(), InputError);
                continue;
            }
            for (const TracedInst& inst : read()) EXPECT_EQ(inst.addresses, ascending(0x7f4b00001000, 128, 32));
        }
    }
}

TEST(TraceReader, CompressedEqualsPlain) {
    TraceText trace;
    trace.grid = "(3,1,1)";
    for (int cta = 0; cta < 3; ++cta) trace.cta(std::to_string(cta) + ",0,0", {varied_lines(static_cast<std::uint32_t>(cta), 400'000)});
    const std::string text = trace.text();
    const auto expected = read_kernel(*open_kernel(trace.write()));
    EXPECT_TRUE(read_kernel(*open_kernel(write_temporary("kernel-1.traceg.xz", compressed(text)))) == expected);
    // Several streams behind one another, as 'cat a.xz b.xz' and some parallel packers make them.
    const std::string two = compressed(text.substr(0, 100'001)) + compressed(text.substr(100'001));
    EXPECT_TRUE(read_kernel(*open_kernel(write_temporary("kernel-2.traceg.xz", two))) == expected);
}

TEST(TraceReader, ProgressIsTold) {
    TraceText trace;
    const std::string path = trace.cta("0,0,0", {varied_lines(1, 3'000'000)}).write();
    std::uint64_t last = 0;
    std::uint64_t all = 0;
    const accelsim::TraceFile file(path, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_GE(done, last);
        last = done;
        all = total;
    });
    EXPECT_EQ(last, trace.text().size());
    EXPECT_EQ(all, trace.text().size());
}

/// A list of `count` kernels named k1, k2, ..., some lines of which are other things.
std::string write_list(int count, const std::string& odd_line = "") {
    std::string list = "MemcpyHtoD,0x7f4b00000000,4096\r\n\n" + odd_line;
    for (int k = 1; k <= count; ++k) {
        TraceText trace;
        trace.name = "k" + std::to_string(k);
        trace.cta("0,0,0", {{"0000 ffffffff 0 WARBLE.X 0 0 0", "0010 ffffffff 0 NOVEL 0 0 0", kLoadAndExit[1]}})
            .write("kernel-" + trace.name + ".traceg");
        list += "kernel-" + trace.name + ".traceg \n";
    }
    return write_temporary("kernelslist.g", list);
}

std::vector<std::string> names_of(const std::string& list, accelsim::ReplayOptions options, const std::string& range = "") {
    if (!range.empty()) accelsim::parse_kernel_range(range, options);
    const auto workload = accelsim::open_trace(list, options);
    std::vector<std::string> names;
    while (const KernelSource* kernel = workload->next_kernel()) {
        read_kernel(*kernel);
        names.push_back(kernel->info().name);
    }
    return names;
}

TEST(TraceReader, KernelsOfAListInOrder) {
    using Names = std::vector<std::string>;
    const std::string list = write_list(4);
    EXPECT_EQ(names_of(list, {}), (Names{"k1", "k2", "k3", "k4"}));
    EXPECT_EQ(names_of(list, {}, "3"), (Names{"k3"}));
    EXPECT_EQ(names_of(list, {}, "2-3"), (Names{"k2", "k3"}));
    EXPECT_EQ(names_of(list, {}, "3-"), (Names{"k3", "k4"}));
    EXPECT_EQ(names_of(list, {}, "2-99"), (Names{"k2", "k3", "k4"}));
    EXPECT_THROW(names_of(list, {}, "5"), InputError);
    for (const char* wrong : {"0", "-", "-3", "3-2", "a", "1-b", "1,2", "1-2-3", " 1", "99999999999999999999", "1\n"})
        EXPECT_THROW(names_of(list, {}, wrong), InputError) << wrong;
}

TEST(TraceReader, UnknownOpcodesAreListedOnceAndCountAsArithmetic) {
    std::vector<std::string> warnings;
    accelsim::ReplayOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    EXPECT_EQ(names_of(write_list(3), options).size(), 3u);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("NOVEL, WARBLE"), std::string::npos) << warnings[0];
    EXPECT_EQ(read_lines({}, {"0000 ffffffff 1 R4 WARBLE 1 R2 4 1 0x1000 4 0"}).at(0).inst.op, OpClass::int_add);
}

TEST(TraceReader, OtherLinesOfAListAreNamedOnce) {
    std::vector<std::string> warnings;
    accelsim::ReplayOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    accelsim::open_trace(write_list(1, "cudaFree\x1b[2J\ncudaFree\n"), options);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("kernelslist.g:3: 'cudaFree?[2J' is neither a kernel nor a copy and is ignored, as are 1 more lines"),
              std::string::npos)
        << warnings[0];
}

/// Text of hundreds of megabytes with large CTAs passes through a few windows.
TEST(TraceReader, MemoryDoesNotGrowWithTheTrace) {
#ifdef NDEBUG
    constexpr std::uint64_t kBytes = 300'000'000;
#else
    constexpr std::uint64_t kBytes = 60'000'000;
#endif
    constexpr std::uint32_t kCtas = 20;
    constexpr std::uint32_t kWarps = 8;
    const std::string line =
        "00a0 ffffffff 1 R5 LDG.E.SYS 1 R4 4 2 0x7f4b41132d8c -9564008 25764732 -18408004 5 -6166500 3 4 4 4 4 4 4 4 4 4 4 4 4 4 4 "
        "4 4 4 4 4 4 4 4 4 4 4 0\n";
    const std::uint64_t lines = kBytes / kCtas / kWarps / line.size();
    const std::string path = write_temporary("kernel-big.traceg", "");
    {
        std::string block;
        while (block.size() < 1'000'000) block += line;
        const std::uint64_t lines_of_block = block.size() / line.size();
        std::ofstream file(path, std::ios::binary);
        file << "-kernel name = big\n-grid dim = (" << kCtas << ",1,1)\n-block dim = (" << kWarps * 32
             << ",1,1)\n-accelsim tracer version = 5\n#\n";
        for (std::uint32_t cta = 0; cta < kCtas; ++cta) {
            file << "#BEGIN_TB\nthread block = " << cta << ",0,0\n";
            for (std::uint32_t w = 0; w < kWarps; ++w) {
                file << "warp = " << w << "\ninsts = " << lines << "\n";
                for (std::uint64_t left = lines; left != 0;) {
                    const std::uint64_t now = std::min(left, lines_of_block);
                    file.write(block.data(), static_cast<std::streamsize>(now * line.size()));
                    left -= now;
                }
            }
            file << "#END_TB\n";
        }
    }
    const auto peak_kib = [] {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    const auto before = peak_kib();
    std::uint64_t count = 0;
    {
        const auto kernel = open_kernel(path);
        const auto stream = kernel->make_stream();
        LaneAddresses lanes;
        for (std::uint32_t cta = 0; cta < kCtas; ++cta) {
            stream->open(cta);
            for (std::uint32_t w = 0; w < kWarps; ++w) {
                for (mergelane::Run run; stream->next_run(w, run); ++count) stream->addresses(w, *run.first, run.active, lanes);
            }
        }
    }
    std::filesystem::remove(path);
    EXPECT_EQ(count, lines * kCtas * kWarps);
    EXPECT_LT(peak_kib() - before, 40 << 10) << "KiB";
}

}  // namespace
}  // namespace mergelane::testing
