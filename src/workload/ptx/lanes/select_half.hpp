// SPDX-License-Identifier: MIT
// Selects the handlers of f16, bf16, narrower formats, and pairs of 16-bit integers.
#pragma once

#include "workload/ptx/lanes/by_type.hpp"
#include "workload/ptx/lanes/convert_half.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// These move bits, whatever their type.
inline bool only_moves(Op op) {
    switch (op) {
        case Op::mov:
        case Op::selp:
        case Op::pack:
        case Op::unpack:
        case Op::ld:
        case Op::st:
        case Op::ld_kernel_param:
        case Op::ld_call_param:
        case Op::st_call_param: return true;
        default: return false;
    }
}
inline bool concerns_half(const Choice& c) {
    if (only_moves(c.op)) return false;
    switch (c.op) {
        case Op::min_xorsign:
        case Op::max_xorsign:
        case Op::min_nan_xorsign:
        case Op::max_nan_xorsign:
        case Op::selp_halves:
        case Op::atom_elements: return true;
        default: return is_half(c.type) || is_half(c.from) || c.relu || c.finite;
    }
}

/// Calls `make` with a format and the C++ type of the register.
template <class Make>
Handler by_half(Type type, Make make) {
    switch (type) {
        case Type::f16: return make(F16{}, u16{});
        case Type::f16x2: return make(F16{}, u32{});
        case Type::bf16: return make(Bf16{}, u16{});
        case Type::bf16x2: return make(Bf16{}, u32{});
        default: return nullptr;
    }
}
template <class H, bool Ftz, class Make>
Handler by_clamp(const Choice& c, Make make) {
    if (c.relu) return c.saturate ? nullptr : make(HalfFinish<H, Ftz, Clamp::relu>{});
    if constexpr (std::is_same_v<H, F16>) {
        if (c.saturate) return make(HalfFinish<H, Ftz, Clamp::saturate>{});
    }
    return c.saturate ? nullptr : make(HalfFinish<H, Ftz, Clamp::none>{});
}
/// Only f16 has .ftz and .sat.
template <auto O, u32 Operands>
Handler half_arithmetic(const Choice& c) {
    if (c.round != Round::none && c.round != Round::nearest) return nullptr;
    return by_half(c.type, [&]<class H, class T>(H, T) -> Handler {
        const auto make = []<class F>(F) -> Handler { return half_op<F, O, Operands, T>; };
        if constexpr (std::is_same_v<H, F16>) {
            if (c.ftz) return by_clamp<H, true>(c, make);
        }
        return c.ftz ? nullptr : by_clamp<H, false>(c, make);
    });
}
Handler half_fma(const Choice& c) {
    if (c.type == Type::f16 || c.type == Type::f16x2) return half_arithmetic<HalfFma<F16>{}, 3>(c);
    return half_arithmetic<HalfFma<Bf16>{}, 3>(c);
}
/// Functions and selections: only .ftz, which f16 or, for ex2, bf16 has.
template <auto O, u32 Operands>
Handler half_function(const Choice& c, bool may_flush) {
    if (c.saturate || c.relu || (c.ftz && !may_flush)) return nullptr;
    return by_half(c.type, [&]<class H, class T>(H, T) -> Handler {
        return c.ftz ? half_op<HalfFinish<H, true, Clamp::none>, O, Operands, T>
                     : half_op<HalfFinish<H, false, Clamp::none>, O, Operands, T>;
    });
}
template <auto O>
Handler extreme(const Choice& c, bool is_f16) {
    if (c.type != Type::f32) return half_function<O, 2>(c, is_f16);
    return c.ftz ? apply<O, f32, 2, Finish<f32, true, false>> : apply<O, f32, 2, Finish<f32, false, false>>;
}
template <auto O, auto Plain>
Handler half_sign(const Choice& c, bool is_f16) {
    if (c.ftz) return half_function<O, 1>(c, is_f16);
    return by_half(c.type, []<class H, class T>(H, T) -> Handler { return apply<Plain, T, 1>; });
}
Handler half_compare(const Choice& c, bool is_f16) {
    if (c.ftz && !is_f16) return nullptr;
    return by_half(c.type, [&]<class H, class T>(H, T) -> Handler {
        return by_value<Compare::nan>(c.compare, [&](auto k) -> Handler {
            return c.ftz ? half_setp<HalfFinish<H, true, Clamp::none>, k(), T> : half_setp<HalfFinish<H, false, Clamp::none>, k(), T>;
        });
    });
}
Handler half_atomic(const Choice& c) {
    return by_value<AtomicOp::max>(c.atomic, [&](auto k) -> Handler {
        using K = decltype(k);
        if (c.type == Type::f32) return k() == AtomicOp::add ? atomic_elements<SingleElement<AtomicOp::add>> : nullptr;
        return by_half(c.type, []<class H, class T>(H, T) -> Handler { return atomic_elements<HalfElement<H, K::value, T>>; });
    });
}
template <auto O>
Handler pairs(const Choice& c) {
    if (c.type == Type::u16x2) return c.relu ? nullptr : pair_op<O, u16, false>;
    return c.relu ? pair_op<O, s16, true> : pair_op<O, s16, false>;
}

