// SPDX-License-Identifier: MIT
// cvt from and to f16, bf16, tf32 and the 8-bit formats. The common forms have loops of their own; all others go lane by lane through a
// double that holds the source exactly, or rounded to odd, and are rounded from there once.
#pragma once

#include "workload/ptx/lanes/half.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// A format by its codes, without the sign: `kLargest` is the code of the largest finite number, kBeyond what overflow gives.
template <u32 Exponent, u32 Fraction, u32 Largest, u32 Beyond, u32 Nan>
struct Format {
    static constexpr s32 kBias = (1 << (Exponent - 1)) - 1;
    static constexpr u32 kFraction = Fraction, kLargest = Largest, kBeyond = Beyond, kNan = Nan;
    static constexpr u32 kSignAt = Exponent + Fraction;
};
using F16Format = Format<5, 10, 0x7BFF, 0x7C00, kHalfNan>;
using Bf16Format = Format<8, 7, 0x7F7F, 0x7F80, kHalfNan>;
using Tf32Format = Format<8, 10, 0x3FBFF, 0x3FC00, 0x3FFFF>;
using E4m3Format = Format<4, 3, 0x7E, 0x7E, 0x7F>;  // always with .satfinite
using E5m2Format = Format<5, 2, 0x7B, 0x7C, 0x7F>;

/// v in the format, rounded once; `flags`: kFinite makes what is too large the largest finite number.
template <class F>
inline u32 encode(f64 v, Round round, s64 flags) {
    if (v != v) return F::kNan;
    const u64 bits = as<u64>(v);
    const bool negative = bits >> 63 != 0;
    const u32 sign = negative ? 1u << F::kSignAt : 0;
    const f64 size = as<f64>(bits & ~(u64{1} << 63));
    u32 code = F::kBeyond;
    if (size < __builtin_inf()) {
        s32 exponent = static_cast<s32>(bits >> 52 & 0x7FF) - 1023;
        if (exponent < 1 - F::kBias) exponent = 1 - F::kBias;
        if (exponent > F::kBias + 1) exponent = F::kBias + 2;  // larger than everything
        const f64 scaled = size * as<f64>(static_cast<u64>(1023 + static_cast<s32>(F::kFraction) - exponent) << 52);
        u64 whole = exponent > F::kBias + 1 ? u64{1} << F::kFraction : static_cast<u64>(scaled);
        const f64 rest = exponent > F::kBias + 1 ? 0.0 : scaled - static_cast<f64>(whole);
        const bool odd = (whole & 1) != 0;
        const bool up = round == Round::zero   ? false
                        : round == Round::down ? negative && rest > 0
                        : round == Round::up   ? !negative && rest > 0
                        : round == Round::away ? rest >= 0.5
                                               : rest > 0.5 || (rest == 0.5 && odd);
        whole += up ? 1 : 0;
        const u64 one = u64{1} << F::kFraction;
        const u64 exact = whole < one ? whole : (static_cast<u64>(exponent + F::kBias) << F::kFraction) + (whole - one);
        const bool inward = round == Round::zero || (round == Round::down && !negative) || (round == Round::up && negative);
        code = exact <= F::kLargest ? static_cast<u32>(exact) : inward ? F::kLargest : F::kBeyond;
    }
    if ((flags & kFinite) != 0 && code > F::kLargest) code = F::kLargest;
    return sign | code;
}

/// How a source is read: exactly, or, 64-bit integers, rounded to odd.
inline f64 odd_double(u64 v) {
    const u32 digits = v == 0 ? 0 : 64 - static_cast<u32>(__builtin_clzll(v));
    if (digits <= 53) return static_cast<f64>(v);
    const u32 drop = digits - 53;
    const u64 top = v >> drop | ((v & ((u64{1} << drop) - 1)) != 0 ? 1 : 0);
    return static_cast<f64>(top) * as<f64>(static_cast<u64>(1023 + drop) << 52);
}
template <class From>
struct ReadInteger {
    static f64 read(const Warp& warp, const Inst& inst, u32 lane) {
        const From v = low_part<From>(warp, inst.a, inst.count, lane);
        if constexpr (sizeof(From) < 8) return static_cast<f64>(v);
        if (v < 0) return -odd_double(u64{0} - static_cast<u64>(v));
        return odd_double(static_cast<u64>(v));
    }
};
struct ReadSingle {
    static f64 read(const Warp& warp, const Inst& inst, u32 lane) {
        const f32 v = in<f32>(warp, inst.a)[lane];
        return (inst.offset & kFlushes) != 0 ? flush(v) : v;
    }
};
struct ReadDouble {
    static f64 read(const Warp& warp, const Inst& inst, u32 lane) { return in<f64>(warp, inst.a)[lane]; }
};
template <class H>
struct ReadHalf {
    static f64 read(const Warp& warp, const Inst& inst, u32 lane) { return H::widen(in<u16>(warp, inst.a)[lane]); }
};

