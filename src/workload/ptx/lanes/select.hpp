// SPDX-License-Identifier: MIT
// Selects the handler that executes an instruction.
#pragma once

#include <utility>

#include "workload/ptx/lanes/async.hpp"
#include "workload/ptx/lanes/cross_lane.hpp"
#include "workload/ptx/lanes/hopper.hpp"
#include "workload/ptx/lanes/matrix.hpp"
#include "workload/ptx/lanes/rare.hpp"
#include "workload/ptx/lanes/select_half.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

template <auto O, class T, u32 Operands, class F>
Handler float_handler(const Choice& c) {
    if (c.round == Round::zero || c.round == Round::down || c.round == Round::up) return directed<O, T, Operands, F>;
    return apply<O, T, Operands, F>;
}
template <auto O, u32 Operands>
Handler float_op(const Choice& c) {
    if (c.type == Type::f64) return c.saturate || c.ftz ? nullptr : float_handler<O, f64, Operands, Finish<f64, false, false>>(c);
    if (c.type != Type::f32) return nullptr;
    return by_flags(c, [&](auto ftz, auto saturate) { return float_handler<O, f32, Operands, Finish<f32, ftz(), saturate()>>(c); });
}
template <auto O, u32 Operands = 1>
Handler float_function(const Choice& c) {
    if (c.type != Type::f32) return nullptr;
    return c.ftz ? apply<O, f32, Operands, Finish<f32, true, false>> : apply<O, f32, Operands, Finish<f32, false, false>>;
}
Handler fma_op(const Choice& c) {
    if (c.round == Round::zero || c.round == Round::down || c.round == Round::up) return float_op<DirectedFma{}, 3>(c);
    return float_op<f_fma, 3>(c);
}
template <auto O>
Handler float_binary_plain(const Choice& c) {
    return c.type == Type::f64 ? apply<O, f64, 2, Finish<f64, false, false>> : float_function<O, 2>(c);
}

/// Without .ftz, the bits of a NaN stay as they are.
template <auto O>
Handler float_sign(const Choice& c) {
    if (c.type == Type::f32 && c.ftz) return apply<O, f32, 1, Finish<f32, true, false>>;
    return by_float(c.type, [](auto t) -> Handler { return apply<O, decltype(t), 1>; });
}

/// The unordered comparisons, which come after the others, are for floats only.
template <class T, bool Ftz>
Handler compare(Compare how) {
    constexpr auto kLast = std::is_floating_point_v<T> ? Compare::nan : Compare::ge;
    return by_value<kLast>(how, [](auto k) -> Handler { return setp<k(), T, Ftz>; });
}

template <class M, class Make>
Handler by_register(u32 bytes, Make make) {
    if (bytes == 8) return make(M{}, u64{});
    if constexpr (sizeof(M) <= 4) {
        if (bytes == 4) return make(M{}, u32{});
    }
    if constexpr (sizeof(M) <= 2) {
        if (bytes == 2) return make(M{}, u16{});
    }
    return nullptr;
}
/// M by type (signed ones extend), R by the register.
template <class Make>
Handler by_memory(Type type, u32 bytes, Make make) {
    switch (type) {
        case Type::s8: return by_register<s8>(bytes, make);
        case Type::s16: return by_register<s16>(bytes, make);
        case Type::s32: return by_register<s32>(bytes, make);
        default: break;
    }
    switch (type_bytes(type)) {
        case 1: return by_register<u8>(bytes, make);
        case 2: return by_register<u16>(bytes, make);
        case 4: return by_register<u32>(bytes, make);
        case 8: return by_register<u64>(bytes, make);
        default: return nullptr;
    }
}

