// SPDX-License-Identifier: MIT
// Scanning of trace text. Buffers end with a line break and zeros, at which every function stops, so that no length
// need be carried along.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace mergelane::accelsim {

namespace detail {
inline constexpr std::array<std::uint8_t, 256> kHexDigit = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(0xff);
    for (std::uint8_t d = 0; d < 10; ++d) table[static_cast<std::size_t>('0') + d] = d;
    for (std::uint8_t d = 0; d < 6; ++d) {
        table[static_cast<std::size_t>('a') + d] = static_cast<std::uint8_t>(10 + d);
        table[static_cast<std::size_t>('A') + d] = static_cast<std::uint8_t>(10 + d);
    }
    return table;
}();
}  // namespace detail

inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}
inline bool ends_token(char c) {
    return is_blank(c) || c == '\n' || c == '\0';
}
inline const char* skip_blanks(const char* at) {
    while (is_blank(*at)) ++at;
    return at;
}
inline const char* skip_token(const char* at) {
    while (!ends_token(*at)) ++at;
    return at;
}

/// A hexadecimal number with or without 0x, at most 16 digits. Returns behind it, nullptr if there is none.
inline const char* scan_hex(const char* at, std::uint64_t& value) {
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) at += 2;
    const char* const begin = at;
    std::uint64_t sum = 0;
    for (std::uint8_t digit; (digit = detail::kHexDigit[static_cast<unsigned char>(*at)]) != 0xff; ++at) sum = sum << 4 | digit;
    value = sum;
    return at == begin || at - begin > 16 ? nullptr : at;
}

/// A decimal number of at most 18 digits.
inline const char* scan_decimal(const char* at, std::uint64_t& value) {
    const char* const begin = at;
    std::uint64_t sum = 0;
    for (unsigned digit; (digit = static_cast<unsigned char>(*at) - unsigned{'0'}) <= 9; ++at) sum = sum * 10 + digit;
    value = sum;
    return at == begin || at - begin > 18 ? nullptr : at;
}

/// As scan_decimal, with an optional sign; the value is its two's complement.
inline const char* scan_signed(const char* at, std::uint64_t& value) {
    const bool negative = *at == '-';
    at = scan_decimal(at + (negative ? 1 : 0), value);
    if (negative) value = 0 - value;
    return at;
}

/// Four numbers of one digit, each followed by a space ("0 0 4 4 "): digit k in bits 16 k to 16 k + 3 of `digits`.
/// Eight bytes must be readable.
inline bool scan_four_digits(const char* at, std::uint64_t& digits) {
    if constexpr (std::endian::native != std::endian::little) return false;
    std::memcpy(&digits, at, 8);
    digits ^= 0x2030203020302030;  // leaves 0 to 9 for a digit, 0 for the space behind it
    return (digits & 0xFFF0FFF0FFF0FFF0) == 0 && ((digits + 0x0006000600060006) & 0x0010001000100010) == 0;
}

/// Eight hexadecimal f, as in the mask of a full warp.
inline bool is_full_mask(const char* at) {
    return std::memcmp(at, "ffffffff", 8) == 0;
}

}  // namespace mergelane::accelsim