/// What .sat and .relu do to a value before it is rounded; neither 0 nor 1 is changed by that.
inline f64 clamped(f64 v, s64 flags) {
    if ((flags & kSaturates) != 0) v = saturated(v);
    return (flags & kRectifies) != 0 ? rectified(v) : v;
}
/// inst.sub: Round, inst.offset: flags, inst.count: bytes of the source register
template <class F, class Read>
void narrow_any(Warp& warp, const Inst& inst, u32 mask) {
    const auto round = static_cast<Round>(inst.sub);
    const auto value = [&](u32 i) {
        f64 v = Read::read(warp, inst, i);
        if (round >= Round::int_nearest && round <= Round::int_up) v = to_integral(v, round);
        return encode<F>(clamped(v, inst.offset), round, inst.offset);
    };
    if constexpr (F::kSignAt == 15)
        map_active<u16>(warp, inst.d, mask, [&](u32 i) { return static_cast<u16>(value(i)); });
    else  // tf32 is kept in the upper bits of an f32
        map_active<u32>(warp, inst.d, mask, [&](u32 i) {
            const u32 r = value(i);
            return (r & F::kNan) > F::kBeyond ? 0x7FFFFFFFu : r << 13;
        });
}
/// d = a in the upper part and b in the lower one; D: u32 of 16-bit parts, u16 of bytes.
template <class F, class D>
void narrow_pair(Warp& warp, const Inst& inst, u32 mask) {
    const f32* a = in<f32>(warp, inst.a);
    const f32* b = in<f32>(warp, inst.b);
    const auto round = static_cast<Round>(inst.sub);
    const auto one = [&](f32 v) { return encode<F>(clamped(v, inst.offset), round, inst.offset); };
    map_active<D>(warp, inst.d, mask, [&](u32 i) { return static_cast<D>(one(a[i]) << sizeof(D) * 4 | one(b[i])); });
}
template <class F>
void bytes_of_halves(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const auto one = [&](u32 h) { return encode<F>(clamped(F16::widen(h & 0xFFFF), inst.offset), Round::nearest, inst.offset); };
    map_active<u16>(warp, inst.d, mask, [&](u32 i) { return static_cast<u16>(one(a[i] >> 16) << 8 | one(a[i])); });
}
/// An e4m3 byte as f16: one more bit of exponent, whose bias differs by 8.
inline u32 half_of_e4m3(u32 byte) {
    const f32 scaled = as<f32>((byte & 0x7F) << 20) * as<f32>(0x7B800000u);  // 2^120, the difference of the biases
    const u32 size = (byte & 0x7F) == 0x7F ? kHalfNan : F16::narrow(scaled);
    return size == kHalfNan ? size : size | (byte & 0x80) << 8;
}
/// An e5m2 byte is the upper half of an f16.
inline u32 half_of_e5m2(u32 byte) {
    return (byte & 0x7F) > 0x7C ? kHalfNan : (byte & 0xFF) << 8;
}
template <auto Widen>
void halves_of_bytes(Warp& warp, const Inst& inst, u32 mask) {
    const u16* a = in<u16>(warp, inst.a);
    const bool relu = (inst.offset & kRectifies) != 0;
    const auto one = [relu](u32 byte) {
        const u32 h = Widen(byte);
        return relu && (h & 0x8000) != 0 ? 0u : h;
    };
    map_active<u32>(warp, inst.d, mask, [&](u32 i) { return one(a[i] >> 8u) << 16 | one(a[i] & 0xFFu); });
}

