// SPDX-License-Identifier: MIT
// Invariants of the load/store unit with banks and sub-cores: blocks of different banks enter together, blocks of one bank one after
// another; waiting memory instructions block other instructions of their own sub-core only.
#include <gtest/gtest.h>

#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kLoads = 64;

/// Four blocks that are in the L1 already, loaded again and again.
WarpScript repeated_hits(Addr distance) {
    Access access;
    access.lanes = scattered({0, distance, 2 * distance, 3 * distance});
    access.active = 0xF;
    WarpScript script;
    script.load(1, access).use(1);
    for (std::uint32_t i = 0; i < kLoads; ++i) script.load(static_cast<std::uint16_t>(2 + i % 8), access);
    return script;
}

MachineSpec with_banks(std::uint32_t blocks_per_cycle, std::uint32_t banks) {
    MachineSpec s = v100_like();
    s.lsu.issue_limit = 0;
    s.lsu.blocks_per_cycle = blocks_per_cycle;
    s.lsu.banks = banks;
    return valid(s);
}

TEST(L1Banks, ServeBlocksOfDifferentBanksTogether) {
    const std::uint64_t one_by_one = run_on(with_banks(1, 1), repeated_hits(32)).cycles;
    const std::uint64_t together = run_on(with_banks(4, 4), repeated_hits(32)).cycles;
    // 4 cycles per load shrink to 1, or to what the warp can issue while registers are reused.
    EXPECT_GE(one_by_one, together + kLoads);
    EXPECT_EQ(run_on(with_banks(4, 1), repeated_hits(32)).cycles, together) << "without banks nothing stands in the way either";
}

TEST(L1Banks, ServeBlocksOfOneBankOneByOne) {
    EXPECT_EQ(run_on(with_banks(4, 4), repeated_hits(128)).cycles, run_on(with_banks(1, 1), repeated_hits(128)).cycles);
}

/// Cycles of a CTA in which warp 0 keeps the load/store unit busy and warp `other` has a long chain of additions.
std::uint64_t beside_waiting_loads(std::uint32_t issue_limit, std::uint32_t other) {
    MachineSpec s = v100_like();
    s.lsu.queue = 16;
    s.lsu.issue_limit = issue_limit;
    CtaScript cta(8);
    for (std::uint16_t i = 0; i < 12; ++i) {
        Access access;
        access.lanes = affine(Addr{i} * 65536, 128);  // 32 lines of one bank: 32 cycles each
        cta[0].load(static_cast<std::uint16_t>(1 + i), access);
    }
    for (std::uint32_t w = 1; w < cta.size(); ++w) cta[w].compute(OpClass::int_add, 1);
    for (std::uint32_t i = 0; i < 400; ++i) cta[other].compute(OpClass::int_add, 1, {1});
    ScriptedWorkload workload(std::vector<CtaScript>{cta});
    return run_on(valid(s), workload).cycles;
}

TEST(WaitingLoads, StopTheArithmeticOfTheirOwnSubCore) {
    // Warps 0 and 4 share a scheduler, warp 1 has another.
    const std::uint64_t free = beside_waiting_loads(0, 4);
    EXPECT_GT(beside_waiting_loads(3, 4), free + 100);
    EXPECT_EQ(beside_waiting_loads(0, 1), beside_waiting_loads(3, 1));
}

}  // namespace
}  // namespace mergelane::testing
