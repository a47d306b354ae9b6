// SPDX-License-Identifier: MIT
#include "energy/energy_counts.hpp"

namespace mergelane {

const std::array<EnergyCountInfo, kEnergyCounts>& energy_count_infos() {
    static constexpr std::array<EnergyCountInfo, kEnergyCounts> infos = {{
        {"cycles", "core cycles", "time"},
        {"sm_cycles", "SM cycles", "cycles of all SMs, busy or idle"},
        {"idle_sm_cycles", "SM cycles", "cycles of SMs without resident warps"},
        {"warp_instructions", "warp instructions", "instructions issued"},
        {"thread_instructions", "lanes", "active lanes of all instructions"},
        {"int_lanes", "lanes", "integer additions, comparisons, logic, branches"},
        {"fp_lanes", "lanes", "single-precision additions and comparisons"},
        {"mul_lanes", "lanes", "integer and single-precision multiplications and multiply-adds"},
        {"special_lanes", "lanes", "divisions and special functions"},
        {"double_lanes", "lanes", "double-precision operations"},
        {"tensor_lanes", "lanes", "matrix operations"},
        {"constant_lanes", "lanes", "reads of constant memory"},
        {"register_reads", "lane operands", "register operands read, estimated per instruction class"},
        {"register_writes", "lane operands", "register operands written, estimated per instruction class"},
        {"shared_accesses", "bank cycles", "shared-memory accesses, one per bank-conflict round"},
        {"l1_read_hits", "requests", "loads that hit in the L1"},
        {"l1_read_merges", "requests", "loads merged into a pending miss (hits on misses)"},
        {"l1_read_misses", "requests", "loads sent to the L2"},
        {"l1_write_hits", "requests", "stores that hit in the L1"},
        {"l1_write_misses", "requests", "other stores"},
        {"l1_fills", "requests", "L1 fills"},
        {"request_flits", "flits", "flits on the request network"},
        {"reply_flits", "flits", "flits on the reply network"},
        {"l2_read_hits", "requests", "reads and atomics that hit in the L2"},
        {"l2_read_merges", "requests", "reads and atomics merged into a pending miss"},
        {"l2_read_misses", "requests", "reads and atomics that missed in the L2"},
        {"l2_write_hits", "requests", "writes that hit in the L2, and atomics"},
        {"l2_write_misses", "requests", "other writes"},
        {"l2_fills", "requests", "L2 fills"},
        {"l2_writebacks", "requests", "dirty lines written back from the L2"},
        {"dram_activates", "commands", "row activations"},
        {"dram_precharges", "commands", "precharges"},
        {"dram_read_bursts", "bursts", "read column commands"},
        {"dram_write_bursts", "bursts", "write column commands"},
        {"dram_refreshes", "commands", "refreshes of all banks (detailed controller)"},
        {"dram_bank_refreshes", "commands", "refreshes of one bank (detailed controller)"},
        {"dram_open_cycles", "bank cycles", "DRAM cycles with an open row, summed over banks (detailed controller)"},
    }};
    return infos;
}

namespace {

/// What one lane of an instruction class does: the unit it uses and how many registers it usually reads and writes.
struct ClassUse {
    EnergyCount unit;
    std::uint8_t reads;
    std::uint8_t writes;
};
constexpr EnergyCount kNone = EnergyCount::count;
constexpr std::array<ClassUse, kOpClasses> kUses = {{
    {EnergyCount::int_lanes, 2, 1},       // int_add
    {EnergyCount::int_lanes, 2, 1},       // int_minmax
    {EnergyCount::mul_lanes, 2, 1},       // int_mul
    {EnergyCount::mul_lanes, 3, 1},       // int_mad
    {EnergyCount::special_lanes, 2, 1},   // int_div
    {EnergyCount::fp_lanes, 2, 1},        // fp_add
    {EnergyCount::fp_lanes, 2, 1},        // fp_minmax
    {EnergyCount::mul_lanes, 2, 1},       // fp_mul
    {EnergyCount::mul_lanes, 3, 1},       // fp_mad
    {EnergyCount::special_lanes, 2, 1},   // fp_div
    {EnergyCount::double_lanes, 4, 2},    // dp_add: operands of two registers
    {EnergyCount::double_lanes, 4, 2},    // dp_minmax
    {EnergyCount::double_lanes, 4, 2},    // dp_div
    {EnergyCount::special_lanes, 1, 1},   // sfu
    {EnergyCount::tensor_lanes, 3, 1},    // tensor
    {EnergyCount::int_lanes, 0, 0},       // branch
    {EnergyCount::constant_lanes, 0, 1},  // constant
    {kNone, 1, 1},                        // load
    {kNone, 2, 0},                        // store
    {kNone, 2, 1},                        // atomic
    {kNone, 0, 0},                        // barrier
    {kNone, 0, 0},                        // fence
    {kNone, 0, 0},                        // exit
}};

}  // namespace

void add_instructions(EnergyCounts& counts, const std::array<std::uint64_t, kOpClasses>& lanes) {
    for (std::size_t c = 0; c < kOpClasses; ++c) {
        counts[EnergyCount::thread_instructions] += lanes[c];
        if (kUses[c].unit != kNone) counts[kUses[c].unit] += lanes[c];
        counts[EnergyCount::register_reads] += lanes[c] * kUses[c].reads;
        counts[EnergyCount::register_writes] += lanes[c] * kUses[c].writes;
    }
}

}  // namespace mergelane
