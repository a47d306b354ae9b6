// SPDX-License-Identifier: MIT
// Floating point, correctly rounded in all four directions. NaNs have one bit pattern per type, independent of the host.
#pragma once

#include <cfenv>

#include "workload/ptx/lanes/integer.hpp"
#include "workload/ptx/lanes/math.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// The bits of a float, and the one that is its sign.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
template <class T>
constexpr Bits<T> kSign = Bits<T>{1} << (sizeof(T) * 8 - 1);

inline f32 canonical(f32 v) {
    return v == v ? v : as<f32>(0x7FFFFFFFu);
}
inline f64 canonical(f64 v) {
    return v == v ? v : as<f64>(u64{0xFFF8000000000000});
}
/// Denormal numbers become zeros of the same sign.
inline f32 flush(f32 v) {
    const u32 bits = as<u32>(v);
    return (bits & 0x7F800000u) == 0 ? as<f32>(bits & 0x80000000u) : v;
}
inline f32 saturated(f32 v) {
    return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}
inline f64 saturated(f64 v) {
    return v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
}

inline f64 fused(f64 a, f64 b, f64 c) {
    return __builtin_fma(a, b, c);
}
/// Exact product in double, sum rounded to odd, then to float: rounds once, like a fused operation.
inline f32 fused(f32 a, f32 b, f32 c) {
#if defined(__FMA__)
    return __builtin_fmaf(a, b, c);
#else
    const f64 product = static_cast<f64>(a) * static_cast<f64>(b);
    const f64 addend = c;
    const f64 sum = product + addend;
    const f64 part = sum - product;
    const f64 lost = (product - (sum - part)) + (addend - part);
    const u64 bits = as<u64>(sum);
    const u64 away = (lost > 0) == (sum > 0) ? 1 : ~u64{0};
    const bool inexact = (lost > 0 || lost < 0) && (bits & 1) == 0;
    return static_cast<f32>(as<f64>(inexact ? bits + away : bits));
#endif
}

constexpr auto f_add = [](auto a, auto b) { return a + b; };
constexpr auto f_sub = [](auto a, auto b) { return a - b; };
constexpr auto f_mul = [](auto a, auto b) { return a * b; };
constexpr auto f_div = [](auto a, auto b) { return a / b; };
constexpr auto f_fma = [](auto a, auto b, auto c) { return fused(a, b, c); };
struct FSqrt {
    f32 operator()(f32 a) const { return __builtin_sqrtf(a); }
    f64 operator()(f64 a) const { return __builtin_sqrt(a); }
};
constexpr auto f_rcp = [](auto a) { return decltype(a){1} / a; };
struct FRsqrt {
    f32 operator()(f32 a) const { return static_cast<f32>(1.0 / __builtin_sqrt(static_cast<f64>(a))); }
    f64 operator()(f64 a) const { return 1.0 / __builtin_sqrt(a); }
};
constexpr auto f_sin = [](f32 a) { return wave(a, 0); };
constexpr auto f_cos = [](f32 a) { return wave(a, 1); };
/// A number wins over a NaN; -0 is less than +0.
template <bool Largest, bool KeepNan>
struct FExtreme {
    template <class T>
    T operator()(T a, T b) const {
        using U = Bits<T>;
        const T zero = as<T>(static_cast<U>(Largest ? as<U>(a) & as<U>(b) : as<U>(a) | as<U>(b)));
        T r = Largest ? (a > b ? a : b) : (a < b ? a : b);
        r = a == b ? zero : r;
        if constexpr (KeepNan) {
            r = a == a ? r : a;
            r = b == b ? r : b;
        } else {
            r = a == a ? r : b;
            r = b == b ? r : a;
        }
        return r;
    }
};
constexpr auto f_neg = []<class T>(T a) { return as<T>(as<Bits<T>>(a) ^ kSign<T>); };
constexpr auto f_abs = []<class T>(T a) { return as<T>(as<Bits<T>>(a) & ~kSign<T>); };
/// copysign a, b: magnitude of b with the sign of a
constexpr auto f_copysign = []<class T>(T a, T b) { return as<T>((as<Bits<T>>(a) & kSign<T>) | (as<Bits<T>>(b) & ~kSign<T>)); };

/// What happens to operands (flush) and results (NaN, flush, saturate).
template <class T, bool Ftz, bool Saturate>
struct Finish {
    static T before(T v) {
        if constexpr (Ftz && sizeof(T) == 4) return flush(v);
        return v;
    }
    static T after(T v) {
        if constexpr (Saturate) v = saturated(v);
        if constexpr (Ftz && sizeof(T) == 4) v = flush(v);
        return canonical(v);
    }
};

