// SPDX-License-Identifier: MIT
// Reads the tables of study and campaign files, key by key, with errors that name file and line. Only for their readers.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/toml_text.hpp"
#include "formula/expression.hpp"

namespace mergelane::study {

inline constexpr std::size_t kMaxEntries = 256;  ///< of one kind in one file
inline constexpr std::size_t kMaxName = 80;

[[noreturn]] inline void fail(const std::string& where, const std::string& what) {
    throw InputError(fmt::format("{}: {}", where, what));
}

/// A table of a file. Every key that may be there is asked for; done() refuses the others.
class Section {
public:
    Section(const toml::table& table, const std::string& file, std::string name) : table_(table), file_(file), name_(std::move(name)) {}

    std::string where() const { return place(table_); }
    std::string place(const toml::node& node) const { return fmt::format("{}:{}", file_, std::max(1u, line(node))); }
    std::string where(const std::string& key) const {
        const toml::node* node = table_.get(key);
        return node == nullptr ? where() : place(*node);
    }

    const toml::node* node(const std::string& key, bool required) {
        asked_.push_back(key);
        const toml::node* found = table_.get(key);
        if (found == nullptr && required) fail(where(), fmt::format("{} has no '{}'; {}", name_, key, remedy(key)));
        return found;
    }
    std::string text(const std::string& key, bool required = true, std::string_view otherwise = "") {
        const toml::node* found = node(key, required);
        return found == nullptr ? std::string(otherwise) : text_of(*found, key);
    }
    std::string text_of(const toml::node& found, const std::string& key) const {
        const auto* text = found.as_string();
        if (text == nullptr || text->get().size() > 4000)
            fail(place(found), fmt::format("'{}' must be a text in quotes, of at most 4000 characters", key));
        return text->get();
    }
    bool flag(const std::string& key, bool otherwise) {
        const toml::node* found = node(key, false);
        if (found == nullptr) return otherwise;
        if (!found->is_boolean()) fail(place(*found), fmt::format("'{}' must be true or false, without quotes", key));
        return found->as_boolean()->get();
    }
    std::optional<double> number(const std::string& key) {
        const toml::node* found = node(key, false);
        if (found == nullptr) return std::nullopt;
        if (!found->is_number() || !std::isfinite(*found->value<double>()))
            fail(place(*found), fmt::format("'{}' must be a number, without quotes", key));
        return found->value<double>();
    }
    std::vector<std::string> texts(const std::string& key, bool required) {
        std::vector<std::string> list;
        for_texts(key, required, [&](const std::string& text, const std::string&) { list.push_back(text); });
        return list;
    }
    Formula wording(const std::string& key, bool required = true, std::string_view otherwise = "") {
        const std::string words = text(key, required, otherwise);
        return parse_wording(words, where(key));
    }
    /// A number or a text with an expression.
    std::optional<Formula> expression(const std::string& key) {
        const toml::node* found = node(key, false);
        if (found == nullptr) return std::nullopt;
        if (found->is_number()) return parse_expression(fmt::format("{}", found->value<double>().value_or(0)), place(*found));
        if (!found->is_string()) fail(place(*found), fmt::format("'{}' must be a number or an expression in quotes", key));
        return parse_expression(text_of(*found, key), place(*found));
    }
    /// As expression(); a single word is the identifier of a published number.
    std::optional<Formula> published(const std::string& key) {
        const toml::node* found = node(key, false);
        const auto* words = found == nullptr ? nullptr : found->as_string();
        const auto of_id = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        };
        if (words != nullptr && std::all_of(words->get().begin(), words->get().end(), of_id))
            return parse_expression(fmt::format("published('{}')", words->get()), place(*found));
        return expression(key);
    }
    std::vector<Formula> sweeps(const std::string& key, bool required) {
        std::vector<Formula> list;
        for_texts(key, required, [&](const std::string& text, const std::string& at) { list.push_back(parse_sweep(text, at)); });
        return list;
    }
    /// Entries of a table in the order they are written.
    template <typename Use>
    void entries(const std::string& key, bool required, const Use& use) {
        const toml::node* found = node(key, required);
        if (found == nullptr) return;
        const toml::table* table = found->as_table();
        if (table == nullptr) fail(place(*found), fmt::format("'{0}' must be a table; write [{0}]", key));
        in_order(*table, use);
    }
    template <typename Use>
    void in_order(const toml::table& table, const Use& use) const {
        std::vector<std::pair<const toml::key*, const toml::node*>> list;
        for (const auto& [name, value] : table) list.emplace_back(&name, &value);
        if (list.size() > kMaxEntries) fail(place(table), fmt::format("has {} entries; use at most {}", list.size(), kMaxEntries));
        std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
            const toml::source_position x = a.first->source().begin, y = b.first->source().begin;
            return std::pair(x.line, x.column) < std::pair(y.line, y.column);
        });
        for (const auto& [name, value] : list) {
            if (name->str().empty() || name->str().size() > kMaxName || printable(name->str(), kMaxName) != name->str())
                fail(place(*value), fmt::format("'{}' is no name; use 1 to {} printable characters", printable(name->str(), 40), kMaxName));
            use(std::string(name->str()), *value);
        }
    }
    /// Of [[key]].
    template <typename Use>
    void each(const std::string& key, const Use& use) {
        const toml::node* found = node(key, false);
        if (found == nullptr) return;
        const toml::array* array = found->as_array();
        if (array == nullptr || array->size() > kMaxEntries)
            fail(place(*found), fmt::format("'{0}' must be a list of at most {1} tables; write [[{0}]]", key, kMaxEntries));
        for (const toml::node& entry : *array) {
            const toml::table* table = entry.as_table();
            if (table == nullptr) fail(place(entry), fmt::format("'{0}' must be a list of tables; write [[{0}]]", key));
            Section section(*table, file_, fmt::format("[[{}]]", key));
            use(section);
            section.done();
        }
    }
    void done() const {
        in_order(table_, [&](const std::string& key, const toml::node& value) {
            if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
                fail(place(value), unknown_name(fmt::format("key of {}", name_), key, asked_));
        });
    }

private:
    /// A required key is missing, perhaps because it is mistyped.
    std::string remedy(const std::string& key) const {
        std::vector<std::string_view> given;
        for (const auto& [name, value] : table_) given.push_back(name.str());
        const std::string_view near = nearest(key, given);
        const bool mistyped = !near.empty() && std::find(asked_.begin(), asked_.end(), near) == asked_.end();
        return mistyped ? fmt::format("is '{}' meant to be it?", printable(near, 60)) : fmt::format("add {} = ...", key);
    }
    static std::uint32_t line(const toml::node& node) { return static_cast<std::uint32_t>(node.source().begin.line); }
    /// A text or a list of texts.
    template <typename Use>
    void for_texts(const std::string& key, bool required, const Use& use) {
        const toml::node* found = node(key, required);
        if (found == nullptr) return;
        if (found->is_string()) return use(text_of(*found, key), place(*found));
        const toml::array* array = found->as_array();
        if (array == nullptr || array->size() > kMaxEntries)
            fail(place(*found), fmt::format("'{}' must be a text or a list of at most {} texts", key, kMaxEntries));
        for (const toml::node& entry : *array) use(text_of(entry, key), place(entry));
    }

    const toml::table& table_;
    const std::string& file_;
    std::string name_;
    std::vector<std::string> asked_;
};

}  // namespace mergelane::study
