// SPDX-License-Identifier: MIT
// Invariant: counts by instruction are those of a model that looks at every lane of every execution, and their sums are those of the SMs
// (which every run checks). Counting changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>

#include "ptx_helpers.hpp"
#include "scripted.hpp"
#include "variants.hpp"

namespace mergelane::testing {
namespace {

struct Sample {
    const char* name;
    const char* body;  ///< %x1: input, %x2: output, %r1: thread of its CTA, %r4: thread of the grid, %r9: iteration
    std::uint32_t threads = 128;
};

/// Every body is executed three times. Loads are used at once, so that no two of a warp are in flight.
const std::vector<Sample> kSamples = {
    {"coalesced", "mad.wide.u32 %x3, %r4, 4, %x1; ld.global.u32 %r5, [%x3]; add.u32 %r6, %r6, %r5;"},
    {"strided", "mad.wide.u32 %x3, %r4, 132, %x1; ld.global.u32 %r5, [%x3]; add.u32 %r6, %r6, %r5;"},
    {"random",
     "mul.lo.u32 %r7, %r4, 0x9E3779B1; mad.lo.u32 %r7, %r9, 77777, %r7; shr.u32 %r7, %r7, 18; mad.wide.u32 %x3, %r7, 4, %x1;"
     "ld.global.u32 %r5, [%x3]; add.u32 %r6, %r6, %r5;"},
    {"broadcast", "mad.wide.u32 %x3, %r2, 4, %x1; ld.global.u32 %r5, [%x3]; add.u32 %r6, %r6, %r5;"},
    {"misaligned", "mad.wide.u32 %x3, %r4, 4, %x1; ld.global.u32 %r5, [%x3+20]; add.u32 %r6, %r6, %r5;"},
    {"transposed",
     "and.b32 %r7, %r1, 31; shr.u32 %r8, %r1, 5; shl.b32 %r10, %r8, 7; mad.lo.u32 %r10, %r7, 4, %r10; mov.u32 %r11, tile;"
     "add.u32 %r10, %r10, %r11; st.shared.u32 [%r10], %r1; bar.sync 0; shl.b32 %r10, %r7, 7; mad.lo.u32 %r10, %r8, 4, %r10;"
     "add.u32 %r10, %r10, %r11; ld.shared.u32 %r5, [%r10]; add.u32 %r6, %r6, %r5; bar.sync 0;"},
    {"padded",
     "and.b32 %r7, %r1, 31; shr.u32 %r8, %r1, 5; mul.lo.u32 %r10, %r8, 132; mad.lo.u32 %r10, %r7, 4, %r10; mov.u32 %r11, tile;"
     "add.u32 %r10, %r10, %r11; st.shared.u32 [%r10], %r1; bar.sync 0; mul.lo.u32 %r10, %r7, 132; mad.lo.u32 %r10, %r8, 4, %r10;"
     "add.u32 %r10, %r10, %r11; ld.shared.u32 %r5, [%r10]; add.u32 %r6, %r6, %r5; bar.sync 0;"},
    {"atomics",
     "rem.u32 %r7, %r4, 5; mad.wide.u32 %x3, %r7, 4, %x1; atom.global.add.u32 %r5, [%x3], 1; add.u32 %r6, %r6, %r5;"
     "red.global.add.u32 [%x3+256], %r5;"},
    {"predicated",
     "and.b32 %r7, %r1, 5; setp.eq.u32 %p1, %r7, 4; setp.gt.u32 %p2, %r1, 5000; mad.wide.u32 %x3, %r4, 8, %x1;"
     "@%p1 ld.global.u32 %r5, [%x3]; add.u32 %r6, %r6, %r5; @%p2 ld.global.u32 %r5, [%x3+4]; add.u32 %r6, %r6, %r5;"},
    {"partial", "mad.wide.u32 %x3, %r4, 16, %x1; ld.global.v4.u32 {%r5, %r7, %r8, %r10}, [%x3]; add.u32 %r6, %r6, %r5;", 40},
};

std::string text_of(const Sample& sample) {
    return fmt::format(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 pi, .param .u64 po)\n{{\n"
        ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %x<8>; .shared .align 4 .b8 tile[4352];\n"
        "ld.param.u64 %x1, [pi]; ld.param.u64 %x2, [po]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
        "mad.lo.u32 %r4, %r2, %r3, %r1; mov.u32 %r6, 0; mov.u32 %r5, 0; mov.u32 %r9, 0;\nL:\n{}\n"
        "add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 3; @%p3 bra L;\nmad.wide.u32 %x3, %r4, 4, %x2; st.global.u32 [%x3], %r6; ret;\n}}\n",
        sample.body);
}

/// One execution of one instruction, every lane by itself.
struct Model {
    const MachineSpec& spec;
    std::map<std::uint32_t, InstructionCounts> counts;  ///< by pc
    std::set<Addr> loaded;                              ///< blocks in the L1 of the only SM

    void execute(const StaticInst& inst, std::uint32_t active, const LaneAddresses& lanes) {
        InstructionCounts& c = counts[inst.pc];
        const auto count = static_cast<std::uint64_t>(std::popcount(active));
        ++c[InstCount::executions];
        c[InstCount::lanes] += count;
        if (!is_memory(inst) || active == 0) return;
        ++c[InstCount::accesses];
        const std::uint64_t bytes = count * inst.lane_bytes;
        std::vector<Addr> addresses;
        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
            if ((active >> lane & 1) != 0) addresses.push_back(lanes.of(lane));
        }
        if (inst.space == Space::shared) {
            const std::uint64_t passes = passes_of(addresses, inst.lane_bytes), ideal = (bytes + 127) / 128;
            c[InstCount::transactions] += passes;
            c[InstCount::ideal] += ideal;
            c[InstCount::conflicts] += passes > ideal ? passes - ideal : 0;
            return;
        }
        const std::vector<Addr> blocks =
            inst.op == OpClass::atomic ? rounds_of(addresses, inst.lane_bytes) : blocks_of(addresses, inst.lane_bytes);
        c[InstCount::transactions] += blocks.size();
        c[InstCount::ideal] += (bytes + spec.lsu.block_bytes - 1) / spec.lsu.block_bytes;
        if (inst.op != OpClass::load) return;
        for (const Addr block : blocks)
            c[loaded.insert(block).second ? InstCount::l1_misses : InstCount::l1_hits] += spec.lsu.block_bytes / 32;
    }
    std::vector<Addr> blocks_of(const std::vector<Addr>& addresses, std::uint32_t bytes) const {
        std::set<Addr> blocks;
        for (const Addr address : addresses) {
            for (std::uint32_t b = 0; b < bytes; ++b) blocks.insert((address + b) / spec.lsu.block_bytes);
        }
        return {blocks.begin(), blocks.end()};
    }
    /// Lanes with one address take turns.
    std::vector<Addr> rounds_of(std::vector<Addr> addresses, std::uint32_t bytes) const {
        std::vector<Addr> all;
        while (!addresses.empty()) {
            std::vector<Addr> now, later;
            for (const Addr address : addresses) (std::find(now.begin(), now.end(), address) == now.end() ? now : later).push_back(address);
            for (const Addr block : blocks_of(now, bytes)) all.push_back(block);
            addresses = later;
        }
        return all;
    }
    static std::uint64_t passes_of(const std::vector<Addr>& addresses, std::uint32_t bytes) {
        std::map<Addr, std::set<Addr>> words;  // by bank
        for (const Addr address : addresses) {
            for (std::uint32_t b = 0; b < bytes; b += 4) words[(address + b) / 4 % 32].insert((address + b) / 4);
        }
        std::size_t most = 1;
        for (const auto& [bank, list] : words) most = std::max(most, list.size());
        return most;
    }
    void execute(const KernelSource& kernel) {
        const std::unique_ptr<CtaStream> stream = kernel.make_stream();
        LaneAddresses lanes;
        for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) {
            stream->open(cta);
            for (std::uint32_t warp = 0; warp < kernel.info().warps_per_cta(); ++warp) {
                for (Run run; stream->next_run(warp, run);) {
                    for (std::uint32_t i = 0; i < run.count; ++i) {
                        if (is_memory(run.first[i]) && run.active != 0) {
                            lanes.run_count = 0;
                            stream->addresses(warp, run.first[i], run.active, lanes);
                            lanes.expand(run.active);
                        }
                        execute(run.first[i], run.active, lanes);
                    }
                }
            }
        }
    }
};

struct Compared {
    RunResult result;
    Model model;
    const InstructionResult* find(std::string_view opcode) const {
        for (const InstructionResult& inst : result.by_instruction.at(0).instructions) {
            if (inst.opcode.starts_with(opcode)) return &inst;
        }
        return nullptr;
    }
};

Compared run_sample(const Sample& sample, const MachineSpec& spec, Dim3 grid, std::uint32_t threads) {
    ptx::TestDevice device(text_of(sample));
    device.record = true;
    const Addr in = device.zeros<std::uint32_t>(1 << 17);
    const Addr out = device.zeros<std::uint32_t>(1 << 13);
    const auto kernel = device.run("k", grid, {threads}, in, out);
    Compared made{{}, {spec, {}, {}}};
    made.model.execute(*kernel);
    testing::OneKernel workload(*kernel);
    RunOptions options;
    options.by_instruction = true;
    made.result = run_on(spec, workload, options);
    EXPECT_EQ(made.result.by_instruction.size(), 1u);
    return made;
}

void expect_same(const Compared& compared, std::initializer_list<InstCount> which, bool loads_only = false) {
    const std::vector<InstructionResult>& got = compared.result.by_instruction.at(0).instructions;
    EXPECT_EQ(got.size(), compared.model.counts.size());
    for (const InstructionResult& inst : got) {
        if (loads_only && !inst.opcode.starts_with("ld.global")) continue;
        const InstructionCounts& want = compared.model.counts.at(inst.pc);
        for (const InstCount count : which)
            EXPECT_EQ(inst.counts[count], want[count]) << inst.opcode << ": " << kInstCountInfos[static_cast<std::size_t>(count)].name;
    }
}

TEST(ByInstruction, TenKernelsAreCountedAsByABruteForceModel) {
    MachineSpec lines = icc60_like(1);
    for (const MachineSpec& spec : {lines, v100_like()}) {
        for (const Sample& sample : kSamples) {
            SCOPED_TRACE(fmt::format("{} on {}", sample.name, spec.name));
            const Compared compared = run_sample(sample, spec, {10}, sample.threads);
            expect_same(compared, {InstCount::executions, InstCount::lanes, InstCount::accesses, InstCount::transactions, InstCount::ideal,
                                   InstCount::conflicts});
        }
    }
}

/// With one warp on one SM, and loads that wait for each other, what hits does not depend on time.
TEST(ByInstruction, HitsOfOneWarpAreThoseOfABruteForceModel) {
    for (const MachineSpec& spec : {icc60_like(1), v100_like()}) {
        for (const Sample& sample : kSamples) {
            SCOPED_TRACE(fmt::format("{} on {}", sample.name, spec.name));
            const Compared compared = run_sample(sample, spec, {1}, std::min(sample.threads, 32u));
            expect_same(compared, {InstCount::l1_hits, InstCount::l1_merged, InstCount::l1_misses}, true);
            for (const InstructionResult& inst : compared.result.by_instruction.at(0).instructions) {
                if (!inst.opcode.starts_with("ld.global")) continue;
                std::uint64_t reached = 0;
                for (std::size_t i = static_cast<std::size_t>(InstCount::reached_l2); i < kInstCounts; ++i)
                    reached += inst.counts.values[i];
                EXPECT_EQ(reached, inst.counts[InstCount::requests]);
                EXPECT_EQ(inst.counts[InstCount::followed_loads], inst.counts[InstCount::loads]);
                EXPECT_EQ(inst.counts[InstCount::loads], inst.counts[InstCount::accesses]);
                EXPECT_EQ(inst.counts[InstCount::stalled] > 0, inst.counts[InstCount::l1_misses] > 0);
            }
        }
    }
}

/// What is known without any model.
TEST(ByInstruction, PatternsHaveTheTransactionsTheyAreKnownFor) {
    const MachineSpec spec = icc60_like(1);  // requests of 128 bytes
    const auto per_access = [&](std::size_t sample, std::string_view opcode, InstCount which) {
        const Compared compared = run_sample(kSamples[sample], spec, {4}, kSamples[sample].threads);
        const InstructionResult* const inst = compared.find(opcode);
        EXPECT_NE(inst, nullptr) << opcode;
        return inst == nullptr ? -1 : static_cast<double>(inst->counts[which]) / static_cast<double>(inst->counts[InstCount::accesses]);
    };
    EXPECT_EQ(per_access(0, "ld.global", InstCount::transactions), 1);
    EXPECT_EQ(per_access(1, "ld.global", InstCount::transactions), 32);
    EXPECT_EQ(per_access(1, "ld.global", InstCount::ideal), 1);
    EXPECT_EQ(per_access(3, "ld.global", InstCount::transactions), 1);
    EXPECT_EQ(per_access(4, "ld.global", InstCount::transactions), 2);
    EXPECT_EQ(per_access(5, "ld.shared", InstCount::transactions), 32);
    EXPECT_EQ(per_access(5, "ld.shared", InstCount::conflicts), 31);
    EXPECT_EQ(per_access(5, "st.shared", InstCount::conflicts), 0);
    EXPECT_EQ(per_access(6, "ld.shared", InstCount::conflicts), 0);
    EXPECT_EQ(per_access(9, "ld.global", InstCount::ideal), 2.5);  // 32 and 8 lanes of 16 bytes
}

void expect_equal(const std::vector<KernelInstructions>& a, const std::vector<KernelInstructions>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
        EXPECT_EQ(a[k].launches, b[k].launches);
        ASSERT_EQ(a[k].instructions.size(), b[k].instructions.size());
        for (std::size_t i = 0; i < a[k].instructions.size(); ++i) {
            const InstructionResult &left = a[k].instructions[i], &right = b[k].instructions[i];
            EXPECT_EQ(left.pc, right.pc);
            EXPECT_EQ(left.opcode, right.opcode);
            EXPECT_EQ(left.counts.values, right.counts.values);
            EXPECT_EQ(left.spent, right.spent);
        }
    }
}

