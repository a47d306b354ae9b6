// SPDX-License-Identifier: MIT
// Matrices of all element types as a test holds them, their product by a triple loop, and what the timing model sees of a kernel.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "ptx_helpers.hpp"

namespace mergelane::ptx {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Format {
    const char* name;
    u32 bits;
    std::function<double(u64)> value;
};
/// A float of any size with subnormal numbers; the largest exponent is infinity and NaN unless `finite`.
inline double small_float(u64 bits, int exponent_bits, int fraction_bits, bool finite) {
    const int exponent = static_cast<int>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    const auto fraction = static_cast<double>(bits & ((u64{1} << fraction_bits) - 1));
    const double sign = (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -1 : 1;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    if (!finite && exponent == (1 << exponent_bits) - 1)
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (finite && (bits & 0x7F) == 0x7F) return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp(fraction + std::ldexp(1.0, fraction_bits), exponent - bias - fraction_bits);
}
inline const Format& format(const std::string& name) {
    static const std::vector<Format> formats = {
        {"f16", 16, [](u64 b) { return small_float(b, 5, 10, false); }},
        {"bf16", 16, [](u64 b) { return small_float(b, 8, 7, false); }},
        {"tf32", 32, [](u64 b) { return small_float(b >> 13, 8, 10, false); }},
        {"f32", 32, [](u64 b) { return static_cast<double>(std::bit_cast<float>(static_cast<u32>(b))); }},
        {"f64", 64, [](u64 b) { return std::bit_cast<double>(b); }},
        {"e4m3", 8, [](u64 b) { return small_float(b, 4, 3, true); }},
        {"e5m2", 8, [](u64 b) { return small_float(b, 5, 2, false); }},
        {"s8", 8, [](u64 b) { return static_cast<double>(static_cast<std::int8_t>(b)); }},
        {"u8", 8, [](u64 b) { return static_cast<double>(b); }},
        {"s4", 4, [](u64 b) { return static_cast<double>(static_cast<int>(b) - ((b & 8) != 0 ? 16 : 0)); }},
        {"u4", 4, [](u64 b) { return static_cast<double>(b); }},
        {"b1", 1, [](u64 b) { return static_cast<double>(b); }},
        {"s32", 32, [](u64 b) { return static_cast<double>(static_cast<std::int32_t>(static_cast<u32>(b))); }},
    };
    for (const Format& f : formats) {
        if (f.name == name) return f;
    }
    throw std::runtime_error(name);
}

/// Elements as bits, by rows.
struct Matrix {
    u32 rows, columns;
    const Format* kind;
    std::vector<u64> bits;
    u64& at(u32 row, u32 column) { return bits[row * columns + column]; }
    u64 at(u32 row, u32 column) const { return bits[row * columns + column]; }
    double value(u32 row, u32 column) const { return kind->value(at(row, column)); }
};
enum class Values { small, any };
/// Small: integers, so that all sums are exact. Any: finite, and for wide formats of a moderate size.
inline u64 draw(const Format& f, Values values, Rng& rng) {
    const std::string name = f.name;
    if (name == "f64")
        return std::bit_cast<u64>(values == Values::small ? static_cast<double>(rng.below(17)) - 8
                                                          : (static_cast<double>(rng.below(1u << 31)) * 0x1p-29 - 2));
    if (name == "f32" || name == "tf32")
        return std::bit_cast<u32>(static_cast<float>(values == Values::small ? static_cast<double>(rng.below(17)) - 8
                                                                             : (static_cast<double>(rng.below(1u << 31)) * 0x1p-29 - 2)));
    if (name == "s32") return values == Values::small ? static_cast<u32>(rng.below(2001)) - 1000u : static_cast<u32>(rng.next());
    static std::map<std::pair<std::string, Values>, std::vector<u64>> candidates;
    std::vector<u64>& all = candidates[{name, values}];
    for (u64 bits = 0, end = all.empty() ? u64{1} << f.bits : 0; bits < end; ++bits) {
        const double v = f.value(bits);
        if (values == Values::small ? v == std::floor(v) && std::abs(v) <= 8 : std::abs(v) <= (name == "bf16" ? 1e6 : 1e9))
            all.push_back(bits);
    }
    return all[rng.below(static_cast<u32>(all.size()))];
}
inline Matrix random_matrix(u32 rows, u32 columns, const std::string& kind, Values values, Rng& rng) {
    Matrix m{rows, columns, &format(kind), std::vector<u64>(std::size_t{rows} * columns)};
    for (u64& bits : m.bits) bits = draw(*m.kind, values, rng);
    return m;
}

enum class How { wrap, clamp, bits_xor, bits_and };
inline void expect_product(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, How how, bool exact,
                           const std::string& what) {
    const bool integer = std::string(d.kind->name) == "s32";
    for (u32 row = 0; row < d.rows; ++row) {
        for (u32 column = 0; column < d.columns; ++column) {
            const double addend = c.value(row, column);
            double sum = addend, size = std::abs(addend);
            for (u32 k = 0; k < a.columns; ++k) {
                const double x = a.value(row, k), y = b.value(k, column);
                const double product = how == How::bits_xor ? std::abs(x - y) : x * y;
                sum += product;
                size += std::abs(product);
            }
            const std::string where = fmt::format("{} row {} column {}", what, row, column);
            if (integer) {
                double expected = how == How::clamp ? std::clamp(sum, -2147483648.0, 2147483647.0) : sum;
                if (how != How::clamp)
                    expected = static_cast<double>(static_cast<std::int32_t>(static_cast<u32>(static_cast<std::int64_t>(sum))));
                ASSERT_EQ(d.value(row, column), expected) << where;
            } else if (exact) {
                ASSERT_EQ(d.value(row, column), sum) << where;
            } else {
                const std::string kind = d.kind->name;
                if (kind == "f16" && std::abs(sum) > 65519) {
                    ASSERT_TRUE(std::abs(d.value(row, column)) > 65000) << where;
                    continue;
                }
                const double half = std::max(std::ldexp(std::abs(sum), -11), std::ldexp(1.0, -25));
                const double slack = kind == "f64" ? size * 1e-14 : size * 3e-6 + (kind == "f16" ? half * 1.01 : 0);
                ASSERT_NEAR(d.value(row, column), sum, slack) << where;
            }
        }
    }
}

struct Cell {
    u32 row, column;
};
/// Where the lane's element number i lies.
using Place = Cell (*)(u32 lane, u32 i);

/// What the timing model sees: the instructions of a kernel, and the addresses of its memory instructions.
struct Seen {
    std::vector<StaticInst> instructions;
    std::vector<std::pair<StaticInst, LaneAddresses>> accesses;
};
inline Seen replay(const KernelSource& kernel) {
    Seen seen;
    const auto stream = kernel.make_stream();
    stream->open(0);
    Run run;
    while (stream->next_run(0, run)) {
        for (u32 i = 0; i < run.count; ++i) {
            seen.instructions.push_back(run.first[i]);
            if (!is_memory(run.first[i])) continue;
            LaneAddresses lanes;
            stream->addresses(0, run.first[i], run.active, lanes);
            seen.accesses.emplace_back(run.first[i], lanes);
        }
    }
    return seen;
}

}  // namespace mergelane::ptx
