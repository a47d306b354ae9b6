// SPDX-License-Identifier: MIT
// Matrix instructions: products of fragments, and their transfer between memory and registers. Where PTX requires all lanes of a warp but
// some are not active, their registers take part as they are, and only active lanes receive results. docs/adr/0036 says how sums are
// rounded.
#pragma once

#include "workload/ptx/lanes/memory.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

typedef f32 f32x8 __attribute__((vector_size(32), may_alias));

constexpr u32 kMostOperands = 1024;     // elements of A or B
constexpr u32 kMostAccumulators = 256;  // elements of C or D

/// `yes` or `no`; on bits, for compilers do not vectorise a choice between floats that they think may trap.
inline u32 choose(bool condition, u32 yes, u32 no) {
    const u32 mask = u32{0} - static_cast<u32>(condition);
    return (yes & mask) | (no & ~mask);
}

/// The exact bits of a float with `Fraction` fraction bits and less than 8 exponent bits, which has no infinity and no NaN.
template <u32 Fraction, u32 Bias>
inline u32 small_float(u32 magnitude) {
    constexpr u32 kLeast = (128 - Bias) << 23;  // the least normal number
    const u32 bits = magnitude << (23 - Fraction);
    const u32 subnormal = as<u32>(as<f32>(bits | kLeast) - as<f32>(kLeast));
    return choose(magnitude >> Fraction == 0, subnormal, bits + ((127 - Bias) << 23));
}
inline f32 half_value(u32 h) {
    const u32 magnitude = h & 0x7FFF;
    const u32 special = 0x7F800000u | (magnitude & 0x3FF) << 13;
    return as<f32>(choose(magnitude >= 0x7C00, special, small_float<10, 15>(magnitude)) | h >> 15 << 31);
}
/// To nearest even.
inline u32 half_bits(f32 v) {
    const u32 magnitude = as<u32>(v) & 0x7FFFFFFFu;
    const u32 sign = as<u32>(v) >> 16 & 0x8000;
    const u32 normal = (magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    const u32 subnormal = as<u32>(as<f32>(magnitude) + 0.5f) - as<u32>(0.5f);  // the sum rounds to multiples of 2^-24
    const u32 finite = choose(magnitude < 0x38800000u, subnormal, normal);
    return choose(magnitude > 0x7F800000u, 0x7FFF, choose(magnitude >= 0x47800000u, 0x7C00, finite) | sign);
}

template <Element E>
constexpr u32 kPerWord = 32 / element_bits(E);

/// Element `j` of a register.
template <Element E>
inline f32 element_value(u32 word, u32 j) {
    constexpr u32 kBits = element_bits(E);
    const u32 bits = word >> j * kBits;
    if constexpr (E == Element::f16) return half_value(bits & 0xFFFF);
    if constexpr (E == Element::bf16) return as<f32>(bits << 16);
    if constexpr (E == Element::tf32) return as<f32>(bits & 0xFFFFE000u);
    if constexpr (E == Element::e5m2) return half_value(bits << 8 & 0xFFFF);
    if constexpr (E == Element::e4m3) {
        const u32 magnitude = bits & 0x7F;
        return as<f32>(choose(magnitude == 0x7F, 0x7FC00000u, small_float<3, 7>(magnitude)) | bits >> 7 << 31);
    }
    if constexpr (E == Element::s8 || E == Element::s4) return static_cast<f32>(static_cast<s32>(bits << (32 - kBits)) >> (32 - kBits));
    return static_cast<f32>(bits & ((1u << (kBits & 31)) - 1));  // u8, u4
}
/// All elements of 32 words: those with number j within their word begin at out[32 * j].
template <Element E>
void unpack_words(const u32* words, f32* out) {
#if defined(MERGELANE_VECTORS)
    if constexpr (E == Element::f16) {
        const __m128i low = _mm_set1_epi32(0xFFFF);
        for (u32 i = 0; i < 32; i += 8) {
            const __m128i a = load_16(words + i), b = load_16(words + i + 4);
            const __m128i even = _mm_packus_epi32(_mm_and_si128(a, low), _mm_and_si128(b, low));
            const __m128i odd = _mm_packus_epi32(_mm_srli_epi32(a, 16), _mm_srli_epi32(b, 16));
            _mm256_store_ps(out + i, widen_halves(even));
            _mm256_store_ps(out + 32 + i, widen_halves(odd));
        }
        return;
    }
#endif
    for (u32 j = 0; j < kPerWord<E>; ++j) {
        MERGELANE_LANES_LOOP
        for (u32 i = 0; i < 32; ++i) out[j * 32 + i] = element_value<E>(words[i], j);
    }
}
using Unpack = void (*)(const u32* words, f32* out);
inline Unpack unpack_of(Element element) {
    switch (element) {
        case Element::f16: return unpack_words<Element::f16>;
        case Element::bf16: return unpack_words<Element::bf16>;
        case Element::tf32: return unpack_words<Element::tf32>;
        case Element::e4m3: return unpack_words<Element::e4m3>;
        case Element::e5m2: return unpack_words<Element::e5m2>;
        case Element::s8: return unpack_words<Element::s8>;
        case Element::u8: return unpack_words<Element::u8>;
        case Element::s4: return unpack_words<Element::s4>;
        default: return unpack_words<Element::u4>;
    }
}

/// The registers of a product, in Program::lists.
struct ProductSlots {
    const Slot *d, *a, *b, *c;
};
inline ProductSlots product_slots(const Warp& warp, const MatrixProduct& product, u32 d, u32 a, u32 b) {
    const Slot* const first = warp.launch->program.lists.data() + product.slots;
    return {first, first + d, first + d + a, first + d + a + b};
}
inline ProductSlots product_slots(const Warp& warp, const MatrixProduct& product) {
    const MatrixShape& shape = product.shape;
    return product_slots(warp, product, shape.registers(Fragment::accumulator, product.d), shape.registers(Fragment::a, product.a),
                         shape.registers(Fragment::b, product.b));
}

template <bool Exact>
[[gnu::always_inline]] inline void add_product(f32x8& sum, f32 a, const f32x8& b) {
#if defined(MERGELANE_VECTORS)
    if constexpr (Exact) {
        sum = _mm256_fmadd_ps(_mm256_set1_ps(a), b, sum);
        return;
    }
#endif
    sum += a * b;
}

/// c += a * b, in the order of k. Blocks of A have their elements as unpack_words leaves them: row, then word of the row. In those of B,
/// the eight columns of a word are neighbours: one vector. Each product is rounded to float; it is exact unless beyond float's range.
/// `Exact`: never beyond, so that a fused operation gives the same.
template <u32 PerWord, bool Exact>
void multiply_blocks(const MatrixShape& shape, const f32* a, const f32* b, f32* c) {
#if defined(__AVX2__)
    constexpr u32 kRows = 8;
#else
    constexpr u32 kRows = 4;  // as many sums as fit into the vector registers
#endif
    constexpr u32 kBlock = 32 * PerWord;
    const u32 depth = static_cast<u32>(shape.k) / (4 * PerWord);
    const u32 columns = static_cast<u32>(shape.n) / 8;
    for (u32 column = 0; column < columns; ++column) {
        for (u32 row = 0; row < static_cast<u32>(shape.m); row += kRows) {
            f32* const sums = c + shape.block(Fragment::accumulator, row / 8, column, columns) * 64 + row % 8 * 8;
            f32x8 sum[kRows];
            for (u32 g = 0; g < kRows; ++g) sum[g] = *reinterpret_cast<const f32x8*>(sums + g * 8);
            for (u32 deep = 0; deep < depth; ++deep) {
                const f32* const mine = a + shape.block(Fragment::a, row / 8, deep, depth) * kBlock + row % 8 * 4;
                const f32* const theirs = b + shape.block(Fragment::b, column, deep, depth) * kBlock;
                for (u32 word = 0; word < 4; ++word) {
                    for (u32 j = 0; j < PerWord; ++j) {
                        const f32x8 line = *reinterpret_cast<const f32x8*>(theirs + j * 32 + word * 8);
                        for (u32 g = 0; g < kRows; ++g) add_product<Exact>(sum[g], mine[j * 32 + g * 4 + word], line);
                    }
                }
            }
            for (u32 g = 0; g < kRows; ++g) *reinterpret_cast<f32x8*>(sums + g * 8) = sum[g];
        }
    }
}

/// c[2 i] = even[i] and c[2 i + 1] = odd[i] for 32 lanes.
inline void interleave(const f32* even, const f32* odd, f32* c) {
#if defined(MERGELANE_VECTORS)
    for (u32 i = 0; i < 32; i += 8) {
        const __m256 a = _mm256_load_ps(even + i), b = _mm256_load_ps(odd + i);
        const __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
        _mm256_storeu_ps(c + 2 * i, _mm256_permute2f128_ps(low, high, 0x20));
        _mm256_storeu_ps(c + 2 * i + 8, _mm256_permute2f128_ps(low, high, 0x31));
    }
#else
    for (u32 i = 0; i < 32; ++i) c[2 * i] = even[i];
    for (u32 i = 0; i < 32; ++i) c[2 * i + 1] = odd[i];
#endif
}
#if defined(MERGELANE_VECTORS)
/// The opposite; all NaNs get the same bits.
inline void separate(const f32* d, f32* even, f32* odd) {
    const auto in_order = [](__m256 v) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xD8)); };
    for (u32 i = 0; i < 32; i += 8) {
        const __m256 a = with_nan(_mm256_loadu_ps(d + 2 * i), 0x7FFFFFFFu), b = with_nan(_mm256_loadu_ps(d + 2 * i + 8), 0x7FFFFFFFu);
        _mm256_store_ps(even + i, in_order(_mm256_shuffle_ps(a, b, 0x88)));
        _mm256_store_ps(odd + i, in_order(_mm256_shuffle_ps(a, b, 0xDD)));
    }
}
#endif

