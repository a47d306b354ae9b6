// SPDX-License-Identifier: MIT
// The functions that PTX has in hardware, computed in double with IEEE operations only, so that every host gives the same bits. All results
// are within 0.501 ulp of the exact value of the function at the given float (sine and cosine also beyond their first period), which is
// more accurate than the hardware.
#pragma once

#include "workload/ptx/lanes/access.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

constexpr f64 kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number

/// A polynomial in x by Horner's rule; the coefficient of the highest power comes first.
template <class... C>
inline f64 polynomial(f64 x, f64 highest, C... others) {
    f64 p = highest;
    ((p = p * x + others), ...);
    return p;
}

/// 2^x for |x| <= 1000
inline f64 exp2_double(f64 x) {
    const f64 n = (x + kShift) - kShift;
    const f64 r = x - n;
    // ln(2)^k / k! for k = 9 .. 1
    f64 p = polynomial(r, 1.0178086009239699e-07, 1.321548679014431e-06, 1.5252733804059841e-05, 1.5403530393381608e-04,
                       1.3333558146428443e-03, 9.618129107628477e-03, 5.5504108664821576e-02, 2.402265069591007e-01, 6.931471805599453e-01);
    // The remaining terms, k = 10 and 11, are too small to matter before the last addition.
    const f64 r2 = r * r;
    const f64 r4 = r2 * r2;
    p = p * r + (r4 * r4 * r2) * (7.054911620801121e-09 + r * 4.4455382718708116e-10);
    p = p + 1.0;
    return p * as<f64>(static_cast<u64>(static_cast<s64>(static_cast<s32>(n)) + 1023) << 52);
}

inline f32 exp2_float(f32 x) {
    f64 t = x;
    t = t > 200.0 ? 200.0 : t;
    t = t < -200.0 ? -200.0 : t;
    const f64 safe = t == t ? t : 0.0;
    const f32 r = static_cast<f32>(exp2_double(safe));
    return x == x ? r : x;
}

inline f32 log2_float(f32 x) {
    const f64 wide = x > 0 ? static_cast<f64>(x) : 1.0;
    const u64 bits = as<u64>(wide);
    s32 exponent = static_cast<s32>(bits >> 52) - 1023;
    f64 m = as<f64>((bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
    const bool high = m > 1.4142135623730951;
    m = high ? m * 0.5 : m;
    exponent = high ? exponent + 1 : exponent;
    const f64 s = (m - 1.0) / (m + 1.0);
    const f64 z = s * s;
    const f64 p = polynomial(z, 1.0 / 21.0, 1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0,
                             1.0 / 3.0, 1.0);
    const f64 r = static_cast<f64>(exponent) + 2.885390081777927 * s * p;
    f32 out = static_cast<f32>(r);
    out = x == 0 ? -__builtin_inff() : out;
    out = x == __builtin_inff() ? x : out;
    return x >= 0 ? out : __builtin_nanf("");
}

/// x = k * pi/2 + r, |r| <= pi/4; returns k modulo 4. `x` is finite.
inline u32 reduce(f32 x, f64& r) {
    const f64 wide = x;
    if (wide < 100000.0 && wide > -100000.0) {
        const f64 k = (wide * 0.6366197723675814 + kShift) - kShift;
        r = ((wide - k * 1.5707963267341256) - k * 6.077100506303966e-11) - k * 2.0222662487959506e-21;
        return static_cast<u32>(static_cast<s32>(k)) & 3;
    }
    // 2/pi as one long fraction; of x * 2/pi only two bits before and 62 after the point matter.
    static constexpr u32 kTwoOverPi[8] = {0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561};
    const u32 bits = as<u32>(x);
    const u32 exponent = (bits >> 23 & 0xFF) - 127 - 23;  // x = mantissa * 2^exponent, exponent <= 104
    const u64 mantissa = (bits & 0x7FFFFF) | 0x800000;
    const s32 first = static_cast<s32>(exponent) - 2;  // first bit of the fraction that matters, counted from the point
    u64 product_high = 0;                              // 64 bits: two before the point, 62 after
    for (s32 chunk = 0; chunk < 4; ++chunk) {
        // 32 bits of the fraction starting at first - 24 + 32 * chunk ... the mantissa has 24 bits of its own.
        const s32 from = first - 24 + 32 * chunk;
        u64 window = 0;
        for (s32 k = 0; k < 2; ++k) {
            const s32 word = (from >> 5) + k;
            const u64 value = word >= 0 && word < 8 ? kTwoOverPi[word] : 0;
            window |= value << 32 * (1 - k);
        }
        const u64 piece = window << (from & 31) >> 32;
        const u64 part = mantissa * piece;  // weight of its lowest bit: 2^-(from + 32) * 2^exponent
        // In units of 2^-62: shift left by exponent - from - 32 + 62.
        const s32 left = static_cast<s32>(exponent) - from - 32 + 62;
        if (left >= 64 || left <= -64) continue;
        product_high += left >= 0 ? part << left : part >> -left;
    }
    u32 quadrant = static_cast<u32>(product_high >> 62);
    s64 fraction = static_cast<s64>(product_high << 2);  // signed: rounds to the nearest quadrant
    if (fraction < 0) ++quadrant;
    r = static_cast<f64>(fraction) * (1.5707963267948966 / 18446744073709551616.0);
    if ((bits >> 31) != 0) {
        r = -r;
        quadrant = 0 - quadrant;
    }
    return quadrant & 3;
}
inline f64 sine(f64 r) {
    const f64 z = r * r;
    return r - r * z *
                   polynomial(-z, 1.0 / 1307674368000.0, 1.0 / 6227020800.0, 1.0 / 39916800.0, 1.0 / 362880.0, 1.0 / 5040.0, 1.0 / 120.0,
                              1.0 / 6.0);
}
inline f64 cosine(f64 r) {
    const f64 z = r * r;
    return 1.0 - z * polynomial(-z, 1.0 / 20922789888000.0, 1.0 / 87178291200.0, 1.0 / 479001600.0, 1.0 / 3628800.0, 1.0 / 40320.0,
                                1.0 / 720.0, 1.0 / 24.0, 0.5);
}
/// quarter 0: sine, 1: cosine
inline f32 wave(f32 x, u32 quarter) {
    if (!(x < __builtin_inff() && x > -__builtin_inff())) return __builtin_nanf("");
    if (x == 0) return quarter == 0 ? x : 1.0f;
    f64 r;
    const u32 k = reduce(x, r) + quarter;
    const f64 value = (k & 1) != 0 ? cosine(r) : sine(r);
    return static_cast<f32>((k & 2) != 0 ? -value : value);
}
inline f32 tanh_float(f32 x) {
    const f64 wide = x;
    if (x != x) return x;
    if (wide > -0.03 && wide < 0.03) {
        const f64 z = wide * wide;
        return static_cast<f32>(wide - wide * z * (1.0 / 3.0 - z * (2.0 / 15.0 - z * (17.0 / 315.0))));
    }
    if (wide > 20.0) return 1.0f;
    if (wide < -20.0) return -1.0f;
    const f64 t = exp2_double(wide * 2.885390081777927);
    return static_cast<f32>((t - 1.0) / (t + 1.0));
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
