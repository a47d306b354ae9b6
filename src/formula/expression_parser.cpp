// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.hpp"
#include "files/toml_text.hpp"
#include "formula/expression.hpp"
#include "formula/expression_node.hpp"

namespace mergelane::study {

namespace {

using Node = ExpressionNode;
using Kind = Node::Kind;

constexpr std::size_t kMaxLength = 2000;
constexpr std::uint32_t kMaxDepth = 24;
constexpr std::uint32_t kMaxNodes = 1000;
constexpr std::size_t kMaxNumber = 30;
constexpr std::string_view kKeywords[] = {"for", "where", "as"};

bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {
        if (text.size() > kMaxLength)
            fail(fmt::format("is {} characters long; use at most {}, and measures for its parts", text.size(), kMaxLength));
    }

    Node whole_expression() {
        Node node = expression();
        end();
        return node;
    }
    Node whole_sweep() {
        Node node = make(Kind::sweep);
        node.children.push_back(with_loops());
        if (keyword("as")) {
            node.children.push_back(quoted());
            if (symbol(",")) node.children.push_back(quoted());
        }
        end();
        return node;
    }
    Node whole_wording() { return wording('\0'); }

private:
    [[noreturn]] void fail(const std::string& what) const { throw InputError(what); }
    [[noreturn]] void unexpected(std::string_view wanted) const {
        const std::string_view rest = text_.substr(std::min(at_, text_.size()));
        fail(rest.empty() ? fmt::format("ends where {} is expected; complete it", wanted)
                          : fmt::format("has '{}' where {} is expected; correct it", printable(rest, 30), wanted));
    }

    Node make(Kind kind, std::string text = "") {
        if (++nodes_ > kMaxNodes) fail("is too long; split it into measures");
        Node node;
        node.kind = kind;
        node.text = std::move(text);
        return node;
    }

    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    }
    bool symbol(std::string_view mark) {
        skip();
        if (!text_.substr(at_).starts_with(mark)) return false;
        at_ += mark.size();
        return true;
    }
    std::string_view peek_word() {
        skip();
        std::size_t to = at_;
        if (to < text_.size() && starts_name(text_[to])) {
            while (to < text_.size() && (starts_name(text_[to]) || is_digit(text_[to]))) ++to;
        }
        return text_.substr(at_, to - at_);
    }
    bool keyword(std::string_view word) {
        if (peek_word() != word) return false;
        at_ += word.size();
        return true;
    }
    std::string name(std::string_view wanted = "a name") {
        const std::string_view word = peek_word();
        if (!is_name(word)) unexpected(wanted);
        at_ += word.size();
        return std::string(word);
    }
    void end() {
        skip();
        if (at_ != text_.size()) unexpected("the end");
    }

