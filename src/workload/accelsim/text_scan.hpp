// SPDX-License-Identifier: MIT
// Scanning of trace text. Buffers end with a line break and zeros, at which every function stops, so that no length has to be passed along.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mergelane::accelsim {

/// Zeros behind the text of a buffer.
inline constexpr std::size_t kTextPadding = 512;

struct TextBuffer {
    std::unique_ptr<char[]> text;
    std::size_t size = 0;  ///< of the memory
};

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
    if (*at == ' ') ++at;  // usually there is one
    if (*at > ' ') return at;
    while (is_blank(*at)) ++at;
    return at;
}
inline const char* skip_token(const char* at) {
    while (!ends_token(*at)) ++at;
    return at;
}

/// A hexadecimal number of at most 16 digits. Returns behind it, nullptr if there is none. 17 bytes must be readable.
inline const char* scan_hex_digits(const char* at, std::uint64_t& value) {
#if defined(__SSE2__)
    // All digits at once: the first non-digit ends the number; two nibbles form a byte, most significant first.
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i lower = _mm_or_si128(text, _mm_set1_epi8(0x20));
    const __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(lower, _mm_set1_epi8('a' - 1)), _mm_cmplt_epi8(lower, _mm_set1_epi8('f' + 1)));
    const __m128i decimal = _mm_and_si128(_mm_cmpgt_epi8(text, _mm_set1_epi8('0' - 1)), _mm_cmplt_epi8(text, _mm_set1_epi8('9' + 1)));
    const auto is_digit = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(letter, decimal)));
    const auto digits = static_cast<std::uint32_t>(std::countr_one(is_digit));
    if (digits - 1 >= 15) {  // none, or all of them
        if (digits == 0 || detail::kHexDigit[static_cast<unsigned char>(at[16])] != 0xff) return nullptr;
    }
    const __m128i nibbles = _mm_add_epi8(_mm_and_si128(text, _mm_set1_epi8(0x0f)), _mm_and_si128(letter, _mm_set1_epi8(9)));
    const __m128i pairs = _mm_or_si128(_mm_slli_epi16(nibbles, 4), _mm_srli_epi16(nibbles, 8));
    const __m128i bytes = _mm_packus_epi16(_mm_and_si128(pairs, _mm_set1_epi16(0xff)), _mm_setzero_si128());
    const auto reversed = static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes));
    value = __builtin_bswap64(reversed) >> (64 - 4 * digits);
    return at + digits;
#else
    const char* const begin = at;
    std::uint64_t sum = 0;
    for (std::uint8_t digit; (digit = detail::kHexDigit[static_cast<unsigned char>(*at)]) != 0xff; ++at) sum = sum << 4 | digit;
    value = sum;
    return at == begin || at - begin > 16 ? nullptr : at;
#endif
}

/// The same with or without 0x. 19 bytes must be readable.
inline const char* scan_hex(const char* at, std::uint64_t& value) {
    return scan_hex_digits(at[0] == '0' && (at[1] == 'x' || at[1] == 'X') ? at + 2 : at, value);
}

/// A decimal number of at most 18 digits.
inline const char* scan_decimal(const char* at, std::uint64_t& value) {
    const char* const begin = at;
    std::uint64_t sum = 0;
    for (unsigned digit; (digit = static_cast<unsigned char>(*at) - unsigned{'0'}) <= 9; ++at) sum = sum * 10 + digit;
    value = sum;
    return at == begin || at - begin > 18 ? nullptr : at;
}

/// Like scan_decimal, with an optional sign; the value is its two's complement. Reads up to eight digits at once, without branches on their
/// number; ten bytes from `at` on must be readable.
inline const char* scan_signed(const char* at, std::uint64_t& value) {
    const std::uint64_t negative = *at == '-' ? 1 : 0;
    at += negative;
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    word ^= 0x3030303030303030ull;  // a digit becomes its value, everything else more than nine
    // Bytes after the first non-digit may carry into each other; they do not matter.
    const std::uint64_t other = ((word + 0x7676767676767676ull) | word) & 0x8080808080808080ull;
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

/// `text` for a message: truncated to `most` bytes, with non-printable characters replaced by question marks.
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