/// Accumulators as floats, a block after the other, by rows.
inline void read_accumulators(const Warp& warp, const Slot* slots, Element element, u32 blocks, f32* c) {
    for (u32 q = 0; q < blocks; ++q, c += 64) {
        if (element == Element::f16) {
            const u32* words = in<u32>(warp, slots[q]);
            for (u32 i = 0; i < 32; ++i) c[2 * i] = half_value(words[i] & 0xFFFF);
            for (u32 i = 0; i < 32; ++i) c[2 * i + 1] = half_value(words[i] >> 16);
        } else if (element == Element::f32) {
            const f32* even = in<f32>(warp, slots[2 * q]);
            const f32* odd = in<f32>(warp, slots[2 * q + 1]);
            interleave(even, odd, c);
        } else {
            std::memset(c, 0, 64 * sizeof *c);
        }
    }
}
inline u32 sum_of(u32 c, f32 products, bool saturate) {
    const s32 sum = static_cast<s32>(products);
    if (!saturate) return c + static_cast<u32>(sum);
    const s64 wide = s64{static_cast<s32>(c)} + sum;
    return static_cast<u32>(wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : static_cast<s32>(wide));
}
inline void write_accumulators(Warp& warp, const MatrixProduct& product, const ProductSlots& slots, u32 blocks, const f32* d, u32 mask) {
    for (u32 q = 0; q < blocks; ++q, d += 64) {
        if (product.d == Element::f16) {
            map<u32>(warp, slots.d[q], mask, [=](u32 i) { return half_bits(d[2 * i]) | half_bits(d[2 * i + 1]) << 16; });
            continue;
        }
#if defined(MERGELANE_VECTORS)
        if (product.d == Element::f32 && mask == kAll) {
            separate(d, out<f32>(warp, slots.d[2 * q]), out<f32>(warp, slots.d[2 * q + 1]));
            continue;
        }
#endif
        for (u32 odd = 0; odd < 2; ++odd) {
            const Slot to = slots.d[2 * q + odd];
            if (product.d == Element::f32) {
                map<f32>(warp, to, mask, [=](u32 i) { return canonical(d[2 * i + odd]); });
            } else {
                const u32* c = in<u32>(warp, slots.c[2 * q + odd]);
                const bool saturate = product.saturate;
                map<u32>(warp, to, mask, [=](u32 i) { return sum_of(c[i], d[2 * i + odd], saturate); });
            }
        }
    }
}

