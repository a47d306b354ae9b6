// SPDX-License-Identifier: MIT
// Splits PTX text into tokens. A word keeps its dots ("ld.global.f32", "%tid.x", ".reg"); numbers are decoded.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace mergelane::ptx {

enum class TokenKind : std::uint8_t { end, word, integer, f32, f64, string, punct };

struct Token {
    TokenKind kind = TokenKind::end;
    std::uint32_t line = 0;
    std::string_view text;
    std::uint64_t bits = 0;  ///< value of a number, as written (f32 and f64: IEEE bits)

    bool is(std::string_view punct) const { return text == punct && (kind == TokenKind::punct || kind == TokenKind::word); }
};

/// A comment that carries metadata: "// mergelane: registers NAME COUNT".
struct Remark {
    std::string_view kernel;
    std::uint32_t registers = 0;
};

struct TokenList {
    std::vector<Token> tokens;  ///< ends with one end token
    std::vector<Remark> remarks;
};

/// `text` must outlive the tokens. Throws InputError for invalid characters.
TokenList tokenize(std::string_view text, const std::string& file_name);

/// "file:line: cause; remedy"
template <class... Values>
[[noreturn]] void fail_at(const std::string& file, std::uint32_t line, fmt::format_string<const Values&...> text, const Values&... values) {
    throw InputError(fmt::format("{}:{}: {}", file, line, fmt::format(text, values...)));
}
/// A word of the input, truncated and made printable for a message.
std::string in_quotes(std::string_view word);

}  // namespace mergelane::ptx
