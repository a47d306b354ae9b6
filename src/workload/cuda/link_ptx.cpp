// SPDX-License-Identifier: MIT
#include "workload/cuda/link_ptx.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>

#include "workload/ptx/lexer.hpp"

namespace mergelane::cuda {

namespace {

enum class Linkage { internal, declared, shared_definition, definition };

struct Symbol {
    std::string_view name;
    Linkage linkage = Linkage::internal;
    bool variable = false;
    std::size_t linkage_token = 0;  ///< of ".weak" or ".common"
};

/// What a unit declares outside of functions.
class UnitReader {
public:
    explicit UnitReader(const std::vector<ptx::Token>& tokens) : tokens_(tokens) {}

    std::vector<Symbol> symbols() {
        while (tokens_[at_].kind != ptx::TokenKind::end) item();
        return std::move(list_);
    }

private:
    bool at_end() const { return tokens_[at_].kind == ptx::TokenKind::end; }
    std::string_view text() const { return tokens_[at_].text; }
    void skip_line() {
        const std::uint32_t line = tokens_[at_].line;
        while (!at_end() && tokens_[at_].line == line) ++at_;
    }
    void skip_group(std::string_view open, std::string_view close) {
        std::uint32_t depth = 0;
        while (!at_end()) {
            if (tokens_[at_].is(open)) ++depth;
            if (tokens_[at_].is(close) && --depth == 0) {
                ++at_;
                return;
            }
            ++at_;
        }
    }
    /// Skips to the end of a declaration or over a body.
    void skip_rest() {
        while (!at_end()) {
            if (tokens_[at_].is("{")) return skip_group("{", "}");
            if (tokens_[at_++].is(";")) return;
        }
    }
    void item() {
        const std::string_view word = text();
        if (word == ".version" || word == ".target" || word == ".address_size" || word == ".loc" || word == ".file") return skip_line();
        Symbol symbol;
        for (;; ++at_) {
            if (text() == ".extern") {
                symbol.linkage = Linkage::declared;
            } else if (text() == ".visible") {
                symbol.linkage = Linkage::definition;
            } else if (text() == ".weak" || text() == ".common") {
                symbol.linkage = Linkage::shared_definition;
                symbol.linkage_token = at_;
            } else {
                break;
            }
        }
        const bool function = text() == ".func" || text() == ".entry";
        symbol.variable = text() == ".global" || text() == ".const" || text() == ".shared";
        if (!function && !symbol.variable) {
            if (!at_end()) ++at_;
            return skip_rest();
        }
        ++at_;
        // The name is the first word that is neither a directive nor in brackets.
        while (!at_end() && !tokens_[at_].is(";") && !tokens_[at_].is("{")) {
            if (tokens_[at_].is("(")) {
                skip_group("(", ")");
            } else if (tokens_[at_].kind == ptx::TokenKind::word && text()[0] != '.') {
                symbol.name = text();
                break;
            } else {
                ++at_;
            }
        }
        if (!symbol.name.empty()) list_.push_back(symbol);
        // Initial values stand in braces too, before the semicolon.
        if (symbol.variable) {
            while (!at_end() && !tokens_[at_++].is(";")) {
            }
            return;
        }
        skip_rest();
    }

    const std::vector<ptx::Token>& tokens_;
    std::size_t at_ = 0;
    std::vector<Symbol> list_;
};

/// Units number their source files independently.
constexpr std::uint64_t kFilesPerUnit = 1 << 16;

bool names_file(const std::vector<ptx::Token>& tokens, std::size_t at) {
    if (at == 0 || tokens[at].kind != ptx::TokenKind::integer || tokens[at].bits >= kFilesPerUnit) return false;
    const ptx::Token& word = tokens[at - 1];
    return word.line == tokens[at].line && (word.is(".file") || word.is(".loc") || word.is("inlined_at"));
}

}  // namespace

std::string link_ptx(const std::vector<std::string>& units, const std::string& where) {
    if (units.size() == 1) return units.front();
    std::string linked;
    // Globally visible functions are collected before names are assigned.
    std::vector<ptx::TokenList> tokens;
    std::vector<std::vector<Symbol>> symbols;
    std::set<std::string_view> open_names;
    for (const std::string& unit : units) {
        tokens.push_back(ptx::tokenize(unit, where));
        symbols.push_back(UnitReader(tokens.back().tokens).symbols());
        for (const Symbol& symbol : symbols.back()) {
            if (symbol.linkage != Linkage::internal) open_names.insert(symbol.name);
        }
    }
    std::set<std::string_view> taken;  // defined by an earlier unit
    for (std::size_t u = 0; u < units.size(); ++u) {
        std::map<std::string_view, std::string> renamed;
        std::set<std::size_t> now_extern;
        std::set<std::string_view> own;
        for (const Symbol& symbol : symbols[u]) {
            if (symbol.linkage == Linkage::declared) continue;
            const bool clash = taken.contains(symbol.name);
            own.insert(symbol.name);
            if (symbol.linkage == Linkage::internal && (clash || open_names.contains(symbol.name))) {
                renamed[symbol.name] = fmt::format("{}$unit{}", symbol.name, u + 1);
            } else if (symbol.linkage == Linkage::shared_definition && clash) {
                if (symbol.variable) now_extern.insert(symbol.linkage_token);
                if (!symbol.variable) renamed[symbol.name] = fmt::format("{}$unit{}", symbol.name, u + 1);
            }
        }
        taken.insert(own.begin(), own.end());
        std::size_t copied = 0;
        const std::string& unit = units[u];
        for (std::size_t t = 0; t < tokens[u].tokens.size(); ++t) {
            const ptx::Token& token = tokens[u].tokens[t];
            const auto replace = [&](std::string_view with) {
                const std::size_t at = static_cast<std::size_t>(token.text.data() - unit.data());
                linked.append(unit, copied, at - copied);
                linked += with;
                copied = at + token.text.size();
            };
            if (names_file(tokens[u].tokens, t)) replace(fmt::format("{}", token.bits + u * kFilesPerUnit));
            if (token.kind != ptx::TokenKind::word) continue;
            const auto found = renamed.find(token.text);
            if (found != renamed.end())
                replace(found->second);
            else if (now_extern.contains(t))
                replace(".extern");
        }
        linked.append(unit, copied, std::string::npos);
        linked += '\n';
    }
    return linked;
}

}  // namespace mergelane::cuda
