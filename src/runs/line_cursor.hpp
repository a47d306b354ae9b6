// SPDX-License-Identifier: MIT
// Reads lines of a store, whose members have a fixed order: no tree is built, so a line takes no more memory than its text.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace mergelane::study {

/// Whether its escapes are those of JSON.
bool is_text(std::string_view written);
/// A text of LineCursor as it is meant, without escapes.
std::string plain_text(std::string_view written);

/// Reads a line from left to right; once something else is found than expected, nothing more is.
class LineCursor {
public:
    explicit LineCursor(std::string_view text) : left_(text) {}
    bool good() const { return good_; }
    std::string_view left() const { return left_; }

    bool skip(std::string_view expected) {
        if (!good_ || !left_.starts_with(expected)) return false;
        left_.remove_prefix(expected.size());
        return true;
    }
    void need(std::string_view expected) { good_ = skip(expected); }
    /// Without its quotes, with its escapes.
    std::string_view text(std::string_view name) {
        need(name);
        need("\"");
        std::size_t end = left_.find('"');
        while (end != std::string_view::npos && escaped(end)) end = left_.find('"', end + 1);
        const std::string_view value = take(end);
        need("\"");
        good_ = good_ && is_text(value);
        return value;
    }
    template <typename Number>
    Number number(std::string_view name) {
        need(name);
        Number value{};
        if (!good_) return value;
        const auto [end, problem] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
        good_ = problem == std::errc{} && std::isfinite(static_cast<double>(value));
        if (good_) left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
        return value;
    }
    /// An object of counters; no name has an escape, so its first brace ends it.
    std::string_view counters(std::string_view name) {
        need(name);
        const std::size_t end = left_.find('}');
        return take(end == std::string_view::npos ? end : end + 1);
    }
    /// An array; `element()` reads each of its elements with this cursor. Returns it as it is written.
    template <typename Element>
    std::string_view array(std::string_view name, const Element& element) {
        need(name);
        const std::string_view from = left_;
        need("[");
        if (!skip("]")) {
            do element();
            while (skip(","));
            need("]");
        }
        return good_ ? from.substr(0, from.size() - left_.size()) : std::string_view{};
    }

private:
    std::string_view take(std::size_t length) {
        good_ = good_ && length != std::string_view::npos;
        if (!good_) return {};
        const std::string_view value = left_.substr(0, length);
        left_.remove_prefix(length);
        return value;
    }
    bool escaped(std::size_t at) const {
        std::size_t backslashes = 0;
        while (backslashes < at && left_[at - backslashes - 1] == '\\') ++backslashes;
        return backslashes % 2 != 0;
    }

    std::string_view left_;
    bool good_ = true;
};

}  // namespace mergelane::study