/// The eight columns of a block of B, of four words each, word by word.
inline void turn_columns(const u32* words, u32* turned) {
#if defined(MERGELANE_VECTORS)
    split_quads(
        0, [=](u32 column) { return words + column * 4; }, [=](u32 word) { return turned + word * 8; });
#else
    for (u32 word = 0; word < 4; ++word) {
        for (u32 column = 0; column < 8; ++column) turned[word * 8 + column] = words[column * 4 + word];
    }
#endif
}

inline void multiply(const MatrixProduct& product, const f32* a, const f32* b, f32* c) {
    const MatrixShape& shape = product.shape;
    switch (product.a) {
        case Element::tf32: return multiply_blocks<1, false>(shape, a, b, c);
        case Element::f16: return multiply_blocks<2, true>(shape, a, b, c);
        case Element::bf16: return multiply_blocks<2, false>(shape, a, b, c);
        case Element::s4:
        case Element::u4: return multiply_blocks<8, true>(shape, a, b, c);
        default: return multiply_blocks<4, true>(shape, a, b, c);  // 8 bits
    }
}

/// Floats, and integers of 8 and 4 bits, whose sums of products are exact in float: at most 64 * 15 * 15 and 32 * 255 * 255.
void matrix_product(Warp& warp, const Inst& inst, u32 mask) {
    const MatrixProduct& product = warp.launch->program.products[inst.list];
    const MatrixShape& shape = product.shape;
    const ProductSlots slots = product_slots(warp, product);
    const u32 bits = element_bits(product.a);
    const u32 block = 32 * (32 / bits);
    alignas(64) f32 a[kMostOperands], b[kMostOperands], c[kMostAccumulators];
    const Unpack unpack_a = unpack_of(product.a);
    const Unpack unpack_b = unpack_of(product.b);
    const u32 in_a = shape.blocks(Fragment::a, product.a);
    for (u32 r = 0; r < in_a; ++r) unpack_a(in<u32>(warp, slots.a[r]), a + r * block);
    const u32 in_b = shape.blocks(Fragment::b, product.b);
    for (u32 r = 0; r < in_b; ++r) {
        const u32* words = in<u32>(warp, slots.b[r]);
        alignas(64) u32 turned[32];
        turn_columns(words, turned);
        unpack_b(turned, b + r * block);
    }
    const u32 sums = static_cast<u32>(shape.m) * shape.n / 64;
    read_accumulators(warp, slots.c, product.c, sums, c);
    multiply(product, a, b, c);
    write_accumulators(warp, product, slots, sums, c, mask);
}

