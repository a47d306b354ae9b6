// SPDX-License-Identifier: MIT
// f16 and bf16, alone and in pairs: arithmetic, comparisons, atomics. Lanes are computed in f32 and rounded once:
//  - Products of f16 are exact in f32. So are those of bf16, unless they are so small that the result is 0 either way.
//  - Sums are rounded to f32 first, which has more than twice their digits and two more, so that the second rounding changes nothing; where
//    a result has fewer digits, being subnormal, the sum is exact.
//  - The sum of a fused operation is rounded to odd first, which preserves what the second rounding needs to know.
#pragma once

#include "workload/ptx/lanes/cross_lane.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

constexpr u32 kHalfNan = 0x7FFF;

/// a or b, without a choice between computed values, which would keep compilers from vectorising.
template <class T>
inline T pick(bool condition, T a, T b) {
    const T mask = static_cast<T>(T{0} - static_cast<T>(condition));
    return (a & mask) | (b & ~mask);
}

struct F16 {
    static constexpr u32 kExponent = 0x7C00;
    static f32 widen(u32 h) {
        const u32 size = (h & 0x7FFF) << 13;
        const f32 scaled = as<f32>(size) * as<f32>(0x77800000u);   // 2^112, the difference of the biases
        const u32 beyond = size >= 0x0F800000u ? 0x7F800000u : 0;  // infinite, or NaN
        return as<f32>(as<u32>(scaled) | beyond | (h & 0x8000) << 16);
    }
    /// To nearest even.
    static u32 narrow(f32 v) {
        const u32 bits = as<u32>(v);
        const u32 size = bits & 0x7FFFFFFFu;
        const u32 normal = (size + 0xC8000FFFu + (size >> 13 & 1)) >> 13;
        const u32 tiny = as<u32>(as<f32>(size) + 0.5f) - 0x3F000000u;  // adding 0.5 rounds to a multiple of 2^-24
        u32 r = pick(size < 0x38800000u, tiny, normal);
        r = pick(size >= 0x47800000u, 0x7C00u, r) | (bits >> 16 & 0x8000u);
        return pick(size > 0x7F800000u, kHalfNan, r);
    }
};
struct Bf16 {
    static constexpr u32 kExponent = 0x7F80;
    static f32 widen(u32 h) { return as<f32>(h << 16); }
    static u32 narrow(f32 v) {
        const u32 bits = as<u32>(v);
        const u32 r = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
        return (bits & 0x7FFFFFFFu) > 0x7F800000u ? kHalfNan : r;
    }
};
template <class H>
inline u32 flush_half(u32 h) {
    return pick((h & H::kExponent) == 0, h & 0x8000u, h);
}

/// x + y rounded to odd: of the two neighbours of a sum that is not exact, the one whose last bit is set.
template <class T>
inline T odd_sum(T x, T y) {
    const T sum = x + y;
    const T part = sum - x;
    const T lost = (x - (sum - part)) + (y - part);
    using U = Bits<T>;
    const U bits = as<U>(sum);
    const U down = static_cast<U>(U{0} - static_cast<U>((lost > 0) != (sum > 0)));
    const U inexact = pick<U>((lost > 0) | (lost < 0), ~bits & 1, 0);
    return as<T>(static_cast<U>(bits + ((inexact ^ down) - down)));
}
/// A double rounded to odd.
inline f32 odd_single(f64 v) {
    const f32 near = static_cast<f32>(v);
    const f64 back = near;
    const u32 bits = as<u32>(near);
    const u32 inexact = pick<u32>((back > v) | (back < v), ~bits & 1, 0);
    const u32 down = 0u - static_cast<u32>((back > v) == (v > 0));
    return as<f32>(bits + ((inexact ^ down) - down));
}
template <class H>
struct HalfFma {
    f32 operator()(f32 a, f32 b, f32 c) const {
        if constexpr (std::is_same_v<H, F16>) return odd_sum(a * b, c);
        return odd_single(odd_sum(static_cast<f64>(a) * static_cast<f64>(b), static_cast<f64>(c)));  // its range is that of f32
    }
};
/// .xorsign.abs: the smaller or larger magnitude, with the product's sign.
template <class Extreme>
struct ExtremeOfSizes {
    template <class T>
    T operator()(T a, T b) const {
        const Bits<T> sign = (as<Bits<T>>(a) ^ as<Bits<T>>(b)) & kSign<T>;
        const T r = Extreme{}(f_abs(a), f_abs(b));
        return as<T>(static_cast<Bits<T>>(as<Bits<T>>(r) | sign));
    }
};

