// SPDX-License-Identifier: MIT
// Floating point in integers, for any binary format of up to 64 bits: exact results, rounded once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace mergelane::ptx::reference {

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

struct Format {
    int fraction;  ///< bits
    int exponent;  ///< bits
    std::uint64_t nan;

    int least() const { return 2 - (1 << (exponent - 1)); }  ///< exponent of normal numbers
    std::uint64_t sign() const { return std::uint64_t{1} << (fraction + exponent); }
    std::uint64_t infinity() const { return ((std::uint64_t{1} << exponent) - 1) << fraction; }
};
inline constexpr Format kHalf{10, 5, 0x7FFF};
inline constexpr Format kBrain{7, 8, 0x7FFF};
inline constexpr Format kSingle{23, 8, 0x7FFFFFFF};
inline constexpr Format kDouble{52, 11, 0xFFF8000000000000};

enum class Direction { nearest, zero, down, up };

/// magnitude * 2^exponent, the magnitude being less than 2^126.
struct Real {
    enum class Kind { finite, infinite, nan } kind = Kind::finite;
    bool negative = false;
    u128 magnitude = 0;
    int exponent = 0;

    bool nan() const { return kind == Kind::nan; }
    bool infinite() const { return kind == Kind::infinite; }
    bool zero() const { return kind == Kind::finite && magnitude == 0; }
};
inline constexpr Real kNan{Real::Kind::nan};

inline int bit_length(u128 value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<std::uint64_t>(value));
}

inline Real unpacked(std::uint64_t bits, const Format& f) {
    Real value;
    value.negative = (bits & f.sign()) != 0;
    const std::uint64_t size = bits & (f.sign() - 1);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << f.fraction) - 1);
    if (size >= f.infinity()) {
        value.kind = size == f.infinity() ? Real::Kind::infinite : Real::Kind::nan;
    } else if (size < std::uint64_t{1} << f.fraction) {
        value.magnitude = fraction;
        value.exponent = f.least() - f.fraction;
    } else {
        value.magnitude = fraction | std::uint64_t{1} << f.fraction;
        value.exponent = static_cast<int>(size >> f.fraction) - 1 + f.least() - f.fraction;
    }
    return value;
}

/// magnitude / 2^shift as a whole number; a positive shift rounds.
inline u128 shifted(const Real& value, int shift, Direction direction) {
    if (shift <= 0) return value.magnitude << -shift;
    const u128 whole = shift > 127 ? 0 : value.magnitude >> shift;
    const u128 rest = shift > 127 ? value.magnitude : value.magnitude & ((u128{1} << shift) - 1);
    const u128 half = shift > 127 ? ~u128{0} : u128{1} << (shift - 1);
    const bool up = direction == Direction::nearest ? rest > half || (rest == half && (whole & 1) != 0)
                    : direction == Direction::down  ? value.negative && rest != 0
                    : direction == Direction::up    ? !value.negative && rest != 0
                                                    : false;
    return whole + (up ? 1 : 0);
}

inline std::uint64_t packed(const Real& value, const Format& f, Direction direction = Direction::nearest) {
    const std::uint64_t sign = value.negative ? f.sign() : 0;
    if (value.nan()) return f.nan;
    if (value.infinite()) return sign | f.infinity();
    if (value.magnitude == 0) return sign;
    const int exponent = std::max(value.exponent + bit_length(value.magnitude) - 1, f.least());
    if (exponent - f.least() < 1 << f.exponent) {
        const auto whole = static_cast<std::uint64_t>(shifted(value, exponent - f.fraction - value.exponent, direction));
        const std::uint64_t bits = (static_cast<std::uint64_t>(exponent - f.least()) << f.fraction) + whole;
        if (bits < f.infinity()) return sign | bits;
    }
    const bool stays =
        direction == Direction::zero || (direction == Direction::down && !value.negative) || (direction == Direction::up && value.negative);
    return sign | (f.infinity() - (stays ? 1 : 0));
}

inline Real negated(Real value) {
    value.negative = !value.negative;
    return value;
}

/// Moves the leading bit to bit 125.
inline Real normal(Real value) {
    const int by = 126 - bit_length(value.magnitude);
    value.magnitude <<= by;
    value.exponent -= by;
    return value;
}

inline Real sum(Real a, Real b, Direction direction) {
    if (a.nan() || b.nan() || (a.infinite() && b.infinite() && a.negative != b.negative)) return kNan;
    if (a.infinite()) return a;
    if (b.infinite()) return b;
    Real zero;
    zero.negative = a.negative == b.negative ? a.negative : direction == Direction::down;
    if (a.zero() && b.zero()) return zero;
    if (a.zero()) return b;
    if (b.zero()) return a;
    a = normal(a);
    b = normal(b);
    if (a.exponent < b.exponent) std::swap(a, b);
    const int by = a.exponent - b.exponent;  // the bits that are lost only matter in being there
    const bool lost = by > 127 || (b.magnitude & ((u128{1} << by) - 1)) != 0;
    b.magnitude = (by > 127 ? 0 : b.magnitude >> by) | (lost ? 1 : 0);
    if (a.negative == b.negative) {
        a.magnitude += b.magnitude;
        if (a.magnitude >> 126 != 0) {
            a.magnitude = a.magnitude >> 1 | (a.magnitude & 1);
            ++a.exponent;
        }
    } else {
        if (a.magnitude == b.magnitude) return zero;
        if (a.magnitude < b.magnitude) std::swap(a, b);
        const int exponent = std::max(a.exponent, b.exponent);
        a.magnitude -= b.magnitude;
        a.exponent = exponent;
    }
    return a;
}

inline Real product(const Real& a, const Real& b) {
    if (a.nan() || b.nan() || (a.infinite() && b.zero()) || (a.zero() && b.infinite())) return kNan;
    Real value;
    value.negative = a.negative != b.negative;
    value.kind = a.infinite() || b.infinite() ? Real::Kind::infinite : Real::Kind::finite;
    value.magnitude = a.magnitude * b.magnitude;
    value.exponent = a.exponent + b.exponent;
    return value;
}

inline Real quotient(Real a, const Real& b) {
    if (a.nan() || b.nan() || (a.infinite() && b.infinite()) || (a.zero() && b.zero())) return kNan;
    Real value;
    value.negative = a.negative != b.negative;
    if (a.infinite() || b.zero()) value.kind = Real::Kind::infinite;
    if (a.infinite() || b.infinite() || a.zero() || b.zero()) return value;
    a = normal(a);
    value.magnitude = a.magnitude / b.magnitude;
    value.exponent = a.exponent - b.exponent;
    if (a.magnitude % b.magnitude == 0) return value;
    value.magnitude |= 1;  // inexact: more bits than any format has remain above this one
    return value;
}

inline Real root(Real a) {
    if (a.nan() || a.zero()) return a;
    if (a.negative) return kNan;
    if (a.infinite()) return a;
    a = normal(a);
    if (a.exponent % 2 != 0) {
        a.magnitude >>= 1;  // its last bits are 0
        ++a.exponent;
    }
    u128 whole = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const u128 more = whole | u128{1} << bit;
        if (more * more <= a.magnitude) whole = more;
    }
    Real value;
    value.magnitude = whole << 1 | (whole * whole != a.magnitude ? 1 : 0);
    value.exponent = a.exponent / 2 - 1;
    return value;
}

/// To a whole number.
inline Real integral(Real value, Direction direction) {
    if (value.kind != Real::Kind::finite || value.exponent >= 0) return value;
    value.magnitude = shifted(value, -value.exponent, direction);
    value.exponent = 0;
    return value;
}

}  // namespace mergelane::ptx::reference