/// m8n8k4 with f16: four products, each by the lanes 4q to 4q + 3 and 4q + 16 to 4q + 19, with layouts of their own.
void matrix_product_quads(Warp& warp, const Inst& inst, u32 mask) {
    const MatrixProduct& product = warp.launch->program.products[inst.list];
    const bool halves = product.d == Element::f16;
    const ProductSlots slots = product_slots(warp, product, halves ? 4 : 8, 2, 2);
    const auto half_at = [&](const Slot* list, u32 e, u32 lane) {
        return half_value(in<u32>(warp, list[e / 2])[lane] >> 16 * (e % 2) & 0xFFFF);
    };
    const auto sum_row = [](bool packed, u32 lane, u32 e) { return (packed ? lane % 4 : (lane & 1) + (e & 2)) + lane / 16 * 4; };
    const auto sum_column = [](bool packed, u32 lane, u32 e) { return packed ? e : (e & 4) + (lane & 2) + (e & 1); };
    f32 a[4][8][4], b[4][4][8], c[4][8][8];
    for (u32 lane = 0; lane < 32; ++lane) {
        const u32 q = lane / 4 % 4;
        const u32 upper = lane / 16 * 4;
        for (u32 e = 0; e < 4; ++e) {
            (product.a_by_rows ? a[q][upper + lane % 4][e] : a[q][upper + e][lane % 4]) = half_at(slots.a, e, lane);
            (product.b_by_rows ? b[q][lane % 4][upper + e] : b[q][e][upper + lane % 4]) = half_at(slots.b, e, lane);
        }
        const bool packed = product.c == Element::f16;
        for (u32 e = 0; e < 8; ++e)
            c[q][sum_row(packed, lane, e)][sum_column(packed, lane, e)] =
                packed ? half_at(slots.c, e, lane) : in<f32>(warp, slots.c[e])[lane];
    }
    for (u32 q = 0; q < 4; ++q) {
        for (u32 row = 0; row < 8; ++row) {
            for (u32 k = 0; k < 4; ++k) {
                for (u32 column = 0; column < 8; ++column) c[q][row][column] += a[q][row][k] * b[q][k][column];
            }
        }
    }
    each_lane(mask, [&](u32 lane) {
        const u32 q = lane / 4 % 4;
        const auto sum = [&](u32 e) { return c[q][sum_row(halves, lane, e)][sum_column(halves, lane, e)]; };
        for (u32 e = 0; e < (halves ? 4u : 8u); ++e)
            out<u32>(warp, slots.d[e])[lane] =
                halves ? half_bits(sum(2 * e)) | half_bits(sum(2 * e + 1)) << 16 : as<u32>(canonical(sum(e)));
    });
}