template <class F>
Handler narrow_from(const Choice& c) {
    switch (c.from) {
        case Type::f16: return narrow_any<F, ReadHalf<F16>>;
        case Type::bf16: return narrow_any<F, ReadHalf<Bf16>>;
        case Type::f32: return narrow_any<F, ReadSingle>;
        case Type::f64: return narrow_any<F, ReadDouble>;
        default: return by_any_integer(c.from, [](auto from) -> Handler { return narrow_any<F, ReadInteger<decltype(from)>>; });
    }
}
template <class H, class F>
Handler narrow_to_half(const Choice& c, bool plain) {
    if (c.from == Type::f32 && plain) return single_to_half<H>;
    return narrow_from<F>(c);
}
Handler convert_pair(const Choice& c, bool plain) {
    if (c.from == Type::f32) {
        switch (c.type) {
            case Type::f16x2: return plain ? singles_to_pair<F16> : narrow_pair<F16Format, u32>;
            case Type::bf16x2: return plain ? singles_to_pair<Bf16> : narrow_pair<Bf16Format, u32>;
            case Type::e4m3x2: return narrow_pair<E4m3Format, u16>;
            default: return narrow_pair<E5m2Format, u16>;
        }
    }
    if (c.from == Type::f16x2 && c.type == Type::e4m3x2) return bytes_of_halves<E4m3Format>;
    if (c.from == Type::f16x2 && c.type == Type::e5m2x2) return bytes_of_halves<E5m2Format>;
    if (c.from == Type::e4m3x2 && c.type == Type::f16x2) return halves_of_bytes<half_of_e4m3>;
    if (c.from == Type::e5m2x2 && c.type == Type::f16x2) return halves_of_bytes<half_of_e5m2>;
    return nullptr;
}
template <class H>
Handler convert_from_half(const Choice& c) {
    if (c.type == Type::f32) return by_flags(c, [](auto ftz, auto saturate) -> Handler { return half_to_single<H, ftz(), saturate()>; });
    if (c.type == Type::f64) return half_to_double<H>;
    return by_any_integer(c.type, [](auto to) -> Handler { return half_to_integer<decltype(to), H>; });
}
Handler convert_half(const Choice& c) {
    const bool plain = c.round == Round::nearest && !c.ftz && !c.saturate && !c.relu && !c.finite;
    switch (c.type) {
        case Type::f16: return narrow_to_half<F16, F16Format>(c, plain);
        case Type::bf16: return narrow_to_half<Bf16, Bf16Format>(c, plain);
        case Type::tf32:
            if (c.from != Type::f32) return nullptr;
            return c.round == Round::away && !c.finite && !c.relu ? single_to_tf32_away : narrow_any<Tf32Format, ReadSingle>;
        case Type::f16x2:
        case Type::bf16x2:
        case Type::e4m3x2:
        case Type::e5m2x2: return convert_pair(c, plain);
        default: break;
    }
    return c.from == Type::f16 ? convert_from_half<F16>(c) : c.from == Type::bf16 ? convert_from_half<Bf16>(c) : nullptr;
}

Handler select_half(const Choice& c) {
    const bool is_f16 = c.type == Type::f16 || c.type == Type::f16x2;
    const bool integers = c.type == Type::s16x2 || c.type == Type::u16x2;
    if (integers && c.saturate) return nullptr;
    switch (c.op) {
        case Op::add: return integers ? (c.relu ? nullptr : pairs<add>(c)) : half_arithmetic<f_add, 2>(c);
        case Op::sub: return half_arithmetic<f_sub, 2>(c);
        case Op::mul_lo: return half_arithmetic<f_mul, 2>(c);
        case Op::fma: return half_fma(c);
        case Op::neg: return half_sign<f_neg, half_neg>(c, is_f16);
        case Op::abs: return half_sign<f_abs, half_abs>(c, is_f16);
        case Op::min:
            if (c.type == Type::s32) return apply<min_relu, s32, 2>;
            return integers ? pairs<min>(c) : half_function<FExtreme<false, false>{}, 2>(c, is_f16);
        case Op::max:
            if (c.type == Type::s32) return apply<max_relu, s32, 2>;
            return integers ? pairs<max>(c) : half_function<FExtreme<true, false>{}, 2>(c, is_f16);
        case Op::min_nan: return half_function<FExtreme<false, true>{}, 2>(c, is_f16);
        case Op::max_nan: return half_function<FExtreme<true, true>{}, 2>(c, is_f16);
        case Op::min_xorsign: return extreme<ExtremeOfSizes<FExtreme<false, false>>{}>(c, is_f16);
        case Op::max_xorsign: return extreme<ExtremeOfSizes<FExtreme<true, false>>{}>(c, is_f16);
        case Op::min_nan_xorsign: return extreme<ExtremeOfSizes<FExtreme<false, true>>{}>(c, is_f16);
        case Op::max_nan_xorsign: return extreme<ExtremeOfSizes<FExtreme<true, true>>{}>(c, is_f16);
        case Op::ex2: return c.ftz == is_f16 ? nullptr : half_function<exp2_float, 1>(c, true);
        case Op::tanh: return half_function<tanh_float, 1>(c, false);
        case Op::setp: return half_compare(c, is_f16);
        case Op::selp_halves: return select_halves;
        case Op::atom:
        case Op::atom_elements: return half_atomic(c);
        case Op::cvt: return convert_half(c);
        default: return nullptr;
    }
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