enum class Clamp : std::uint8_t { none, saturate, relu };
/// Negative numbers become 0; NaN stays.
template <class T>
inline T rectified(T v) {
    return v <= 0 ? T{0} : v;
}
/// Operands to f32, and results from it.
template <class H, bool Ftz, Clamp C>
struct HalfFinish {
    static f32 before(u32 h) { return H::widen(Ftz ? flush_half<H>(h & 0xFFFF) : h & 0xFFFF); }
    static u32 after(f32 v) {
        if constexpr (C == Clamp::saturate) v = saturated(v);
        if constexpr (C == Clamp::relu) v = rectified(v);
        const u32 r = H::narrow(v);
        return Ftz ? flush_half<H>(r) : r;
    }
};

#if defined(MERGELANE_VECTORS)
template <auto O, auto Like>
constexpr bool kSame = std::is_same_v<std::remove_cvref_t<decltype(O)>, std::remove_cvref_t<decltype(Like)>>;
/// Operations of f16 that have an implementation for eight at a time.
template <class F, auto O>
constexpr bool kOnEight = std::is_same_v<F, HalfFinish<F16, false, Clamp::none>> &&
                          (kSame<O, f_add> || kSame<O, f_sub> || kSame<O, f_mul> || kSame<O, HalfFma<F16>{}>);
template <auto O>
inline __m256 on_eight(__m256 a, __m256 b, __m256 c) {
    if constexpr (kSame<O, f_add>) return _mm256_add_ps(a, b);
    if constexpr (kSame<O, f_sub>) return _mm256_sub_ps(a, b);
    if constexpr (kSame<O, f_mul>) return _mm256_mul_ps(a, b);
    return odd_sum_of_eight(_mm256_mul_ps(a, b), c);
}
/// A pair is two neighbouring halves.
template <auto O, u32 Operands, class T>
void half_op_on_eights(Warp& warp, const Inst& inst, u32 mask) {
    constexpr u32 kHalves = 32 * sizeof(T) / sizeof(u16);
    const u16* a = in<u16>(warp, inst.a);
    const u16* b = in<u16>(warp, inst.b);
    const u16* c = Operands > 2 ? in<u16>(warp, inst.c) : a;
    alignas(64) u16 value[kHalves];
    u16* const to = mask == kAll ? out<u16>(warp, inst.d) : value;
    for (u32 i = 0; i < kHalves; i += 8) {
        const __m256 r = on_eight<O>(widen_halves(load_16(a + i)), widen_halves(load_16(b + i)), widen_halves(load_16(c + i)));
        _mm_storeu_si128(static_cast<__m128i_u*>(static_cast<void*>(to + i)), narrow_to_halves(r));
    }
    if (mask == kAll) return;
    map<T>(warp, inst.d, mask, [&](u32 i) {
        T r;
        std::memcpy(&r, reinterpret_cast<const std::byte*>(value) + i * sizeof(T), sizeof r);
        return r;
    });
}
#endif

/// T: u16, or u32 for a pair.
template <class F, auto O, u32 Operands, class T>
void half_op(Warp& warp, const Inst& inst, u32 mask) {
#if defined(MERGELANE_VECTORS)
    if constexpr (kOnEight<F, O>) return half_op_on_eights<O, Operands, T>(warp, inst, mask);
#endif
    const T* a = in<T>(warp, inst.a);
    const T* b = Operands > 1 ? in<T>(warp, inst.b) : a;
    const T* c = Operands > 2 ? in<T>(warp, inst.c) : a;
    const auto one = [](u32 x, u32 y, u32 z) {
        (void)y, (void)z;
        if constexpr (Operands == 1) return F::after(O(F::before(x)));
        if constexpr (Operands == 2) return F::after(O(F::before(x), F::before(y)));
        if constexpr (Operands == 3) return F::after(O(F::before(x), F::before(y), F::before(z)));
    };
    alignas(64) T value[32];  // a loop that also looks at the mask would not be vectorised
    for (u32 i = 0; i < 32; ++i) {
        u32 r = one(a[i], b[i], c[i]);
        if constexpr (sizeof(T) == 4) r |= one(a[i] >> 16, b[i] >> 16, c[i] >> 16) << 16;
        value[i] = static_cast<T>(r);
    }
    map<T>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
}
/// Without .ftz, the bits of a NaN stay as they are.
constexpr auto half_neg = []<class T>(T a) { return static_cast<T>(a ^ static_cast<T>(0x80008000u)); };
constexpr auto half_abs = []<class T>(T a) { return static_cast<T>(a & static_cast<T>(0x7FFF7FFFu)); };