Handler convert(const Choice& c) {
    const u32 to_bytes = type_bytes(c.type);
    if (is_float(c.type) && is_float(c.from)) {
        return by_flags(c, [&](auto ftz, auto saturate) -> Handler {
            if (c.type == Type::f32 && c.from == Type::f32) return float_to_same<f32, ftz(), saturate()>;
            if (c.type == Type::f64 && c.from == Type::f64) return float_to_same<f64, false, saturate()>;
            if (c.type == Type::f64 && c.from == Type::f32) return widen<ftz(), saturate()>;
            return c.type == Type::f32 && c.from == Type::f64 ? narrow<ftz(), saturate()> : nullptr;
        });
    }
    if (is_float(c.from)) {
        if (c.from == Type::f32 && c.type == Type::s32 && c.round == Round::int_zero && !c.ftz && c.dst_bytes == 4)
            return float_to_s32_zero;
        return by_any_integer(c.type, [&](auto to) -> Handler {
            using To = decltype(to);
            if (c.from == Type::f64) return float_to_integer<To, f64, false>;
            if (c.from != Type::f32) return nullptr;
            return c.ftz ? float_to_integer<To, f32, true> : float_to_integer<To, f32, false>;
        });
    }
    if (is_float(c.type)) {
        return by_any_integer(c.from, [&](auto from) -> Handler {
            return by_float(c.type, [](auto to) -> Handler { return integer_to_float<decltype(to), decltype(from)>; });
        });
    }
    const u32 from_bytes = type_bytes(c.from);
    const bool plain = !c.saturate && c.dst_bytes == (to_bytes < 2 ? 2 : to_bytes) && c.src_bytes == (from_bytes < 2 ? 2 : from_bytes);
    return by_any_integer(c.type, [&](auto to) -> Handler {
        using To = decltype(to);
        return by_any_integer(c.from, [&](auto from) -> Handler {
            using From = decltype(from);
            using R = typename std::conditional<sizeof(To) == 1, u16, Unsigned<To>>::type;
            using S = typename std::conditional<sizeof(From) == 1, u16, Unsigned<From>>::type;
            if (plain) return convert_integer<To, From, R, S>;
            return convert_integer_any<To, From>;
        });
    });
}

template <AtomicOp K>
Handler atomic_of(Type type) {
    constexpr bool kCounts = K == AtomicOp::inc || K == AtomicOp::dec;
    constexpr bool kSum = K == AtomicOp::add;
    constexpr bool kSigned = kSum || K == AtomicOp::min || K == AtomicOp::max;
    constexpr bool kAnySize = K == AtomicOp::cas || K == AtomicOp::exch;
    if (type == Type::u32 || (type == Type::b32 && !kCounts)) return atomic<K, u32>;
    if constexpr (!kCounts) {
        if (type == Type::u64 || type == Type::b64) return atomic<K, u64>;
    }
    if constexpr (kSigned) {
        if (type == Type::s32) return atomic<K, s32>;
        if (type == Type::s64) return atomic<K, s64>;
    }
    if constexpr (kAnySize) {
        if (type == Type::b16) return atomic<K, u16>;
        if (type == Type::b128) return atomic<K, u128>;
    }
    if constexpr (kSum) return by_float(type, [](auto t) -> Handler { return atomic<K, decltype(t)>; });
    return nullptr;
}
template <AtomicOp K, class T>
Handler redux_of(const Choice& c) {
    return c.members ? by_members<reduce_lanes<K, T>, reduce_in_groups<K, T>> : reduce_lanes<K, T>;
}
/// Of 32 bits.
Handler redux_op(const Choice& c) {
    if (type_bytes(c.type) != 4 || is_float(c.type)) return nullptr;
    return by_value<AtomicOp::xor_>(c.atomic,
                                    [&](auto k) -> Handler { return is_signed(c.type) ? redux_of<k(), s32>(c) : redux_of<k(), u32>(c); });
}
template <Op K>
Handler vote_op(const Choice& c) {
    return c.members ? by_members<vote<K>, vote_in_groups<K>> : vote<K>;
}
template <bool All>
Handler match_op(const Choice& c) {
    if (type_bytes(c.type) == 8) return c.members ? by_members<match<u64, All>, match_in_groups<u64, All>> : match<u64, All>;
    return c.members ? by_members<match<u32, All>, match_in_groups<u32, All>> : match<u32, All>;
}

