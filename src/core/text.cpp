// SPDX-License-Identifier: MIT
#include "core/text.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace mergelane {

namespace {

constexpr std::size_t kMostCompared = 64;  ///< characters of a word

/// A text that spreadsheets would evaluate ("=1+1", "@x"); numbers are none.
bool is_formula(std::string_view field) {
    if (field.empty() || std::string_view("=+-@\t\r").find(field[0]) == std::string_view::npos) return false;
    const std::string_view number = field.substr(field[0] == '+' ? 1 : 0);
    double value = 0;
    return std::from_chars(number.data(), number.data() + number.size(), value).ptr != field.data() + field.size();
}

}  // namespace

std::uint32_t edit_distance(std::string_view a, std::string_view b) {
    a = a.substr(0, kMostCompared);
    b = b.substr(0, kMostCompared);
    std::uint32_t d[kMostCompared + 1][kMostCompared + 1];
    for (std::uint32_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::uint32_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min(std::min(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

namespace {
/// Whether words differ in upper and lower case only.
bool same_letters(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}
}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    std::string_view best;
    const std::size_t length = std::min(word.size(), kMostCompared);
    std::uint32_t best_distance = static_cast<std::uint32_t>(std::max<std::size_t>(2, length / 2)) + 1;
    for (const std::string_view candidate : known) {
        if (same_letters(word, candidate)) return candidate;
        // At least as many steps as the lengths differ by.
        const std::size_t other = std::min(candidate.size(), kMostCompared);
        if (std::max(length, other) - std::min(length, other) >= best_distance) continue;
        const std::uint32_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string unknown_word(std::string_view kind, std::string_view word, std::span<const std::string_view> known) {
    const std::string_view near = nearest(word, known);
    std::string text = fmt::format("unknown {} '{}'", kind, word.substr(0, 80));
    text += near.empty() ? ";" : fmt::format("; did you mean '{}'?", near);
    return text + fmt::format(" known: {}", fmt::join(known, ", "));
}

std::string grouped(std::uint64_t value) {
    const std::string digits = fmt::format("{}", value);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

std::string readable_name(const std::string& name) {
    constexpr std::size_t kWidest = 100;
    int status = 0;
    char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    std::string result = status == 0 ? text : name;
    std::free(text);
    if (result.size() > kWidest) result = result.substr(0, kWidest - 3) + "...";
    return printable(result);
}

std::string doubled(std::string_view text, char c) {
    std::string result;
    for (const char here : text) result.append(here == c ? 2 : 1, here);
    return result;
}

std::string printable(std::string_view text, std::size_t limit) {
    const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (text.size() <= limit && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
        const unsigned first = byte(0);
        const std::size_t length = first < 0x80 ? 1 : first >> 5 == 0x6 ? 2 : first >> 4 == 0xE ? 3 : first >> 3 == 0x1E ? 4 : 0;
        bool good =
            length != 0 && first >= 0x20 && first != 0x7F && !(first == 0xC2 && byte(1) < 0xA0);  // U+0080 to U+009F control as well
        for (std::size_t k = 1; good && k < length; ++k) good = (byte(k) & 0xC0) == 0x80;
        const std::size_t step = good ? length : 1;
        if (out.size() + step > limit) return out + "...";
        good ? out.append(text, i, step) : out.append("?");
        i += step;
    }
    return out;
}

std::string csv_field(std::string_view field) {
    if (is_formula(field)) return csv_field(fmt::format("'{}", field));  // they do not show the apostrophe
    if (field.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(field);
    return fmt::format("\"{}\"", doubled(field, '"'));
}

std::vector<std::string> csv_fields(std::string_view line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
            fields.back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += c;
        }
    }
    return fields;
}

}  // namespace mergelane
