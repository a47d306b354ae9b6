// SPDX-License-Identifier: MIT
// What compilers do not find in loops over lanes: conversions of f16 by the host, and words of neighbouring lanes that change places. Only
// for hosts with AVX2, FMA and F16C; the handlers have loops for all others.
#pragma once

#include "workload/ptx/lanes/access.hpp"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define MERGELANE_VECTORS 1
#include <immintrin.h>

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

inline __m128i load_16(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i_u*>(from));
}
inline __m256i load_32(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i_u*>(from));
}
inline void store_32(void* to, __m256i value) {
    _mm256_storeu_si256(static_cast<__m256i_u*>(to), value);
}

/// Eight halves, exactly. A NaN may become a quiet one, which makes no difference: results that are NaN all have the same bits.
inline __m256 widen_halves(__m128i halves) {
    return _mm256_cvtph_ps(halves);
}
/// NaNs become `bits`.
inline __m256 with_nan(__m256 v, u32 bits) {
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<s32>(bits)));
    return _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
/// To nearest even; all NaNs become 0x7FFF.
inline __m128i narrow_to_halves(__m256 v) {
    return _mm256_cvtps_ph(with_nan(v, 0x7FFFFFFFu), _MM_FROUND_TO_NEAREST_INT);
}
/// x + y rounded to odd (see odd_sum).
inline __m256 odd_sum_of_eight(__m256 x, __m256 y) {
    const __m256 sum = _mm256_add_ps(x, y);
    const __m256 part = _mm256_sub_ps(sum, x);
    const __m256 lost = _mm256_add_ps(_mm256_sub_ps(x, _mm256_sub_ps(sum, part)), _mm256_sub_ps(y, part));
    const __m256i bits = _mm256_castps_si256(sum);
    const __m256i down = _mm256_srai_epi32(_mm256_xor_si256(_mm256_castps_si256(lost), bits), 31);
    const __m256i differs = _mm256_castps_si256(_mm256_cmp_ps(lost, _mm256_setzero_ps(), _CMP_NEQ_OQ));
    const __m256i inexact = _mm256_and_si256(differs, _mm256_andnot_si256(bits, _mm256_set1_epi32(1)));
    return _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_sub_epi32(_mm256_xor_si256(inexact, down), down)));
}

/// Four words of each of eight lanes, 16 bytes at `at(lane)`; word w of lane i goes to `to(w)[i]`.
template <class At, class To>
[[gnu::always_inline]] inline void split_quads(u32 first, At at, To to) {
    const auto pair = [&](u32 i) __attribute__((always_inline)) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(at(first + i))), load_16(at(first + i + 4)), 1);
    };
    const __m256i a = pair(0), b = pair(1), c = pair(2), d = pair(3);
    const __m256i ab_low = _mm256_unpacklo_epi32(a, b), ab_high = _mm256_unpackhi_epi32(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi32(c, d), cd_high = _mm256_unpackhi_epi32(c, d);
    store_32(to(0) + first, _mm256_unpacklo_epi64(ab_low, cd_low));
    store_32(to(1) + first, _mm256_unpackhi_epi64(ab_low, cd_low));
    store_32(to(2) + first, _mm256_unpacklo_epi64(ab_high, cd_high));
    store_32(to(3) + first, _mm256_unpackhi_epi64(ab_high, cd_high));
}
/// The opposite direction: word w of lane i comes from `from(w)[i]`.
template <class From, class At>
[[gnu::always_inline]] inline void join_quads(u32 first, From from, At at) {
    const __m256i a = load_32(from(0) + first), b = load_32(from(1) + first);
    const __m256i c = load_32(from(2) + first), d = load_32(from(3) + first);
    const __m256i ab_low = _mm256_unpacklo_epi32(a, b), ab_high = _mm256_unpackhi_epi32(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi32(c, d), cd_high = _mm256_unpackhi_epi32(c, d);
    const __m256i lanes[4] = {_mm256_unpacklo_epi64(ab_low, cd_low), _mm256_unpackhi_epi64(ab_low, cd_low),
                              _mm256_unpacklo_epi64(ab_high, cd_high), _mm256_unpackhi_epi64(ab_high, cd_high)};
    for (u32 i = 0; i < 4; ++i) {
        _mm_storeu_si128(static_cast<__m128i_u*>(static_cast<void*>(at(first + i))), _mm256_castsi256_si128(lanes[i]));
        _mm_storeu_si128(static_cast<__m128i_u*>(static_cast<void*>(at(first + i + 4))), _mm256_extracti128_si256(lanes[i], 1));
    }
}

/// The words of 32 lanes whose numbers have the bits of `by` inverted.
inline void exchange_lanes(const u32* from, u32* to, u32 by) {
    const __m256i index = _mm256_xor_si256(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(static_cast<s32>(by & 7)));
    __m256i turned[4];
    for (u32 q = 0; q < 4; ++q) turned[q] = _mm256_permutevar8x32_epi32(load_32(from + (q ^ by >> 3) * 8), index);
    for (u32 q = 0; q < 4; ++q) store_32(to + q * 8, turned[q]);
}

/// Exchanges rows and columns of 8 x 8 halves.
inline void transpose_8x8(const u32* from, u32* to) {
    __m128i row[8], step[8];
    for (u32 r = 0; r < 8; ++r) row[r] = load_16(from + r * 4);
    for (u32 r = 0; r < 4; ++r) {
        step[2 * r] = _mm_unpacklo_epi16(row[2 * r], row[2 * r + 1]);
        step[2 * r + 1] = _mm_unpackhi_epi16(row[2 * r], row[2 * r + 1]);
    }
    for (u32 half = 0; half < 2; ++half) {  // columns 4 half to 4 half + 3
        const __m128i first_low = _mm_unpacklo_epi32(step[half], step[2 + half]);
        const __m128i first_high = _mm_unpackhi_epi32(step[half], step[2 + half]);
        const __m128i last_low = _mm_unpacklo_epi32(step[4 + half], step[6 + half]);
        const __m128i last_high = _mm_unpackhi_epi32(step[4 + half], step[6 + half]);
        const __m128i columns[4] = {_mm_unpacklo_epi64(first_low, last_low), _mm_unpackhi_epi64(first_low, last_low),
                                    _mm_unpacklo_epi64(first_high, last_high), _mm_unpackhi_epi64(first_high, last_high)};
        for (u32 c = 0; c < 4; ++c) _mm_storeu_si128(static_cast<__m128i_u*>(static_cast<void*>(to + (half * 4 + c) * 4)), columns[c]);
    }
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
#endif
