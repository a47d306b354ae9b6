// SPDX-License-Identifier: MIT
// Common TOML reader: robust parsing, typed values, and errors with file and line.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/toml_text.hpp"

namespace mergelane {

struct TomlProblem {
    std::uint32_t line = 1;
    std::string text;
};

/// The parsed table, or the reason why parsing failed.
std::optional<toml::table> parse_toml(std::string_view text, TomlProblem& problem);

/// A table of a file. Readers request every known key; done() rejects the others. Every error is an InputError that begins with file
/// and line.
class TomlTable {
public:
    static constexpr std::size_t kMaxEntries = 256;  ///< of one kind in one file, unless the reader says otherwise
    static constexpr std::size_t kMaxName = 80;
    using UseEntry = std::function<void(const std::string& name, const toml::node& value)>;

    /// `file` and `table` must stay; `name` is what complaints call it, for example "[[event]]".
    TomlTable(const toml::table& table, const std::string& file, std::string name) : table_(&table), file_(&file), name_(std::move(name)) {}

    std::string where() const { return place(*table_); }
    std::string where(std::string_view key) const;
    std::string place(const toml::node& node) const;
    [[noreturn]] void fail(const toml::node& at, std::string_view what) const { fail_at(place(at), what); }
    [[noreturn]] void fail(std::string_view key, std::string_view what) const { fail_at(where(key), what); }

    const toml::node* node(std::string_view key, bool required);
    const toml::node& need(std::string_view key) { return *node(key, true); }
    bool has(std::string_view key) { return node(key, false) != nullptr; }

    std::string text(std::string_view key, bool required = true, std::string_view otherwise = "");
    std::string text_of(const toml::node& found, std::string_view key) const;
    /// A text that is one of these.
    std::string one_of(std::string_view key, std::string_view what, std::span<const std::string_view> known);
    /// A text or a list of texts.
    std::vector<std::string> texts(std::string_view key, bool required);
    void each_text(std::string_view key, bool required, const std::function<void(const std::string& text, const toml::node& at)>& use);
    bool flag(std::string_view key, bool otherwise);
    std::optional<double> number(std::string_view key);
    double number(std::string_view key, double least, double most);
    std::uint64_t whole(std::string_view key, std::uint64_t least, std::uint64_t most,
                        std::optional<std::uint64_t> otherwise = std::nullopt);
    std::uint64_t whole_of(const toml::node& found, std::string_view key, std::uint64_t least, std::uint64_t most) const;

    /// A table in this one; `name` is what complaints call it.
    TomlTable inner(const toml::node& node, std::string name) const;
    /// `use` with the table `key`, if there is one, which must hold nothing else than what `use` asks for.
    void inside(std::string_view key, const std::function<void(TomlTable&)>& use);
    /// Entries of the table `key` in the order they are written.
    void entries(std::string_view key, bool required, const UseEntry& use, std::size_t most = kMaxEntries);
    void in_order(const toml::table& table, const UseEntry& use, std::size_t most = kMaxEntries) const;
    /// Of [[key]]; each must hold nothing else than what `use` asks for.
    template <typename Table = TomlTable, typename Use>
    void each(std::string_view key, const Use& use, std::size_t most = kMaxEntries) {
        for (const toml::table* entry : tables(key, most)) {
            Table table(*entry, *file_, "[[" + std::string(key) + "]]");
            use(table);
            table.done();
        }
    }
    void done() const;

private:
    std::vector<const toml::table*> tables(std::string_view key, std::size_t most);

    const toml::table* table_;
    const std::string* file_;
    std::string name_;
    std::vector<std::string> asked_;
};

/// A file that is read whole or refused.
class TomlFile {
public:
    explicit TomlFile(const std::filesystem::path& path);
    TomlFile(std::string_view text, std::string name) : name_(std::move(name)) { parse(text); }

    const std::string& name() const { return name_; }
    const toml::table& root() const { return root_; }
    TomlTable table(std::string name) const { return {root_, name_, std::move(name)}; }

private:
    void parse(std::string_view text);

    std::string name_;
    toml::table root_;
};

}  // namespace mergelane
