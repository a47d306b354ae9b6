// SPDX-License-Identifier: MIT
// Shared by the benchmarks of language models: 16-bit formats and the dimensions of a layer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/suite/problem.hpp"

namespace mergelane::suite::llm {

// A layer of a model with seven billion parameters, as far as sizes other than tiny are concerned.
inline constexpr int kHidden = 4096, kFeedForward = 11008, kHeads = 32, kGroups = 8, kVocabulary = 32000;
inline constexpr int kHead = 128;  ///< dimensions, at every size

enum class Format : std::uint8_t { f16, bf16 };

inline float to_float(Format format, std::uint16_t bits) {
    if (format == Format::bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    const int exponent = bits >> 10 & 31;
    const float fraction = static_cast<float>(bits & 1023);
    const float size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    return (bits >> 15) != 0 ? -size : size;
}

inline std::vector<float> to_floats(Format format, const std::vector<std::uint16_t>& bits) {
    std::vector<float> values(bits.size());
    std::transform(bits.begin(), bits.end(), values.begin(), [&](std::uint16_t each) { return to_float(format, each); });
    return values;
}

/// Of value / 2^fraction_bits; |value| is at most 2048 for f16 and at most 256 for bf16, so the result is exact.
inline std::uint16_t from_fixed(Format format, int value, int fraction_bits) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(value), -fraction_bits));
    if (format == Format::bf16) return static_cast<std::uint16_t>(bits >> 16);
    if (value == 0) return 0;
    const std::uint32_t exponent = (bits >> 23 & 255) - 127 + 15;
    return static_cast<std::uint16_t>(bits >> 31 << 15 | exponent << 10 | (bits >> 13 & 1023));
}

/// The nearest value that f16 can hold; |value| is below 65520.
inline double rounded_to_f16(double value) {
    if (value == 0) return 0;
    const int exponent = std::max(std::ilogb(value), -14);
    return std::ldexp(std::nearbyint(std::ldexp(value, 10 - exponent)), exponent - 10);
}

/// `count` values in [-limit, limit), where the limit is a power of two from 1/4 to 16: the same on every host.
inline std::vector<std::uint16_t> random_values(Format format, Rng& rng, std::size_t count, float limit = 1.0f) {
    const int digits = format == Format::f16 ? 11 : 8;
    const int half = 1 << (digits - 1);
    std::vector<std::uint16_t> table;
    for (int i = -half; i < half; ++i) table.push_back(from_fixed(format, i, digits - 1 - std::ilogb(limit)));
    std::vector<std::uint16_t> values(count);
    for (std::size_t i = 0; i < count; i += 4) {
        std::uint64_t bits = rng.next();
        for (std::size_t k = i; k < std::min(i + 4, count); ++k, bits >>= 16) values[k] = table[bits & (table.size() - 1)];
    }
    return values;
}

/// The rows that a reference checks: all, or `most` of them, spread such that all places within a tile occur.
inline std::vector<int> checked_rows(int rows, int most) {
    std::vector<int> chosen;
    const int step = std::max(1, rows / most);
    for (int i = 0; i * step < rows; ++i) chosen.push_back(std::min(rows - 1, i * step + i % step));
    return chosen;
}

/// Those rows of a matrix.
inline std::vector<float> pick_rows(const std::vector<float>& matrix, const std::vector<int>& rows, std::size_t columns) {
    std::vector<float> values;
    for (const int row : rows) {
        const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * columns);
        values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(columns));
    }
    return values;
}

/// Sum over `count` products.
inline double dot(const float* a, const float* b, int count) {
    double sum[4] = {};
    for (int i = 0; i < count; i += 4)
        for (int k = 0; k < 4; ++k) sum[k] += static_cast<double>(a[i + k]) * b[i + k];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

inline constexpr std::uint32_t unsigned_of(int value) {
    return static_cast<std::uint32_t>(value);
}

}  // namespace mergelane::suite::llm
