// SPDX-License-Identifier: MIT
#include "files/toml_text.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"

namespace mergelane {

namespace {

constexpr std::int64_t kMaxNesting = 16;
constexpr std::uint32_t kMaxDotsPerLine = 32;

/// Last quote of a closing `"""`, which up to two quotes that belong to the string may precede.
std::size_t end_of_quotes(std::string_view text, std::size_t i) {
    std::size_t last = i + 2;
    while (last < i + 4 && last + 1 < text.size() && text[last + 1] == text[i]) ++last;
    return last;
}

enum class In { nothing, comment, basic, literal, basic_lines, literal_lines };

bool triple_quote(std::string_view text, std::size_t at) {
    return (text[at] == '"' || text[at] == '\'') && text.substr(at, 3) == std::string(3, text[at]);
}

/// One character of a string: where the next one is. `at` moves over escapes and closing quotes.
In after_character(In in, std::string_view text, std::size_t& at) {
    const char c = text[at];
    const bool basic = in == In::basic || in == In::basic_lines;
    if (basic && c == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\')) {
        ++at;
    } else if (c == (basic ? '"' : '\'')) {
        if (in == In::basic || in == In::literal) return In::nothing;
        if (triple_quote(text, at)) {
            at = end_of_quotes(text, at);
            return In::nothing;
        }
    }
    return in;
}

/// Tracks values that are not strings: toml++ accepts a quotation mark inside them, where we expect the start of a string.
class ValueWords {
public:
    /// Of a character outside comments and texts: is it a quotation mark that is not the first of its value?
    bool quote_in_a_word(char c) {
        const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        const bool quote = c == '"' || c == '\'';
        if (in_word_ && quote) return true;
        if (space || c == ',' || c == ']' || c == '}' || c == '#') in_word_ = false;
        if (c == '\n' && open_.empty()) line_begins_ = true, expects_value_ = false;
        if (space || c == '#') return false;
        const bool begins_value = std::exchange(expects_value_, false);
        const bool header = std::exchange(line_begins_, false) && c == '[';
        if (c == '[' || c == '{') {
            open_ += header || (open_ == "h" && !begins_value) ? 'h' : c;  // [[header]] too
            expects_value_ = c == '[' && open_.back() == '[';
        } else if (c == ']' || c == '}') {
            if (!open_.empty()) open_.pop_back();
        } else if (c == '=' || (c == ',' && !open_.empty() && open_.back() == '[')) {
            expects_value_ = true;
        } else {
            in_word_ = in_word_ || (begins_value && !quote);
        }
        return false;
    }

private:
    std::string open_;  ///< brackets: '[' of lists, '{' of tables, 'h' of headers
    bool line_begins_ = true, expects_value_ = false, in_word_ = false;
};

}  // namespace

std::string shown_path(const std::string& path) {
    return path.size() <= 160 ? printable(path, 160) : "..." + printable(std::string_view(path).substr(path.size() - 150), 160);
}

std::string unknown_name(std::string_view kind, std::string_view word, const std::vector<std::string>& known) {
    const std::vector<std::string_view> views(known.begin(), known.end());
    const std::string shown = printable(word, 60);
    if (views.empty()) return fmt::format("unknown {} '{}'; none exist", kind, shown);
    if (views.size() <= 24) return printable(unknown_word(kind, shown, views), 600);
    const std::string_view near = nearest(shown, views);
    return fmt::format("unknown {} '{}'; {}", kind, shown, near.empty() ? "check its spelling" : fmt::format("did you mean '{}'?", near));
}

void fail_at(const std::string& where, std::string_view what) {
    throw InputError(fmt::format("{}: {}", where, what));
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

TextScan::TextScan(std::string_view text) {
    In in = In::nothing;
    std::uint32_t line = 1;
    std::uint32_t dots = 0;
    std::int64_t depth = 0;
    std::size_t comment_start = 0;
    ValueWords values;
    comments.emplace_back();
    const auto refuse = [&](std::string_view why) {
        if (problem_line == 0) problem_line = line, problem = why;
    };
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    for (std::size_t i = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; i < text.size(); ++i) {
        const char c = text[i];
        if (static_cast<unsigned char>(c) >= 0x80 && (in == In::nothing || in == In::basic_lines || in == In::literal_lines)) {
            refuse("not valid TOML: a character outside ASCII that is not in a comment or one-line string; remove it");
        }
        const bool many_lines = in == In::basic_lines || in == In::literal_lines;
        if ((in == In::nothing || (c == '\n' && !many_lines)) && values.quote_in_a_word(c))
            refuse(
                "not valid TOML: a quotation mark within a number or word; separate values by commas, and enclose whole texts in quotation "
                "marks");
        if (c == '\n') {
            if (in == In::comment) comments.back() = trim(text.substr(comment_start, i - comment_start));
            if (!many_lines) in = In::nothing;
            comments.emplace_back();
            ++line;
            dots = 0;
            continue;
        }
        switch (in) {
            case In::comment: break;
            case In::basic:
            case In::basic_lines:
            case In::literal:
            case In::literal_lines: in = after_character(in, text, i); break;
            case In::nothing:
                if (c == '#') {
                    in = In::comment;
                    comment_start = i + 1;
                } else if (c == '"' || c == '\'') {
                    const bool triple = triple_quote(text, i);
                    if (triple) i += 2;
                    in = c == '"' ? (triple ? In::basic_lines : In::basic) : (triple ? In::literal_lines : In::literal);
                } else if (c == '[' || c == '{') {
                    ++depth;
                } else if (c == ']' || c == '}') {
                    if (depth > 0) --depth;
                } else if (c == '.') {
                    ++dots;
                } else if (c == ',') {
                    dots = 0;  // no key goes on behind it; the dots of a list of numbers nest nothing
                }
                if (depth > kMaxNesting || dots > kMaxDotsPerLine)
                    refuse("nested too deeply; sections have at most two levels: write [section.part] and key = value");
        }
    }
    if (in == In::comment) comments.back() = trim(text.substr(comment_start));
}

std::string TextScan::note(std::uint32_t line) const {
    return line == 0 || line > comments.size() ? std::string() : printable(comments[line - 1], kMaxConfigText);
}

}  // namespace mergelane