    Node expression() {
        if (++depth_ > kMaxDepth) fail(fmt::format("is nested deeper than {}; use measures for its parts", kMaxDepth));
        Node left = sum();
        for (const char* mark : {"<=", ">=", "==", "!=", "<", ">"}) {
            if (!symbol(mark)) continue;
            left = binary(mark, std::move(left), sum());
            break;
        }
        --depth_;
        return left;
    }
    Node binary(const char* mark, Node left, Node right) {
        Node node = make(Kind::binary, mark);
        node.children.push_back(std::move(left));
        node.children.push_back(std::move(right));
        return node;
    }
    /// A chain is as deep as it is long, so its length counts as depth.
    Node chain(const char* first, const char* second, Node (Parser::*operand)()) {
        Node left = (this->*operand)();
        std::uint32_t links = 0;
        for (;;) {
            const char* mark = symbol(first) ? first : symbol(second) ? second : nullptr;
            if (mark == nullptr) return left;
            if (++links > kMaxDepth) fail(fmt::format("has more than {} operators in a row; use sum() or measures", kMaxDepth));
            left = binary(mark, std::move(left), (this->*operand)());
        }
    }
    Node sum() { return chain("+", "-", &Parser::product); }
    Node product() { return chain("*", "/", &Parser::unary); }
    Node unary() {
        if (!symbol("-")) return primary();
        if (++depth_ > kMaxDepth) fail("has too many signs in a row; remove some");
        Node operand = unary();
        --depth_;
        Node node = make(Kind::negative, "-");
        node.children.push_back(std::move(operand));
        return node;
    }
    Node primary() {
        skip();
        if (symbol("(")) {
            Node inner = expression();
            if (!symbol(")")) unexpected("')'");
            return inner;
        }
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        if (c == '\'') return quoted();
        if (is_digit(c) || c == '.') return number();
        Node node = make(Kind::name, name("a number, a name or a text in single quotes"));
        if (!symbol("(")) return node;
        node.kind = Kind::call;
        if (symbol(")")) return node;
        do {
            node.children.push_back(with_loops());
        } while (symbol(","));
        if (!symbol(")")) unexpected("',' or ')'");
        return node;
    }
    Node number() {
        const std::string_view rest = text_.substr(at_, kMaxNumber);
        double value = 0;
        const auto [to, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        if (problem != std::errc() || !std::isfinite(value)) unexpected("a number");
        at_ += static_cast<std::size_t>(to - rest.data());
        Node node = make(Kind::number);
        node.number = value;
        return node;
    }
    /// VALUE {for LIST} [where CONDITION]
    Node with_loops() {
        Node value = expression();
        std::vector<std::string> names;
        while (keyword("for")) names.push_back(name());
        if (names.empty()) return value;
        Node node = make(Kind::loop);
        node.names = std::move(names);
        node.children.push_back(std::move(value));
        if (keyword("where")) {
            node.conditional = true;
            node.children.push_back(expression());
        }
        return node;
    }
    Node quoted() {
        if (!symbol("'")) unexpected("a text in single quotes");
        Node node = wording('\'');
        ++at_;  // its end
        return node;
    }
    /// Up to `close` or, when that is 0, the end.
    Node wording(char close) {
        if (++depth_ > kMaxDepth) fail(fmt::format("is nested deeper than {}; use measures for its parts", kMaxDepth));
        Node node = make(Kind::wording);
        std::string literal;
        const auto flush = [&] {
            if (!literal.empty()) node.children.push_back(make(Kind::literal, literal));
            literal.clear();
        };
        for (;; ++at_) {
            if (at_ >= text_.size()) {
                if (close != '\0') unexpected("the closing quote");
                break;
            }
            const char c = text_[at_];
            if (close != '\0' && c == close) break;
            if (c == '}') fail("has '}' without '{'; remove it");
            if (c != '{') {
                literal += c;
                continue;
            }
            flush();
            ++at_;
            Node inner = expression();
            if (symbol(":")) inner.format = format();
            skip();
            if (at_ >= text_.size() || text_[at_] != '}') unexpected("'}'");
            node.children.push_back(std::move(inner));
        }
        flush();
        --depth_;
        return node;
    }
    std::string format() {
        skip();
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        if (!is_digit(c) && c != '+') unexpected("a number of digits or '+'");
        ++at_;
        return std::string(1, c);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::uint32_t depth_ = 0;
    std::uint32_t nodes_ = 0;
};

Formula parsed(std::string_view text, const std::string& where, Node (Parser::*rule)()) {
    try {
        Parser parser(text);
        return {where, std::string(text), std::make_shared<const Node>((parser.*rule)())};
    } catch (const InputError& error) {
        throw InputError(fmt::format("{}: \"{}\" {}", where, printable(text, 80), error.what()));
    }
}

bool mentions(const Node& node, std::string_view name) {
    return (node.kind == Kind::name && node.text == name) ||
           std::any_of(node.children.begin(), node.children.end(), [&](const Node& child) { return mentions(child, name); });
}

}  // namespace

bool is_name(std::string_view word) {
    return !word.empty() && starts_name(word.front()) && word.size() <= 64 &&
           std::all_of(word.begin(), word.end(), [](char c) { return starts_name(c) || is_digit(c); }) &&
           std::find(std::begin(kKeywords), std::end(kKeywords), word) == std::end(kKeywords);
}

Formula parse_expression(std::string_view text, const std::string& where) {
    return parsed(text, where, &Parser::whole_expression);
}
Formula parse_sweep(std::string_view text, const std::string& where) {
    return parsed(text, where, &Parser::whole_sweep);
}
Formula parse_wording(std::string_view text, const std::string& where) {
    return parsed(text, where, &Parser::whole_wording);
}

std::vector<std::string> names_in(const Formula& wording) {
    std::vector<std::string> names;
    for (const Node& part : wording.root->children) {
        if (part.kind == Kind::name && std::find(names.begin(), names.end(), part.text) == names.end()) names.push_back(part.text);
    }
    return names;
}

bool mentions(const Formula& formula, std::string_view name) {
    return mentions(*formula.root, name);
}

}  // namespace mergelane::study
