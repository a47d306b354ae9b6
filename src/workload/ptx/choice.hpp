// SPDX-License-Identifier: MIT
// Selection of the handler that executes an instruction. The handlers exist once per host instruction set, and all produce identical bits;
// the widest set of the host is chosen at launch.
#pragma once

#include <cstdint>

#include "workload/ptx/program.hpp"
#include "workload/ptx/types.hpp"

namespace mergelane::ptx {

enum class Op : std::uint8_t {
    nop,
    add,
    sub,
    mul_lo,
    mul_hi,
    mul_wide,
    mul24_lo,
    mul24_hi,
    mad_lo,
    mad_hi,
    mad_wide,
    mad24_lo,
    fma,
    div,
    rem,
    neg,
    abs,
    min,
    max,
    min_nan,
    max_nan,
    sad,
    dp4a,
    dp2a_lo,
    dp2a_hi,
    and_,
    or_,
    xor_,
    not_,
    cnot,
    shl,
    shr,
    lop3,
    shf_l,
    shf_r,
    prmt,
    bfe,
    bfi,
    bfind,
    bmsk,
    brev,
    popc,
    clz,
    add_carry,
    sub_carry,
    mad_lo_carry,
    mad_hi_carry,
    setp,
    selp,
    mov,
    pack,
    unpack,
    cvt,
    copysign,
    testp,
    rcp,
    sqrt,
    rsqrt,
    ex2,
    lg2,
    sin,
    cos,
    tanh,
    ld,
    st,
    ld_kernel_param,
    ld_call_param,
    st_call_param,
    atom,
    isspacep,
    shfl,
    vote_all,
    vote_any,
    vote_uni,
    vote_ballot,
    activemask,
    match_any,
    match_all,
    redux
};

enum class Round : std::uint8_t { none, nearest, zero, down, up, int_nearest, int_zero, int_down, int_up };
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Shuffle : std::uint8_t { up, down, bfly, idx };
enum class AtomicOp : std::uint8_t { add, min, max, and_, or_, xor_, exch, cas, inc, dec };

struct Choice {
    Op op = Op::nop;
    Type type = Type::b32;
    Type from = Type::none;  ///< cvt
    Round round = Round::none;
    Compare compare = Compare::eq;
    AtomicOp atomic = AtomicOp::add;
    Shuffle shuffle = Shuffle::up;
    bool ftz = false;
    bool saturate = false;
    bool approximate = false;
    std::uint8_t dst_bytes = 4;  ///< of the register, where it may differ from the type
    std::uint8_t src_bytes = 4;
};

/// Bits of Inst::sub for the carry chain.
inline constexpr std::uint8_t kCarryIn = 1;
inline constexpr std::uint8_t kCarryOut = 2;
/// Inst::sub of setp: how a third predicate is combined.
inline constexpr std::uint8_t kCombineAnd = 1;
inline constexpr std::uint8_t kCombineOr = 2;
inline constexpr std::uint8_t kCombineXor = 3;

/// nullptr: no such instruction.
using Select = Handler (*)(const Choice& choice);
namespace lanes_base {
Handler select(const Choice& choice);
}
namespace lanes_avx2 {
Handler select(const Choice& choice);
}
/// The host's best instruction set; `portable` selects the one that every host has.
Select select_for_host(bool portable = false);

}  // namespace mergelane::ptx
