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
    redux,
    ldmatrix,
    stmatrix,
    movmatrix,
    matrix_product,
    matrix_product_quads,
    matrix_product_f64,
    matrix_product_b1,
    matrix_load,
    matrix_store,
    min_xorsign,
    max_xorsign,
    min_nan_xorsign,
    max_nan_xorsign,
    selp_halves,
    atom_elements,
    // decode_async.cpp
    shared_places,
    copy_async,
    mbarrier,
    mbarrier_pending,
    mad24_hi,
    szext,
    fns,
    test_result,
    video,
    cvt_pack,
    read_clock,
    // decode_hopper.cpp
    flat_address,
    map_to_rank,
    rank_of_address,
    elect,
    bulk_copy,
    bulk_reduce,
    tensor_copy,
    warpgroup_product
};

enum class Round : std::uint8_t { none, nearest, zero, down, up, int_nearest, int_zero, int_down, int_up, away };
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Shuffle : std::uint8_t { up, down, bfly, idx };
enum class MbarrierOp : std::uint8_t { init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait, pending_count };
enum class Video : std::uint8_t { add, sub, absdiff, min, max, set };
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
    bool relu = false;           ///< negative results become 0
    bool members = false;        ///< vote, match, redux: the lanes that take part are in a register, Inst::c
    bool finite = false;         ///< cvt: what is too large becomes the largest finite number
    std::uint8_t dst_bytes = 4;  ///< of the register, where it may differ from the type
    std::uint8_t src_bytes = 4;
};

/// Bits of Inst::sub for the carry chain.
inline constexpr std::uint8_t kCarryIn = 1;
inline constexpr std::uint8_t kCarryOut = 2;
/// Bits of Inst::offset for conversions to f16, bf16 and narrower formats: what .ftz, .sat, .relu and .satfinite say.
inline constexpr std::int64_t kFlushes = 1;
inline constexpr std::int64_t kSaturates = 2;
inline constexpr std::int64_t kRectifies = 4;
inline constexpr std::int64_t kFinite = 8;
/// Bits of Inst::offset for video instructions.
inline constexpr std::int64_t kVideoSignedA = 1;
inline constexpr std::int64_t kVideoSignedB = 2;
inline constexpr std::int64_t kVideoSignedResult = 4;
inline constexpr std::int64_t kVideoSaturates = 8;
inline constexpr std::int64_t kVideoAdds = 16;
/// Inst::sub of setp: how a third predicate is combined.
inline constexpr std::uint8_t kCombineAnd = 1;
inline constexpr std::uint8_t kCombineOr = 2;
inline constexpr std::uint8_t kCombineXor = 3;

/// Inst::sub of bulk and tensor copies that reduce nothing; otherwise an AtomicOp.
inline constexpr std::uint8_t kCopies = 255;

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