template <auto O, u32 Operands>
Handler integer_op(Type type) {
    return by_integer(type, [](auto t) -> Handler { return apply<O, decltype(t), Operands>; });
}
/// Two's complement: the sign does not matter.
template <auto O, u32 Operands>
Handler bits_op(Type type) {
    if (is_float(type)) return nullptr;
    return by_width(type, [](auto t) -> Handler { return apply<O, decltype(t), Operands>; });
}

template <bool Sum>
Handler wide_product(Type type) {
    return by_integer(type, [](auto t) -> Handler {
        if constexpr (sizeof t <= 4) return mul_wide<decltype(t), Sum>;
        return nullptr;
    });
}

Handler select_arithmetic(const Choice& c) {
    const Type t = c.type;
    switch (c.op) {
        case Op::add: return c.saturate ? (t == Type::s32 ? apply<add_saturate, s32, 2> : nullptr) : bits_op<add, 2>(t);
        case Op::sub: return c.saturate ? (t == Type::s32 ? apply<sub_saturate, s32, 2> : nullptr) : bits_op<sub, 2>(t);
        case Op::mul_lo: return bits_op<mul_lo, 2>(t);
        case Op::mul_hi: return integer_op<mul_hi, 2>(t);
        case Op::mad_lo: return bits_op<mad_lo, 3>(t);
        case Op::mad_hi: return c.saturate ? select_rare(c) : integer_op<mad_hi, 3>(t);
        case Op::mul_wide: return wide_product<false>(t);
        case Op::mad_wide: return wide_product<true>(t);
        case Op::mul24_lo: return t == Type::s32 ? apply<mul24_lo, s32, 2> : t == Type::u32 ? apply<mul24_lo, u32, 2> : nullptr;
        case Op::mul24_hi: return t == Type::s32 ? apply<mul24_hi, s32, 2> : t == Type::u32 ? apply<mul24_hi, u32, 2> : nullptr;
        case Op::mad24_lo: return t == Type::s32 ? apply<mad24_lo, s32, 3> : t == Type::u32 ? apply<mad24_lo, u32, 3> : nullptr;
        case Op::div: return by_integer(t, [](auto v) -> Handler { return binary_active<div, decltype(v)>; });
        case Op::rem: return by_integer(t, [](auto v) -> Handler { return binary_active<rem, decltype(v)>; });
        case Op::neg: return bits_op<neg, 1>(t);
        case Op::abs: return integer_op<abs, 1>(t);
        case Op::min: return integer_op<min, 2>(t);
        case Op::max: return integer_op<max, 2>(t);
        case Op::sad: return integer_op<sad, 3>(t);
        case Op::dp4a: return dot<u8, 0>;
        case Op::dp2a_lo: return dot<u16, 0>;
        case Op::dp2a_hi: return dot<u16, 2>;
        default: return select_rare(c);
    }
}