/// Fused multiply-adds in the order of k. inst.sub: the rounding
void matrix_product_f64(Warp& warp, const Inst& inst, u32 mask) {
    const MatrixProduct& product = warp.launch->program.products[inst.list];
    const MatrixShape& shape = product.shape;
    const ProductSlots slots = product_slots(warp, product);
    const u32 depth = static_cast<u32>(shape.k) / 4;
    const RoundingScope scope(static_cast<Round>(inst.sub));
    f64 d[2][64];
    for (u32 upper = 0; upper < static_cast<u32>(shape.m) / 8; ++upper) {
        for (u32 i = 0; i < 64; ++i) {
            f64 sum = in<f64>(warp, slots.c[upper * 2 + i % 2])[i / 2];
            for (u32 k = 0; k < static_cast<u32>(shape.k); ++k) {
                const f64 a = in<f64>(warp, slots.a[shape.block(Fragment::a, upper, k / 4, depth)])[i / 8 * 4 + k % 4];
                sum = fused(a, in<f64>(warp, slots.b[k / 4])[i % 8 * 4 + k % 4], sum);
            }
            d[upper][i] = canonical(sum);
        }
    }
    for (u32 upper = 0; upper < static_cast<u32>(shape.m) / 8; ++upper) {
        for (u32 odd = 0; odd < 2; ++odd) map<f64>(warp, slots.d[upper * 2 + odd], mask, [&](u32 i) { return d[upper][2 * i + odd]; });
    }
}

/// Counts of equal or different bits.
void matrix_product_b1(Warp& warp, const Inst& inst, u32 mask) {
    const MatrixProduct& product = warp.launch->program.products[inst.list];
    const MatrixShape& shape = product.shape;
    const ProductSlots slots = product_slots(warp, product);
    const u32 depth = static_cast<u32>(shape.k) / 128;
    u32 d[2][64];
    for (u32 upper = 0; upper < static_cast<u32>(shape.m) / 8; ++upper) {
        for (u32 i = 0; i < 64; ++i) {
            u32 sum = in<u32>(warp, slots.c[upper * 2 + i % 2])[i / 2];
            for (u32 w = 0; w < depth * 4; ++w) {
                const u32 a = in<u32>(warp, slots.a[shape.block(Fragment::a, upper, w / 4, depth)])[i / 8 * 4 + w % 4];
                const u32 b = in<u32>(warp, slots.b[w / 4])[i % 8 * 4 + w % 4];
                sum += static_cast<u32>(__builtin_popcount(product.bits_and ? a & b : a ^ b));
            }
            d[upper][i] = sum;
        }
    }
    for (u32 upper = 0; upper < static_cast<u32>(shape.m) / 8; ++upper) {
        for (u32 odd = 0; odd < 2; ++odd) map<u32>(warp, slots.d[upper * 2 + odd], mask, [&](u32 i) { return d[upper][2 * i + odd]; });
    }
}

