// SPDX-License-Identifier: MIT
#include "report/loose_json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/json_text.hpp"

namespace mergelane::report {

namespace {

constexpr double kLargest = 1e100;  // sums and differences of such numbers are still finite
constexpr int kDeepest = 100;       // writing JSON recurses

bool deeper_than(const Json& value, int levels) {
    if (!value.is_structured()) return false;
    if (levels == 0) return true;
    for (const Json& child : value) {
        if (deeper_than(child, levels - 1)) return true;
    }
    return false;
}

std::string dumped(const Json& value) {
    if (deeper_than(value, kDeepest)) return "\"(nested too deeply)\"";
    return json_text(value);
}

/// Length of the valid UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t sequence(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (first == 0xE0 && byte(1) < 0xA0) return 0;  // longer than needed
        if (first == 0xED && byte(1) > 0x9F) return 0;  // surrogates
        if (first == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE) return 0;
        return follows(1) && follows(2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (first == 0xF0 && byte(1) < 0x90) return 0;
        if (first == 0xF4 && byte(1) > 0x8F) return 0;
        return follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

/// `text` with every invalid byte replaced; `special` may escape a character.
template <typename Special>
std::string rewritten(std::string_view text, Special special) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = sequence(text.substr(i));
        const char c = text[i];
        const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
        if (length == 0 || control || c == '\x7f')
            out += "\xEF\xBF\xBD";
        else if (text.substr(i, 3) == "\xE2\x80\xA8" || text.substr(i, 3) == "\xE2\x80\xA9")
            out += ' ';  // JavaScript treats these as line ends, even within quotes
        else if (length > 1 || !special(out, c))
            out += text.substr(i, length);
        i += length == 0 ? 1 : length;
    }
    return out;
}

}  // namespace

const Json& member(const Json& object, const char* key) {
    static const Json none;
    if (!object.is_object()) return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

const Json& list(const Json& object, const char* key) {
    static const Json empty = Json::array();
    const Json& value = member(object, key);
    return value.is_array() ? value : empty;
}

std::string readable(double value) {
    if (value == 0) return "0";  // also the negative one
    if (std::abs(value) >= 1000 && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
    return fmt::format("{:.4g}", value);
}

std::string text_of(const Json& value) {
    if (value.is_null()) return "";
    if (value.is_string()) return rewritten(value.get_ref<const std::string&>(), [](std::string&, char) { return false; });
    if (value.is_number_float()) return std::isfinite(value.get<double>()) ? readable(value.get<double>()) : "";
    return dumped(value);
}

std::string text(const Json& object, const char* key) {
    return text_of(member(object, key));
}

std::optional<double> number_of(const Json& value) {
    if (!value.is_number()) return std::nullopt;
    const double number = value.get<double>();
    if (!(std::abs(number) <= kLargest)) return std::nullopt;
    return number;
}

std::optional<double> number(const Json& object, const char* key) {
    return number_of(member(object, key));
}

std::string escaped(std::string_view text) {
    return rewritten(text, [](std::string& out, char c) {
        switch (c) {
            case '&': out += "&amp;"; return true;
            case '<': out += "&lt;"; return true;
            case '>': out += "&gt;"; return true;
            case '"': out += "&quot;"; return true;
            case '\'': out += "&#39;"; return true;
            default: return false;
        }
    });
}

std::string script_json(const Json& value) {
    // Outside of strings JSON has none of these characters; inside strings, any character may be escaped.
    return rewritten(dumped(value), [](std::string& out, char c) {
        if (c != '<' && c != '>' && c != '&') return false;
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        return true;
    });
}

}  // namespace mergelane::report