Handler select_integer(const Choice& c) {
    const Type t = c.type;
    const bool wide = type_bytes(t) == 8;
    switch (c.op) {
        case Op::and_: return bits_op<and_, 2>(t);
        case Op::or_: return bits_op<or_, 2>(t);
        case Op::xor_: return bits_op<xor_, 2>(t);
        case Op::not_: return bits_op<not_, 1>(t);
        case Op::cnot: return bits_op<cnot, 1>(t);
        case Op::shl: return by_width(t, [](auto v) -> Handler { return apply<shl, decltype(v), 2, AsIs, u32>; });
        case Op::shr: return by_integer(t, [](auto v) -> Handler { return apply<shr, decltype(v), 2, AsIs, u32>; });
        case Op::lop3: return lop3;
        case Op::shf_l: return funnel<true>;
        case Op::shf_r: return funnel<false>;
        case Op::prmt: return prmt;
        case Op::bfe: return by_word(t, [](auto v) -> Handler { return bit_field_extract<decltype(v)>; });
        case Op::bfi: return wide ? bit_field_insert<u64> : bit_field_insert<u32>;
        case Op::bfind: return by_word(t, [](auto v) -> Handler { return find_leading<decltype(v)>; });
        case Op::bmsk: return bit_mask;
        case Op::brev: return wide ? reverse<u64> : type_bytes(t) == 4 ? reverse<u32> : nullptr;
        case Op::popc: return wide ? population<u64> : population<u32>;
        case Op::clz: return wide ? leading_zeros<u64> : leading_zeros<u32>;
        case Op::add_carry: return wide ? carry_chain<Op::add_carry, u64> : carry_chain<Op::add_carry, u32>;
        case Op::sub_carry: return wide ? carry_chain<Op::sub_carry, u64> : carry_chain<Op::sub_carry, u32>;
        case Op::mad_lo_carry: return wide ? carry_chain<Op::mad_lo_carry, u64> : carry_chain<Op::mad_lo_carry, u32>;
        case Op::mad_hi_carry: return wide ? carry_chain<Op::mad_hi_carry, u64> : carry_chain<Op::mad_hi_carry, u32>;
        default: return select_arithmetic(c);
    }
}

Handler select_float(const Choice& c) {
    switch (c.op) {
        case Op::add: return float_op<f_add, 2>(c);
        case Op::sub: return float_op<f_sub, 2>(c);
        case Op::mul_lo: return float_op<f_mul, 2>(c);
        case Op::div: return float_op<f_div, 2>(c);
        case Op::fma:
        case Op::mad_lo: return fma_op(c);
        case Op::sqrt: return float_op<FSqrt{}, 1>(c);
        case Op::rcp:
            if (c.type == Type::f64 && c.approximate) return upper_half<f_rcp>;
            return float_op<f_rcp, 1>(c);
        case Op::rsqrt:
            if (c.type == Type::f64) return c.ftz ? upper_half<FRsqrt{}> : float_op<FRsqrt{}, 1>(c);
            return float_function<FRsqrt{}>(c);
        case Op::ex2: return float_function<exp2_float>(c);
        case Op::lg2: return float_function<log2_float>(c);
        case Op::sin: return float_function<f_sin>(c);
        case Op::cos: return float_function<f_cos>(c);
        case Op::tanh: return float_function<tanh_float>(c);
        case Op::min: return float_binary_plain<FExtreme<false, false>{}>(c);
        case Op::max: return float_binary_plain<FExtreme<true, false>{}>(c);
        case Op::min_nan: return float_binary_plain<FExtreme<false, true>{}>(c);
        case Op::max_nan: return float_binary_plain<FExtreme<true, true>{}>(c);
        case Op::neg: return float_sign<f_neg>(c);
        case Op::abs: return float_sign<f_abs>(c);
        case Op::copysign: return by_float(c.type, [](auto t) -> Handler { return apply<f_copysign, decltype(t), 2>; });
        case Op::testp: return by_float(c.type, [](auto t) -> Handler { return test_property<decltype(t)>; });
        default: return nullptr;
    }
}

Handler select_predicate(Op op) {
    switch (op) {
        case Op::and_: return logic<and_>;
        case Op::or_: return logic<or_>;
        case Op::xor_: return logic<xor_>;
        case Op::not_: return logic<not_>;
        case Op::mov: return logic<move>;
        default: return nullptr;
    }
}

