// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "workload/accelsim/sass_opcodes.hpp"

namespace mergelane::accelsim {
namespace {

struct Generation {
    std::string name;
    std::vector<std::string_view> opcodes;
};

// What each instruction set has that a replay cannot do without, its own newcomers above all.
const std::vector<Generation> kGenerations = {
    {"Kepler", {"FFMA", "FADD",   "FMNMX", "RRO",     "MUFU", "DFMA",  "DMNMX",  "IMAD", "IMADSP", "ISUB", "ISAD", "BFE",
                "SHF",  "LOP32I", "ICMP",  "F2I",     "SHFL", "CSETP", "PSET",   "TEX",  "TLD4",   "LDC",  "LD",   "LDG",
                "LDS",  "LDSLK",  "ST",    "STSCUL",  "ATOM", "RED",   "MEMBAR", "CCTL", "SULDGA", "SSY",  "PBK",  "PCNT",
                "PRET", "CAL",    "BRK",   "SUCLAMP", "CONT", "EXIT",  "NOP",    "S2R",  "BAR",    "VOTE", "B2R",  "TEXDEPBAR"}},
    {"Maxwell",
     {"IADD3", "LOP3", "LEA", "XMAD", "FSWZADD", "STG", "ATOMS", "SYNC", "TEXS", "TLDS", "CS2R", "DEPBAR", "LONGJMP", "PEXIT", "KIL"}},
    {"Pascal", {"HADD2", "HFMA2", "HMUL2", "HSET2", "HSETP2", "VMNMX", "VADD", "CCTLT", "SUATOM", "JCAL", "RTT"}},
    {"Volta", {"HMMA",   "IMMA",  "IDP",   "IDP4A",     "IABS", "BMSK", "BREV",     "SGXT",      "PLOP3",    "FRND",        "FSEL",
               "I2IP",   "MATCH", "ATOMG", "QSPC",      "BMOV", "BSSY", "BSYNC",    "BREAK",     "CALL",     "RPCMOV",      "YIELD",
               "ERRBAR", "TMML",  "RET",   "NANOSLEEP", "KILL", "LEPC", "WARPSYNC", "VABSDIFF4", "SETCTAID", "GETLMEMBASE", "PMTRIG"}},
    {"Turing",
     {"BMMA", "MOVM", "LDSM", "R2UR", "S2UR", "UIADD3", "UIMAD", "ULDC", "ULEA", "ULOP3", "UMOV", "USEL", "USHF", "VOTEU", "BRXU", "JMXU"}},
    {"AmpereAndAda", {"DMMA", "HMNMX2", "F2FP", "I2FP", "F2IP", "LDGSTS", "LDGDEPBAR", "REDUX", "UF2FP", "ARRIVES", "SUQUERY"}},
    {"Hopper",
     {"HGMMA", "IGMMA",   "QGMMA",   "BGMMA",     "WARPGROUP", "UTMALDG", "UTMASTG",    "UTMAREDG",    "UTMACMDFLUSH", "UBLKCP",
      "SYNCS", "FENCE",   "STSM",    "REDG",      "REDAS",     "STAS",    "VIADD",      "VIADDMNMX",   "VIMNMX3",      "VHMNMX",
      "ELECT", "ACQBULK", "PREEXIT", "CGAERRBAR", "LDGMC",     "ULEPC",   "USETMAXREG", "UCGABAR_ARV", "UCGABAR_WAIT", "ENDCOLLECTIVE"}},
};

TEST(SassOpcodes, AreSortedAndNamedOnce) {
    const auto all = sass_opcodes();
    ASSERT_FALSE(all.empty());
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
}

TEST(SassOpcodes, FindEveryRowByItsName) {
    for (const SassOpcode& opcode : sass_opcodes()) EXPECT_EQ(find_sass_opcode(opcode.name), &opcode) << opcode.name;
}

TEST(SassOpcodes, HaveASpaceExactlyWhenTheyAccessMemory) {
    for (const SassOpcode& opcode : sass_opcodes()) {
        const bool memory = opcode.op == OpClass::load || opcode.op == OpClass::store || opcode.op == OpClass::atomic;
        EXPECT_EQ(memory, opcode.space != SassSpace::none) << opcode.name;
    }
}

TEST(SassOpcodes, AreNamedWithoutModifiers) {
    for (const SassOpcode& opcode : sass_opcodes()) {
        EXPECT_FALSE(opcode.name.empty());
        EXPECT_EQ(opcode.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), std::string_view::npos) << opcode.name;
    }
}

TEST(SassOpcodes, KnowEveryGeneration) {
    for (const Generation& generation : kGenerations) {
        for (const std::string_view name : generation.opcodes) EXPECT_NE(find_sass_opcode(name), nullptr) << generation.name << ' ' << name;
    }
}

TEST(SassOpcodes, AreOfTheirClass) {
    const std::vector<SassOpcode> expected = {
        {"FADD", OpClass::fp_add},
        {"FMUL", OpClass::fp_mul},
        {"FFMA", OpClass::fp_mad},
        {"FMNMX", OpClass::fp_minmax},
        {"HFMA2", OpClass::fp_mad},
        {"DADD", OpClass::dp_add},
        {"DFMA", OpClass::dp_add},
        {"DMNMX", OpClass::dp_minmax},
        {"IADD3", OpClass::int_add},
        {"LOP3", OpClass::int_add},
        {"ISETP", OpClass::int_add},
        {"MOV", OpClass::int_add},
        {"S2R", OpClass::int_add},
        {"IMAD", OpClass::int_mad},
        {"IMUL", OpClass::int_mul},
        {"IMNMX", OpClass::int_minmax},
        {"MUFU", OpClass::sfu},
        {"I2F", OpClass::sfu},
        {"TEX", OpClass::sfu},
        {"HMMA", OpClass::tensor},
        {"HGMMA", OpClass::tensor},
        {"BRA", OpClass::branch},
        {"BSYNC", OpClass::branch},
        {"WARPSYNC", OpClass::branch},
        {"EXIT", OpClass::exit},
        {"BAR", OpClass::barrier},
        {"MEMBAR", OpClass::fence},
        {"ERRBAR", OpClass::int_add},
        {"CCTL", OpClass::int_add},
        {"DEPBAR", OpClass::int_add},
        {"LDC", OpClass::constant},
        {"ULDC", OpClass::constant},
        {"LDG", OpClass::load, SassSpace::global},
        {"STG", OpClass::store, SassSpace::global},
        {"LDGSTS", OpClass::load, SassSpace::global},
        {"LDL", OpClass::load, SassSpace::local},
        {"STL", OpClass::store, SassSpace::local},
        {"LDS", OpClass::load, SassSpace::shared},
        {"LDSM", OpClass::load, SassSpace::shared},
        {"STS", OpClass::store, SassSpace::shared},
        {"ATOMS", OpClass::atomic, SassSpace::shared},
        {"ATOM", OpClass::atomic, SassSpace::global},
        {"ATOMG", OpClass::atomic, SassSpace::global},
        {"RED", OpClass::atomic, SassSpace::global},
        {"LD", OpClass::load, SassSpace::generic},
        {"ST", OpClass::store, SassSpace::generic},
        {"UTMALDG", OpClass::int_add},
    };
    for (const SassOpcode& row : expected) {
        const SassOpcode* found = find_sass_opcode(row.name);
        ASSERT_NE(found, nullptr) << row.name;
        EXPECT_EQ(found->op, row.op) << row.name;
        EXPECT_EQ(found->space, row.space) << row.name;
    }
}

TEST(SassOpcodes, OnlyExitEndsAndOnlyBarWaitsForTheCta) {
    const auto all = sass_opcodes();
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const SassOpcode& o) { return o.op == OpClass::exit; }), 1);
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const SassOpcode& o) { return o.op == OpClass::barrier; }), 1);
}