/// 8 x 8 halves as a fragment holds them: lane l has the columns 2 (l % 4) and 2 (l % 4) + 1 of row l / 4.
inline void transpose_halves(const u32* from, u32* to) {
#if defined(MERGELANE_VECTORS)
    transpose_8x8(from, to);
#else
    for (u32 i = 0; i < 32; ++i) {
        const u32 column = i / 4;
        const u32* rows = from + i % 4 * 8 + column / 2;
        const u32 shift = column % 2 * 16;
        to[i] = (rows[0] >> shift & 0xFFFF) | (rows[4] >> shift) << 16;
    }
#endif
}
void transpose_registers(Warp& warp, const Inst& inst, u32 mask) {
    u32 turned[32];
    transpose_halves(in<u32>(warp, inst.a), turned);
    map<u32>(warp, inst.d, mask, [&](u32 i) { return turned[i]; });
}

/// Records one of the 8 x 8 matrices of ldmatrix and stmatrix, whose rows of four words begin at `row`: a word per lane.
inline void record_rows(Warp& warp, const Inst& inst, u32 mask, u32 number, const Addr* row) {
    if (warp.recorder == nullptr) return;
    if (mask == kAll) return warp.recorder->rows(inst.memory + number, row);
    Inst part = inst;
    part.memory += number;
    Addr seen[32];
    for (u32 i = 0; i < 32; ++i) seen[i] = row[i / 4] + i % 4 * 4;
    record_addresses(warp, part, mask, seen);
}
/// Calls use(row, place) for the eight rows if all are inside of shared memory; otherwise false.
template <class Use>
inline bool each_row(const Warp& warp, const Addr* row, Use use) {
    Addr high = 0;
    for (u32 r = 0; r < 8; ++r) high = row[r] > high ? row[r] : high;
    if (high >= warp.shared_bytes || warp.shared_bytes - high < 16) return false;
    for (u32 r = 0; r < 8; ++r) use(r, warp.shared + row[r]);
    return true;
}
/// The same with use(word, place) for the 32 words of four bytes, wherever they are.
template <class Use>
inline void each_word_of_rows(Warp& warp, const Inst& inst, u32 number, const Addr* row, Use use) {
    Inst part = inst;
    part.memory += number;
    for (u32 r = 0; r < 8; ++r) {
        for (u32 w = 0; w < 4; ++w) use(r * 4 + w, place(warp, part, StateSpace::shared, row[r] + w * 4, r + 8 * number, 4));
    }
}
/// inst.count: matrices, inst.sub 1: transposed
void load_matrix_rows(Warp& warp, const Inst& inst, u32 mask) {
    alignas(64) Addr address[32];
    find_addresses(warp, inst, address);  // all, before a register is written
    for (u32 m = 0; m < inst.count; ++m) {
        const Addr* const row = address + 8 * m;
        record_rows(warp, inst, mask, m, row);
        alignas(64) u32 words[32], value[32];
        const Slot to = warp.launch->program.lists[inst.list + m];
        u32* const whole = mask == kAll ? out<u32>(warp, to) : value;
        u32* const rows = inst.sub != 0 ? words : whole;
        if (!each_row(warp, row, [=](u32 r, const std::byte* from) { std::memcpy(rows + r * 4, from, 16); }))
            each_word_of_rows(warp, inst, m, row, [=](u32 w, const std::byte* from) { rows[w] = fetch<u32>(from); });
        if (inst.sub != 0) transpose_halves(words, whole);
        if (mask != kAll) map<u32>(warp, to, mask, [&](u32 i) { return value[i]; });
    }
}
void store_matrix_rows(Warp& warp, const Inst& inst, u32 mask) {
    alignas(64) Addr address[32];
    find_addresses(warp, inst, address);
    ++warp.launch->changes;
    for (u32 m = 0; m < inst.count; ++m) {
        const Addr* const row = address + 8 * m;
        record_rows(warp, inst, mask, m, row);
        alignas(64) u32 words[32];
        const u32* from = in<u32>(warp, warp.launch->program.lists[inst.list + m]);
        if (inst.sub != 0)
            transpose_halves(from, words);
        else
            std::memcpy(words, from, sizeof words);
        if (!each_row(warp, row, [&](u32 r, std::byte* to) { std::memcpy(to, words + r * 4, 16); }))
            each_word_of_rows(warp, inst, m, row, [&](u32 w, std::byte* to) { keep(to, words[w]); });
    }
}

