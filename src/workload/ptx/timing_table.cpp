// SPDX-License-Identifier: MIT
// Derived from comparing PTX with the machine code generated from it: parameters and immediates are operands, address conversions vanish,
// moves between registers are coalesced. Divisions and functions take one slot of a slow class, as in GPGPU-Sim.
#include "workload/ptx/timing_table.hpp"

namespace mergelane::ptx {

namespace {

using enum OpClass;

constexpr TimingRow kTable[] = {
    // opcodes, integer, f32, f64, slots
    {"", int_add, fp_add, dp_add, 1},  // everything not listed below
    {"add sub abs setp set cvt", int_add, fp_add, dp_add, 1},
    {"addc subc neg.s16 neg.s32 neg.s64 selp nanosleep", int_add, int_add, int_add, 1},
    {"mul", int_mul, fp_mul, dp_add, 1},
    {"mul24", int_mul, int_mul, int_mul, 1},
    {"mad", int_mad, fp_mad, dp_add, 1},
    {"mad24 madc sad dp4a dp2a", int_mad, int_mad, int_mad, 1},
    {"fma", fp_mad, fp_mad, dp_add, 1},
    {"div", int_div, fp_div, dp_div, 1},
    {"rem", int_div, int_div, int_div, 1},
    {"min max", int_minmax, fp_minmax, dp_minmax, 1},
    {"neg", int_add, fp_add, dp_add, 0},  // an operand's sign
    {"mov cvta prefetch prefetchu", int_add, int_add, int_add, 0},
    {"mov.special", int_add, int_add, int_add, 1},  // reading a special register
    {"rcp sqrt rsqrt", sfu, sfu, dp_div, 1},
    {"ex2 lg2 sin cos tanh", sfu, sfu, sfu, 1},
    {"ld ldu", load, load, load, 1},
    {"ld.param", load, load, load, 0},
    {"ld.const", constant, constant, constant, 1},
    {"st", store, store, store, 1},
    {"st.param", store, store, store, 0},
    {"atom red", atomic, atomic, atomic, 1},
    {"bra brx call ret", branch, branch, branch, 1},
    {"ret.entry exit trap", exit, exit, exit, 1},
    {"bar barrier", barrier, barrier, barrier, 1},
    {"bar.arrive barrier.arrive bar.warp", int_add, int_add, int_add, 1},
    {"wgmma.fence", int_add, int_add, int_add, 1},
    {"bar.partial", int_add, int_add, int_add, 1},  // only some warps: the machine's barriers are for all of a CTA
    {"membar fence", fence, fence, fence, 1},
    {"cp.async", load, load, load, 1},
    {"cp.async.group", fence, fence, fence, 1},  // commit_group, wait_group; wait_all takes two
    {"cp.async.mbarrier.arrive mbarrier", atomic, atomic, atomic, 1},
    {"mbarrier.init mbarrier.inval", store, store, store, 1},
    {"mbarrier.test_wait mbarrier.try_wait", load, load, load, 1},
    {"mbarrier.pending_count", int_add, int_add, int_add, 1},
};

}  // namespace

const TimingRow& timing_of(std::string_view opcode) {
    const TimingRow* best = &kTable[0];
    std::size_t longest = 0;
    for (const TimingRow& row : kTable) {
        each_word(row.opcodes, [&](std::string_view word) {
            const bool fits = opcode.starts_with(word) && (opcode.size() == word.size() || opcode[word.size()] == '.');
            if (!fits || word.size() <= longest) return;
            best = &row;
            longest = word.size();
        });
    }
    return *best;
}

}  // namespace mergelane::ptx