class EveryVariant : public ::testing::TestWithParam<Variant> {};

/// Whatever the machine, counting changes no digest; the run checks the sums.
TEST_P(EveryVariant, CountingByInstructionChangesNothing) {
    const VariantMachine machine = machine_with(GetParam());
    RunOptions options;
    const RunResult plain = run_mixed(machine.spec, options);
    options.by_instruction = true;
    const RunResult counted = run_mixed(machine.spec, options);
    EXPECT_EQ(counted.digest, plain.digest);
    EXPECT_TRUE(plain.by_instruction.empty());
    EXPECT_FALSE(counted.by_instruction.empty());
    options.threads = 3;
    expect_equal(run_mixed(machine.spec, options).by_instruction, counted.by_instruction);
}
INSTANTIATE_TEST_SUITE_P(ByInstruction, EveryVariant, ::testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name(); });

TEST(ByInstruction, SumsHoldWhereverARunIsStopped) {
    for (const VariantBase& base : variant_bases()) {
        if (!check(base.spec).empty()) continue;  // waits for another key
        for (const std::uint64_t cycles : {300, 1111, 2500}) {
            RunOptions options;
            options.by_instruction = true;
            options.max_cycles = cycles;
            EXPECT_NO_THROW(run_mixed(base.spec, options)) << base.spec.name;
        }
    }
}