/// Sets the host's rounding mode for one instruction. Operands and results are in memory that is opaque to the compiler, so it cannot move
/// the computation out of the scope.
class RoundingScope {
public:
    explicit RoundingScope(Round round) {
        std::fesetround(round == Round::zero   ? FE_TOWARDZERO
                        : round == Round::down ? FE_DOWNWARD
                        : round == Round::up   ? FE_UPWARD
                                               : FE_TONEAREST);
    }
    ~RoundingScope() { std::fesetround(FE_TONEAREST); }
    RoundingScope(const RoundingScope&) = delete;
    RoundingScope& operator=(const RoundingScope&) = delete;
};
/// Not the software fused() of float, which relies on rounding to nearest.
struct DirectedFma {
    f64 operator()(f64 a, f64 b, f64 c) const { return fused(a, b, c); }
    f32 operator()(f32 a, f32 b, f32 c) const { return __builtin_fmaf(a, b, c); }
};
template <auto O, class T, u32 Operands, class F>
void directed(Warp& warp, const Inst& inst, u32 mask) {
    const RoundingScope scope(static_cast<Round>(inst.sub));
    apply<O, T, Operands, F>(warp, inst, mask);
}

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 give the upper half of the result.
template <auto O>
void upper_half(Warp& warp, const Inst& inst, u32 mask) {
    const f64* a = in<f64>(warp, inst.a);
    map<f64>(warp, inst.d, mask, [=](u32 i) {
        const u64 bits = as<u64>(a[i]);
        const f64 v = (bits & 0x7FF0000000000000ull) == 0 ? as<f64>(bits & (u64{1} << 63)) : a[i];
        const u64 r = as<u64>(canonical(O(v))) & 0xFFFFFFFF00000000ull;
        return as<f64>((r & 0x7FF0000000000000ull) == 0 ? r & (u64{1} << 63) : r);
    });
}

template <Compare C, class T>
inline bool holds(T a, T b) {
    switch (C) {
        case Compare::eq: return a == b;
        case Compare::ne: return (a < b) | (a > b);
        case Compare::lt: return a < b;
        case Compare::le: return a <= b;
        case Compare::gt: return a > b;
        case Compare::ge: return a >= b;
        case Compare::equ: return !((a < b) | (a > b));
        case Compare::neu: return !(a == b);
        case Compare::ltu: return !(a >= b);
        case Compare::leu: return !(a > b);
        case Compare::gtu: return !(a <= b);
        case Compare::geu: return !(a < b);
        case Compare::num: return (a == a) & (b == b);
        case Compare::nan: return !((a == a) & (b == b));
    }
    return false;
}
/// Both results of a comparison, combined with a third predicate where there is one.
inline void set_compared(Warp& warp, const Inst& inst, u32 mask, u32 r, u32 other) {
    if (inst.sub != 0) {
        const u32 c = inst.negate ? ~predicate(warp, inst.c) : predicate(warp, inst.c);
        r = inst.sub == kCombineAnd ? r & c : inst.sub == kCombineOr ? r | c : r ^ c;
        other = inst.sub == kCombineAnd ? other & c : inst.sub == kCombineOr ? other | c : other ^ c;
    }
    if (inst.d != kAbsent) set_predicate(warp, inst.d, mask, r);
    if (inst.d2 != kAbsent) set_predicate(warp, inst.d2, mask, other);
}
template <Compare C, class T, bool Ftz>
void setp(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const T* b = in<T>(warp, inst.b);
    u32 r = 0;
    for (u32 i = 0; i < 32; ++i) {
        if constexpr (Ftz)
            r |= holds<C>(flush(a[i]), flush(b[i])) ? kBit[i] : 0;
        else
            r |= holds<C>(a[i], b[i]) ? kBit[i] : 0;
    }
    set_compared(warp, inst, mask, r, ~r);
}

/// inst.sub: 0 finite, 1 infinite, 2 number, 3 notanumber, 4 normal, 5 subnormal
template <class T>
void test_property(Warp& warp, const Inst& inst, u32 mask) {
    using U = Bits<T>;
    constexpr u32 kFraction = sizeof(T) == 4 ? 23 : 52;
    constexpr U kInfinity = sizeof(T) == 4 ? U{0xFF} << 23 : static_cast<U>(u64{0x7FF} << 52);
    const U* a = in<U>(warp, inst.a);
    u32 r = 0;
    for (u32 i = 0; i < 32; ++i) {
        const U v = a[i] & ~kSign<T>;
        const bool property[] = {v<kInfinity, v == kInfinity, v <= kInfinity, v> kInfinity, v >= U{1} << kFraction && v < kInfinity,
                                 v != 0 && v < U{1} << kFraction};
        r |= property[inst.sub] ? kBit[i] : 0;
    }
    set_predicate(warp, inst.d, mask, r);
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