/// A matrix of wmma.load or wmma.store on its way, line after line.
struct MatrixImage {
    static constexpr u32 kMostMatrixBytes = 2048;
    alignas(64) std::byte bytes[kMostMatrixBytes];
};

/// Exchanges rows and columns: `lines` of `elements` elements of E.
template <class E>
inline void transpose_image(MatrixImage& image, u32 lines, u32 elements) {
    const MatrixImage from = image;
    for (u32 line = 0; line < lines; ++line) {
        for (u32 e = 0; e < elements; ++e)
            std::memcpy(image.bytes + (e * lines + line) * sizeof(E), from.bytes + (line * elements + e) * sizeof(E), sizeof(E));
    }
}
inline void transpose_image(MatrixImage& image, u32 lines, u32 elements, Element element) {
    switch (element_bits(element)) {
        case 8: return transpose_image<u8>(image, lines, elements);
        case 16: return transpose_image<u16>(image, lines, elements);
        case 32: return transpose_image<u32>(image, lines, elements);
        default: return transpose_image<u64>(image, lines, elements);
    }
}

/// Calls use(register, lane, place in the image) for every register of a fragment; the image has the fragment's lines.
template <class R, class Use>
inline void each_register_of_image(const MatrixMove& site, std::byte* image, Use use) {
    const MatrixShape& shape = site.shape;
    const u32 line_bytes = shape.line_bytes(site.fragment, site.element);
    const u32 piece = piece_bytes(site.fragment, site.element);
    const u32 per_line = shape.blocks_per_line(site.fragment, site.element);
    const u32 parts = piece / static_cast<u32>(sizeof(R));
    for (u32 line = 0; line < shape.lines(site.fragment) / 8; ++line) {
        for (u32 along = 0; along < per_line; ++along) {
            const u32 first = shape.block(site.fragment, line, along, per_line) * parts;
            for (u32 i = 0; i < 32; ++i) {
                std::byte* const at = image + (line * 8 + i / 4) * line_bytes + (along * 4 + i % 4) * piece;
                for (u32 part = 0; part < parts; ++part) use(first + part, i, at + part * sizeof(R));
            }
        }
    }
}

/// The lanes' addresses in access `number`: each access has one piece per lane, of as square a part of the matrix as possible.
inline void find_pieces(const MatrixMove& site, Addr base, Addr stride, u32 piece, u32 number, Lanes& lanes, u32* image_at) {
    const u32 lines = site.lines();
    const u32 pieces = site.line_bytes() / piece;                         // all are powers of two
    const u32 across = pieces < 4 ? pieces : lines < 8 ? 32 / lines : 4;  // of a line
    const u32 shift = static_cast<u32>(__builtin_ctz(across));
    const u32 turns = static_cast<u32>(__builtin_ctz(pieces)) - shift;
    const u32 first_line = (number >> turns) * (32u >> shift);
    const u32 first_piece = (number & ((1u << turns) - 1)) << shift;
    for (u32 i = 0; i < 32; ++i) {
        const u32 line = first_line + (i >> shift);
        const u32 at = (first_piece + (i & (across - 1))) * piece;
        lanes.address[i] = base + line * stride + at;
        image_at[i] = line * site.line_bytes() + at;
    }
}

