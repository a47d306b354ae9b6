// SPDX-License-Identifier: MIT
// Derived from comparing PTX with the machine code generated from it: parameters and immediates are operands, address conversions vanish,
// moves between registers are coalesced. Divisions and functions take one slot of a slow class, as in GPGPU-Sim.
#include "workload/ptx/timing_table.hpp"

namespace mergelane::ptx {

const std::vector<TimingRow>& timing_table() {
    using enum OpClass;
    static const std::vector<TimingRow> table = {
        // opcode         integer     f32        f64        slots
        {"", int_add, fp_add, dp_add, 1},  // everything not listed below
        {"add", int_add, fp_add, dp_add, 1},
        {"sub", int_add, fp_add, dp_add, 1},
        {"addc", int_add, int_add, int_add, 1},
        {"subc", int_add, int_add, int_add, 1},
        {"mul", int_mul, fp_mul, dp_add, 1},
        {"mul24", int_mul, int_mul, int_mul, 1},
        {"mad", int_mad, fp_mad, dp_add, 1},
        {"mad24", int_mad, int_mad, int_mad, 1},
        {"madc", int_mad, int_mad, int_mad, 1},
        {"fma", fp_mad, fp_mad, dp_add, 1},
        {"div", int_div, fp_div, dp_div, 1},
        {"rem", int_div, int_div, int_div, 1},
        {"min", int_minmax, fp_minmax, dp_minmax, 1},
        {"max", int_minmax, fp_minmax, dp_minmax, 1},
        {"neg", int_add, fp_add, dp_add, 0},  // an operand's sign
        {"neg.s16", int_add, int_add, int_add, 1},
        {"neg.s32", int_add, int_add, int_add, 1},
        {"neg.s64", int_add, int_add, int_add, 1},
        {"abs", int_add, fp_add, dp_add, 1},
        {"sad", int_mad, int_mad, int_mad, 1},
        {"dp4a", int_mad, int_mad, int_mad, 1},
        {"dp2a", int_mad, int_mad, int_mad, 1},
        {"setp", int_add, fp_add, dp_add, 1},
        {"set", int_add, fp_add, dp_add, 1},
        {"selp", int_add, int_add, int_add, 1},
        {"mov", int_add, int_add, int_add, 0},
        {"mov.special", int_add, int_add, int_add, 1},  // reading a special register
        {"cvt", int_add, fp_add, dp_add, 1},
        {"cvta", int_add, int_add, int_add, 0},
        {"rcp", sfu, sfu, dp_div, 1},
        {"sqrt", sfu, sfu, dp_div, 1},
        {"rsqrt", sfu, sfu, dp_div, 1},
        {"ex2", sfu, sfu, sfu, 1},
        {"lg2", sfu, sfu, sfu, 1},
        {"sin", sfu, sfu, sfu, 1},
        {"cos", sfu, sfu, sfu, 1},
        {"tanh", sfu, sfu, sfu, 1},
        {"ld", load, load, load, 1},
        {"ld.param", load, load, load, 0},
        {"ld.const", constant, constant, constant, 1},
        {"ldu", load, load, load, 1},
        {"st", store, store, store, 1},
        {"st.param", store, store, store, 0},
        {"atom", atomic, atomic, atomic, 1},
        {"red", atomic, atomic, atomic, 1},
        {"bra", branch, branch, branch, 1},
        {"brx", branch, branch, branch, 1},
        {"call", branch, branch, branch, 1},
        {"ret", branch, branch, branch, 1},
        {"ret.entry", exit, exit, exit, 1},
        {"exit", exit, exit, exit, 1},
        {"trap", exit, exit, exit, 1},
        {"bar", barrier, barrier, barrier, 1},
        {"barrier", barrier, barrier, barrier, 1},
        {"bar.partial", int_add, int_add, int_add, 1},  // only some warps: the machine's barriers are for all of a CTA
        {"bar.arrive", int_add, int_add, int_add, 1},
        {"barrier.arrive", int_add, int_add, int_add, 1},
        {"bar.warp", int_add, int_add, int_add, 1},
        {"membar", fence, fence, fence, 1},
        {"fence", fence, fence, fence, 1},
        {"prefetch", int_add, int_add, int_add, 0},
        {"prefetchu", int_add, int_add, int_add, 0},
        {"nanosleep", int_add, int_add, int_add, 1},
    };
    return table;
}

const TimingRow& timing_of(std::string_view opcode) {
    const TimingRow* best = nullptr;
    for (const TimingRow& row : timing_table()) {
        const std::size_t size = row.opcode.size();
        const bool fits = size == 0 || (opcode.starts_with(row.opcode) && (opcode.size() == size || opcode[size] == '.'));
        if (fits && (best == nullptr || size > best->opcode.size())) best = &row;
    }
    return *best;
}

OpClass class_of(const TimingRow& row, Type type) {
    if (type == Type::f64) return row.wide;
    return is_float(type) ? row.single : row.integer;
}

}  // namespace mergelane::ptx