TEST(SassOpcodes, RefuseUnknownNames) {
    for (const std::string_view name : {"", "A", "LDGX", "ldg", "LDG.E", " LDG", "ZZZ", "FROBNICATE"}) {
        EXPECT_EQ(find_sass_opcode(name), nullptr) << name;
    }
}

TEST(SassAccessBytes, AreTheFirstNumberOfBits) {
    const std::vector<std::pair<std::string_view, std::uint32_t>> expected = {
        {"LDG.E.SYS", 4},
        {"LDG.E.128.SYS", 16},
        {"LDS.U.128", 16},
        {"LDG.E.U8", 1},
        {"LDG.E.U16.CONSTANT", 2},
        {"STG.E.64", 8},
        {"ATOMG.E.ADD.64", 8},
        {"RED.E.ADD.F32.FTZ.RN.STRONG.GPU", 4},
        {"LDG.E.S16", 4},  // only U counts as a prefix, as in Accel-Sim
        {"LDG.E.S8", 4},
        {"LDSM.16.M88.4", 2},
        {"LDGSTS.E.BYPASS.LTC128B.128", 16},
        {"STS.8", 1},
    };
    for (const auto& [opcode, bytes] : expected) EXPECT_EQ(sass_access_bytes(opcode), bytes) << opcode;
}

TEST(SassAccessBytes, FallBackToAWord) {
    // Nothing to read, out of range, or only in the name.
    for (const std::string_view opcode : {"", "LDG", "LDG.", "LDG..E", "LDG.U", "128", "U64.E", "LDG.0", "LDG.4", "LDG.256", "LDG.256.64",
                                          "LDG.U99999999999999999999", "LDG.-64", "LDG.64B"}) {
        EXPECT_EQ(sass_access_bytes(opcode), 4u) << opcode;
    }
}

TEST(SassBypass, NeedsAGlobalLoadWithStrongAndGpu) {
    for (const std::string_view opcode : {"LDG.E.STRONG.GPU", "LDG.E.64.STRONG.GPU", "LDG.GPU.E.STRONG"})
        EXPECT_TRUE(sass_bypasses_l1(opcode));
    for (const std::string_view opcode :
         {"", "LDG", "LDG.E.SYS", "LDG.E.STRONG.SYS", "LDG.E.STRONG.SM", "LDG.E.GPU", "LDG.E.STRONG", "LDG.E.STRONGER.GPU",
          "STG.E.STRONG.GPU", "LD.E.STRONG.GPU", "LDGSTS.E.STRONG.GPU", "RED.E.ADD.STRONG.GPU", "STRONG.GPU"}) {
        EXPECT_FALSE(sass_bypasses_l1(opcode)) << opcode;
    }
}

}  // namespace
}  // namespace mergelane::accelsim