/// Of pairs, the first predicate is for the low half and the second for the high one.
template <class F, Compare C, class T>
void half_setp(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const T* b = in<T>(warp, inst.b);
    u32 low = 0;
    u32 high = 0;
    for (u32 i = 0; i < 32; ++i) {
        low |= holds<C>(F::before(a[i]), F::before(b[i])) ? kBit[i] : 0;
        if constexpr (sizeof(T) == 4) high |= holds<C>(F::before(a[i] >> 16), F::before(b[i] >> 16)) ? kBit[i] : 0;
    }
    set_compared(warp, inst, mask, low, sizeof(T) == 4 ? high : ~low);
}
/// Of each half: a where its predicate holds, else b. c: predicate of the low half, d2: of the high one.
void select_halves(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const u32 low = predicate(warp, inst.c);
    const u32 high = predicate(warp, inst.d2);
    map<u32>(warp, inst.d, mask, [=](u32 i) {
        const u32 pick = ((low & kBit[i]) != 0 ? 0xFFFFu : 0) | ((high & kBit[i]) != 0 ? 0xFFFF0000u : 0);
        return (a[i] & pick) | (b[i] & ~pick);
    });
}

/// Two integers of 16 bits. Relu: negative results become 0.
template <auto O, class X, bool Relu>
void pair_op(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const auto one = [](u32 x, u32 y) {
        const X r = O(static_cast<X>(x), static_cast<X>(y));
        return u32{static_cast<u16>(Relu && r < 0 ? X{0} : r)};
    };
    map<u32>(warp, inst.d, mask, [=](u32 i) { return one(a[i], b[i]) | one(a[i] >> 16, b[i] >> 16) << 16; });
}
constexpr auto min_relu = [](s32 a, s32 b) { return max(min(a, b), s32{0}); };
constexpr auto max_relu = [](s32 a, s32 b) { return max(max(a, b), s32{0}); };

/// What atomics do with one register: f32, f16 or bf16 (u16), or a pair of those (u32).
template <AtomicOp K>
inline f32 combine_float(f32 old, f32 b) {
    if constexpr (K == AtomicOp::add) return old + b;
    if constexpr (K == AtomicOp::min) return FExtreme<false, false>{}(old, b);
    if constexpr (K == AtomicOp::max) return FExtreme<true, false>{}(old, b);
}
template <AtomicOp K>
struct SingleElement {
    using T = f32;
    static f32 combine(f32 old, f32 b) { return canonical(combine_float<K>(old, b)); }
};
template <class H, AtomicOp K, class R>
struct HalfElement {
    using T = R;
    static u32 one(u32 old, u32 b) { return H::narrow(combine_float<K>(H::widen(old & 0xFFFF), H::widen(b & 0xFFFF))); }
    static R combine(R old, R b) {
        u32 r = one(old, b);
        if constexpr (sizeof(R) == 4) r |= one(old >> 16, b >> 16) << 16;
        return static_cast<R>(r);
    }
};
/// atom and red of one register or of a vector: Program::lists has the operands and, after them, the results.
template <class E>
void atomic_elements(Warp& warp, const Inst& inst, u32 mask) {
    using T = typename E::T;
    Access access;
    resolve(warp, inst, mask, static_cast<u32>(sizeof(T)) * inst.count, access);
    const Slot* list = warp.launch->program.lists.data() + inst.list;
    T before[8][32];
    each_lane(mask, [&](u32 i) {
        for (u32 e = 0; e < inst.count; ++e) {
            std::byte* at = access.of(i) + e * sizeof(T);
            const T old = fetch<T>(at);
            const T fresh = E::combine(old, in<T>(warp, list[e])[i]);
            keep(at, fresh);
            before[e][i] = old;
            if (std::memcmp(&old, &fresh, sizeof old) != 0) ++warp.launch->changes;
        }
    });
    for (u32 e = 0; e < inst.count; ++e) {
        const Slot to = list[inst.count + e];
        if (to != kAbsent) map_active<T>(warp, to, mask, [&](u32 i) { return before[e][i]; });
    }
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
