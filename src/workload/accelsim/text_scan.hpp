// SPDX-License-Identifier: MIT
// Scanning of trace text. Buffers end with a line break and zeros, at which every function stops, so that no length
// need be carried along.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

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

/// The value of the eight decimal digits (0 to 9, not characters) in the bytes of `digits`, the first one lowest.
inline std::uint64_t eight_digits(std::uint64_t digits) {
    digits = digits * ((10 << 8) + 1) >> 8;
    digits = (digits & 0x00FF00FF00FF00FFull) * ((100 << 16) + 1) >> 16;
    return (digits & 0x0000FFFF0000FFFFull) * ((std::uint64_t{10000} << 32) + 1) >> 32;
}
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

/// As scan_decimal, with an optional sign; the value is its two's complement. Up to eight digits are read at once, without
/// branches on their number; ten bytes from `at` on must be readable.
inline const char* scan_signed(const char* at, std::uint64_t& value) {
    const std::uint64_t negative = *at == '-' ? 1 : 0;
    at += negative;
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    word ^= 0x3030303030303030ull;  // a digit becomes its value, everything else more than nine
    const std::uint64_t other = (((word & 0x7F7F7F7F7F7F7F7Full) + 0x7676767676767676ull) | word) & 0x8080808080808080ull;
    const std::uint32_t digits = static_cast<std::uint32_t>(std::countr_zero(other)) / 8;
    const bool more = (digits == 8) & (static_cast<unsigned char>(at[8] - '0') <= 9);
    if (std::endian::native == std::endian::little && !more) {
        if (digits == 0) return nullptr;
        value = detail::eight_digits(word << (64 - 8 * digits));
        at += digits;
    } else {
        at = scan_decimal(at, value);
    }
    value = (value ^ (0 - negative)) + negative;
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

/// `text` for a message: cut to `most` bytes, and what is not printable ASCII becomes a question mark.
inline std::string shown(std::string_view text, std::size_t most = 40) {
    std::string result(text.substr(0, most));
    for (char& c : result) {
        if (c < ' ' || c > '~') c = '?';
    }
    if (text.size() > most) result += "...";
    return result;
}
/// The line from `at` on, in quotes, for a message.
inline std::string line_from(const char* at) {
    const char* end = at;
    while (*end != '\n' && *end != '\0') ++end;
    return "'" + shown({at, static_cast<std::size_t>(end - at)}) + "'";
}
/// The word at `at`, in quotes, for a message.
inline std::string token_at(const char* at) {
    if (*at == '\n') return "the end of the line";
    if (*at == '\0') return "a zero byte";
    return "'" + shown({at, static_cast<std::size_t>(skip_token(at) - at)}) + "'";
}

}  // namespace mergelane::accelsim
