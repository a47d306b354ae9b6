// SPDX-License-Identifier: MIT
#include "workload/ptx/lexer.hpp"

#include <bit>
#include <cctype>
#include <charconv>

namespace mergelane::ptx {

namespace {

bool starts_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool goes_on(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%';
}

class Lexer {
public:
    Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    TokenList run() {
        for (;;) {
            skip_blanks();
            if (at_ >= text_.size()) break;
            const char c = text_[at_];
            if (starts_word(c) && !(c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
                word();
            } else if (is_digit(c) || c == '.') {
                number();
            } else if (c == '"') {
                string();
            } else if (std::string_view("(){}[]<>,;:@!|+-=*/~?&^").find(c) != std::string_view::npos) {
                push(TokenKind::punct, at_, at_ + 1);
                ++at_;
            } else {
                fail_at(file_, line_, "unexpected character {}; is this PTX text?", in_quotes(text_.substr(at_, 1)));
            }
        }
        list_.tokens.push_back({TokenKind::end, line_, {}, 0});
        return std::move(list_);
    }

private:
    void push(TokenKind kind, std::size_t from, std::size_t to, std::uint64_t bits = 0) {
        list_.tokens.push_back({kind, line_, text_.substr(from, to - from), bits});
    }
    void skip_blanks() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\n') {
                ++line_;
                ++at_;
            } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
                ++at_;  // nvcc's embedded PTX ends with a NUL
            } else if (text_.substr(at_, 2) == "//") {
                const std::size_t end = std::min(text_.find('\n', at_), text_.size());
                remark(text_.substr(at_ + 2, end - at_ - 2));
                at_ = end;
            } else if (text_.substr(at_, 2) == "/*") {
                const std::size_t end = text_.find("*/", at_ + 2);
                if (end == std::string_view::npos) fail_at(file_, line_, "comment without end; add */");
                for (; at_ < end; ++at_) line_ += text_[at_] == '\n';
                at_ = end + 2;
            } else {
                return;
            }
        }
    }
    void remark(std::string_view comment) {
        constexpr std::string_view kMark = " mergelane: registers ";
        if (!comment.starts_with(kMark)) return;
        comment.remove_prefix(kMark.size());
        const std::size_t space = comment.find(' ');
        if (space == std::string_view::npos) return;
        Remark found{comment.substr(0, space), 0};
        const std::string_view count = comment.substr(space + 1);
        std::from_chars(count.data(), count.data() + count.size(), found.registers);
        if (found.registers > 0 && found.registers <= 255) list_.remarks.push_back(found);
    }
    void word() {
        std::size_t end = at_ + 1;
        const bool directive = text_[at_] == '.';  // ".reg.b16" is two of them
        while (end < text_.size() && !(directive && text_[end] == '.')) {
            if (goes_on(text_[end])) {
                ++end;
            } else if (text_.substr(end, 2) == "::" && end + 2 < text_.size() && goes_on(text_[end + 2])) {
                end += 2;  // ".shared::cta", ".L2::128B"
            } else {
                break;
            }
        }
        push(TokenKind::word, at_, end);
        at_ = end;
    }
    void string() {
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size() || text_[end] != '"') fail_at(file_, line_, "string without end; add \"");
        push(TokenKind::string, at_ + 1, end);
        at_ = end + 1;
    }
    void number() {
        const std::string_view rest = text_.substr(at_);
        std::size_t end = at_;
        while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '.' || text_[end] == '_' ||
                                      ((text_[end] == '+' || text_[end] == '-') && exponent_before(end))))
            ++end;
        std::string_view digits = text_.substr(at_, end - at_);
        TokenKind kind = TokenKind::integer;
        std::uint64_t bits = 0;
        int base = 10;
        if (rest.size() > 1 && rest[0] == '0' && (rest[1] == 'f' || rest[1] == 'F' || rest[1] == 'd' || rest[1] == 'D')) {
            kind = rest[1] == 'f' || rest[1] == 'F' ? TokenKind::f32 : TokenKind::f64;
            base = 16;
            digits.remove_prefix(2);
            if (digits.size() != (kind == TokenKind::f32 ? 8u : 16u)) bad_number(rest);
        } else if (rest.starts_with("0x") || rest.starts_with("0X")) {
            base = 16;
            digits.remove_prefix(2);
        } else if (rest.starts_with("0b") || rest.starts_with("0B")) {
            base = 2;
            digits.remove_prefix(2);
        } else if (digits.find_first_of(".eE") != std::string_view::npos) {
            double value = 0;
            const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
            if (error != std::errc{} || stop != digits.data() + digits.size()) bad_number(rest);
            push(TokenKind::f64, at_, end, std::bit_cast<std::uint64_t>(value));
            at_ = end;
            return;
        } else if (digits.size() > 1 && digits[0] == '0') {
            base = 8;
        }
        if (kind == TokenKind::integer && !digits.empty() && digits.back() == 'U') digits.remove_suffix(1);
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, base);
        if (digits.empty() || error != std::errc{} || stop != digits.data() + digits.size()) bad_number(rest);
        push(kind, at_, end, bits);
        at_ = end;
    }
    bool exponent_before(std::size_t end) const {
        if (end == at_ || (text_[end - 1] != 'e' && text_[end - 1] != 'E')) return false;
        return text_[at_] != '0' || (at_ + 1 < text_.size() && text_[at_ + 1] == '.');  // not within 0x1e, 0f..., 0d...
    }
    [[noreturn]] void bad_number(std::string_view rest) const {
        fail_at(file_, line_, "{} is not a number PTX knows; write 42, 0x2a, 0f3F800000 or 0d3FF0000000000000",
                in_quotes(rest.substr(0, std::min<std::size_t>(rest.find_first_of(" \t\r\n,;]}"), 24))));
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
    std::uint32_t line_ = 1;
    TokenList list_;
};

}  // namespace

TokenList tokenize(std::string_view text, const std::string& file_name) {
    return Lexer(text, file_name).run();
}

std::string in_quotes(std::string_view word) {
    std::string out = "'";
    for (const char c : word.substr(0, 80)) out += c >= ' ' && c < 127 ? c : '?';
    if (word.size() > 80) out += "...";
    return out + "'";
}

}  // namespace mergelane::ptx