Handler select_other(const Choice& c) {
    const bool wide = type_bytes(c.type) == 8;
    switch (c.op) {
        case Op::nop: return no_operation;
        case Op::setp:
            if (c.type == Type::f32) return c.ftz ? compare<f32, true>(c.compare) : compare<f32, false>(c.compare);
            if (c.type == Type::f64) return compare<f64, false>(c.compare);
            return by_integer(c.type, [&](auto t) -> Handler { return compare<decltype(t), false>(c.compare); });
        case Op::selp: return by_width(c.type, [](auto t) -> Handler { return selp<decltype(t)>; });
        case Op::mov:
            if (c.type == Type::b128) return apply<move, u128, 1>;
            return by_width(c.type, [](auto t) -> Handler { return apply<move, decltype(t), 1>; });
        case Op::pack:
            if (c.type == Type::b128) return c.src_bytes == 8 ? pack<u128, u64> : nullptr;
            if (wide) return c.src_bytes == 4 ? pack<u64, u32> : c.src_bytes == 2 ? pack<u64, u16> : nullptr;
            return type_bytes(c.type) == 4 && c.src_bytes == 2 ? pack<u32, u16> : nullptr;
        case Op::unpack:
            if (c.type == Type::b128) return c.dst_bytes == 8 ? unpack<u128, u64> : nullptr;
            if (wide) return c.dst_bytes == 4 ? unpack<u64, u32> : c.dst_bytes == 2 ? unpack<u64, u16> : nullptr;
            return type_bytes(c.type) == 4 && c.dst_bytes == 2 ? unpack<u32, u16> : nullptr;
        case Op::cvt: return convert(c);
        case Op::cvt_pack: return select_rare(c);
        case Op::ld:
            if (c.type == Type::b128) return c.dst_bytes == 16 ? load<u128, u128> : nullptr;
            return by_memory(c.type, c.dst_bytes, [](auto m, auto r) -> Handler { return load<decltype(m), decltype(r)>; });
        case Op::ld_kernel_param:
            return by_memory(c.type, c.dst_bytes, [](auto m, auto r) -> Handler { return load_kernel_param<decltype(m), decltype(r)>; });
        case Op::ld_call_param:
            return by_memory(c.type, c.dst_bytes, [](auto m, auto r) -> Handler { return load_call_param<decltype(m), decltype(r)>; });
        case Op::st:
            if (c.type == Type::b128) return c.src_bytes == 16 ? store<u128, u128> : nullptr;
            return by_memory(c.type, c.src_bytes, [](auto m, auto r) -> Handler { return store<Unsigned<decltype(m)>, decltype(r)>; });
        case Op::st_call_param:
            return by_memory(c.type, c.src_bytes,
                             [](auto m, auto r) -> Handler { return store_call_param<Unsigned<decltype(m)>, decltype(r)>; });
        case Op::atom: return by_value<AtomicOp::dec>(c.atomic, [&](auto k) { return atomic_of<k()>(c.type); });
        case Op::isspacep: return is_space;
        case Op::shfl: return by_value<Shuffle::idx>(c.shuffle, [](auto k) -> Handler { return shuffle<k()>; });
        case Op::vote_all: return vote_op<Op::vote_all>(c);
        case Op::vote_any: return vote_op<Op::vote_any>(c);
        case Op::vote_uni: return vote_op<Op::vote_uni>(c);
        case Op::vote_ballot: return vote_op<Op::vote_ballot>(c);
        case Op::activemask: return active_mask;
        case Op::match_any: return match_op<false>(c);
        case Op::match_all: return match_op<true>(c);
        case Op::redux: return redux_op(c);
        case Op::read_clock: return wide ? read_clock<u64> : read_clock<u32>;
        default: return nullptr;
    }
}

}  // namespace

Handler select(const Choice& choice) {
    if (const Handler hopper = select_hopper(choice); hopper != nullptr) return hopper;
    if (concerns_half(choice)) return select_half(choice);
    if (choice.type == Type::b128 && !only_moves(choice.op) && choice.op != Op::atom) return nullptr;
    if (choice.type == Type::pred) {
        if (const Handler logic = select_predicate(choice.op); logic != nullptr) return logic;
    }
    if (const Handler other = select_other(choice); other != nullptr) return other;
    if (const Handler matrix = select_matrix(choice); matrix != nullptr) return matrix;
    if (const Handler async = select_async(choice.op); async != nullptr) return async;
    return is_float(choice.type) ? select_float(choice) : select_integer(choice);
}

}  // namespace mergelane::ptx::MERGELANE_LANES