TEST(ByInstruction, LinesOfSourceAndPtx) {
    ptx::TestDevice device(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 %x<4>;\n"
        ".loc 1 10 0\nld.param.u64 %x1, [p];\nld.global.u32 %r1, [%x1];\n"
        ".loc 1 20 3\n.loc 2 30 1, function_name $L__info_string0, inlined_at 1 20 3\n"
        ".loc 2 44 1, function_name $L__info_string1+5, inlined_at 2 30 1\nld.global.u32 %r2, [%x1+4];\n"
        ".loc 7 1 1\nld.global.u32 %r3, [%x1+8];\n.loc 1 4294967297 1\nld.global.u32 %r3, [%x1+12];\n.loc\nst.global.u32 [%x1], %r3;\n"
        "ret;\n}\n.file 1 \"/home/me/app.cu\"\n.file 2 \"/usr/include/util.h\"\n.file x\n");
    device.record = true;
    const auto kernel = device.run("k", {1}, {32}, device.zeros<std::uint32_t>(64));
    const Listing listing = kernel->listing();
    ASSERT_NE(listing.text, nullptr);
    ASSERT_EQ(listing.text->origins.size(), listing.instructions.size());
    const auto at = [&](std::size_t i) {
        const ProgramText::Origin& origin = listing.text->origins[i];
        const auto line = [&](const SourceLine& l) { return fmt::format("{}:{}", listing.text->words[l.file], l.line); };
        return fmt::format("{} {} {} {}", listing.text->words[origin.opcode], origin.ptx_line, line(origin.source),
                           line(origin.inlined_at));
    };
    EXPECT_EQ(at(0), "ld.global.u32 9 /home/me/app.cu:10 :0");
    EXPECT_EQ(at(1), "ld.global.u32 13 /usr/include/util.h:44 /home/me/app.cu:20");
    EXPECT_EQ(at(2), "ld.global.u32 15 :0 :0");  // no such file
    EXPECT_EQ(at(3), "ld.global.u32 17 :0 :0");  // no such line
    EXPECT_EQ(at(4), "st.global.u32 19 :0 :0");
}

}  // namespace
}  // namespace mergelane::testing