/// Transfers the matrix between memory and image. All lanes give the same address and stride; the first active one's count.
template <bool Store>
void transfer(Warp& warp, const Inst& inst, u32 mask, const MatrixMove& site, MatrixImage& image) {
    const u32 first = first_lane(mask);
    const Addr offset = static_cast<Addr>(inst.offset);
    Addr base = inst.address_32 ? in<u32>(warp, inst.a)[first] + static_cast<u32>(offset) : in<u64>(warp, inst.a)[first] + offset;
    Inst part = inst;
    if (inst.space == StateSpace::generic) {
        const Pointed to = pointed_to(base);
        if (warp.recorder != nullptr)
            warp.recorder->run(inst.generic_run + (to.space == StateSpace::global ? 0 : to.space == StateSpace::shared ? 1 : 2), mask);
        part.space = to.space;
        base -= to.window;
    }
    const Pointed to{part.space, 0};
    const Addr stride =
        (site.stride == kAbsent ? site.line_elements() : Addr{in<u32>(warp, site.stride)[first]}) * element_bits(site.element) / 8;
    const u32 piece = piece_bytes(site.fragment, site.element);
    for (u32 number = 0; number < site.accesses(); ++number) {
        Lanes lanes;
        u32 at[32];
        find_pieces(site, base, stride, piece, number, lanes, at);
        lanes.affine = affine_lanes(lanes.address, kAll, lanes.base, lanes.stride);
        lanes.first = 0;
        lanes.last = 31;
        part.memory = inst.memory + number;
        if (warp.recorder != nullptr) record_lanes(warp, part, mask, piece, lanes, to);
        Access access;
        if (to.space == StateSpace::local || !place_scattered(warp, part, kAll, piece, lanes, to.space, access)) {
            for (u32 i = 0; i < 32; ++i)
                access.lane[i] = reinterpret_cast<std::uintptr_t>(place(warp, part, to.space, lanes.address[i], i, piece));
        }
        for (u32 i = 0; i < 32; ++i) {
            auto* const there = reinterpret_cast<std::byte*>(access.lane[i]);
            std::byte* const here = image.bytes + at[i];
            for (u32 word = 0; word < piece; word += 4)
                std::memcpy(Store ? there + word : here + word, Store ? here + word : there + word, 4);
        }
    }
}

template <class R>
void load_fragment(Warp& warp, const Inst& inst, u32 mask) {
    const MatrixMove& site = warp.launch->program.moves[inst.list];
    MatrixImage image;
    transfer<false>(warp, inst, mask, site, image);
    if (!site.natural()) transpose_image(image, site.lines(), site.line_elements(), site.element);
    const Slot* const slots = warp.launch->program.lists.data() + site.slots;
    const u32 different = site.shape.registers(site.fragment, site.element);
    for (u32 copy = 0; copy < site.registers; copy += different) {
        each_register_of_image<R>(site, image.bytes, [&](u32 r, u32 i, const std::byte* from) {
            if ((mask & kBit[i]) != 0) out<R>(warp, slots[copy + r])[i] = fetch<R>(from);
        });
    }
}
template <class R>
void store_fragment(Warp& warp, const Inst& inst, u32 mask) {
    const MatrixMove& site = warp.launch->program.moves[inst.list];
    MatrixImage image;
    const Slot* const slots = warp.launch->program.lists.data() + site.slots;
    each_register_of_image<R>(site, image.bytes, [&](u32 r, u32 i, std::byte* to) { keep(to, in<R>(warp, slots[r])[i]); });
    if (!site.natural()) transpose_image(image, site.shape.lines(site.fragment), site.shape.line_elements(site.fragment), site.element);
    ++warp.launch->changes;
    transfer<true>(warp, inst, mask, site, image);
}

Handler select_matrix(const Choice& choice) {
    const bool wide = choice.type == Type::f64;
    switch (choice.op) {
        case Op::ldmatrix: return load_matrix_rows;
        case Op::stmatrix: return store_matrix_rows;
        case Op::movmatrix: return transpose_registers;
        case Op::matrix_product: return matrix_product;
        case Op::matrix_product_quads: return matrix_product_quads;
        case Op::matrix_product_f64: return matrix_product_f64;
        case Op::matrix_product_b1: return matrix_product_b1;
        case Op::matrix_load: return wide ? load_fragment<u64> : load_fragment<u32>;
        case Op::matrix_store: return wide ? store_fragment<u64> : store_fragment<u32>;
        default: return nullptr;
    }
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