// The common forms: to nearest, without any other modifier.
template <class H>
void single_to_half(Warp& warp, const Inst& inst, u32 mask) {
    const f32* a = in<f32>(warp, inst.a);
#if defined(MERGELANE_VECTORS)
    if constexpr (std::is_same_v<H, F16>) {
        alignas(64) u16 value[32];
        for (u32 i = 0; i < 32; i += 8)
            _mm_storeu_si128(static_cast<__m128i_u*>(static_cast<void*>(value + i)), narrow_to_halves(_mm256_load_ps(a + i)));
        return map<u16>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
    }
#endif
    map<u16>(warp, inst.d, mask, [=](u32 i) { return static_cast<u16>(H::narrow(a[i])); });
}
template <class H>
void singles_to_pair(Warp& warp, const Inst& inst, u32 mask) {
    const f32* a = in<f32>(warp, inst.a);
    const f32* b = in<f32>(warp, inst.b);
#if defined(MERGELANE_VECTORS)
    if constexpr (std::is_same_v<H, F16>) {
        alignas(64) u32 value[32];
        for (u32 i = 0; i < 32; i += 8) {
            const __m256i low = _mm256_cvtepu16_epi32(narrow_to_halves(_mm256_load_ps(b + i)));
            const __m256i high = _mm256_cvtepu16_epi32(narrow_to_halves(_mm256_load_ps(a + i)));
            store_32(value + i, _mm256_or_si256(_mm256_slli_epi32(high, 16), low));
        }
        return map<u32>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
    }
#endif
    map<u32>(warp, inst.d, mask, [=](u32 i) { return H::narrow(a[i]) << 16 | H::narrow(b[i]); });
}
template <class H, bool Ftz, bool Saturate>
void half_to_single(Warp& warp, const Inst& inst, u32 mask) {
    const u16* a = in<u16>(warp, inst.a);
#if defined(MERGELANE_VECTORS)
    if constexpr (std::is_same_v<H, F16> && !Ftz && !Saturate) {
        alignas(64) f32 value[32];
        f32* const to = mask == kAll ? out<f32>(warp, inst.d) : value;
        for (u32 i = 0; i < 32; i += 8) _mm256_store_ps(to + i, with_nan(widen_halves(load_16(a + i)), 0x7FFFFFFFu));
        if (mask != kAll) map<f32>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
        return;
    }
#endif
    map<f32>(warp, inst.d, mask, [=](u32 i) {
        f32 v = H::widen(a[i]);
        if (Ftz) v = flush(v);
        if (Saturate) v = saturated(v);
        return canonical(v);
    });
}
template <class H>
void half_to_double(Warp& warp, const Inst& inst, u32 mask) {
    map_active<f64>(warp, inst.d, mask, [&](u32 i) { return canonical(clamped(ReadHalf<H>::read(warp, inst, i), inst.offset)); });
}
/// To nearest, halfway cases away from zero.
void single_to_tf32_away(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    map<u32>(warp, inst.d, mask, [=](u32 i) {
        const u32 r = (a[i] + 0x1000u) & ~0x1FFFu;
        return (a[i] & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FFFFFFFu : r;
    });
}
/// NaN becomes 0 or, if the result has 64 bits, only the top bit; values out of range saturate.
template <class To, class H>
void half_to_integer(Warp& warp, const Inst& inst, u32 mask) {
    const auto round = static_cast<Round>(inst.sub);
    each_lane(mask, [&](u32 i) {
        const f64 v = to_integral(ReadHalf<H>::read(warp, inst, i), round);
        To r = sizeof(To) == 8 ? static_cast<To>(u64{1} << (sizeof(To) * 8 - 1)) : To{0};
        if (v <= static_cast<f64>(Limits<To>::low))
            r = static_cast<To>(Limits<To>::low);
        else if (v >= static_cast<f64>(Limits<To>::high))
            r = static_cast<To>(Limits<To>::high);
        else if (v == v)
            r = static_cast<To>(v);
        put_extended(warp, inst.d, inst.bytes, i, r);
    });
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
