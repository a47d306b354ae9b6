// SPDX-License-Identifier: MIT
#include "files/toml_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "files/input_file.hpp"

namespace mergelane {

std::optional<toml::table> parse_toml(std::string_view text, TomlProblem& problem) {
    if (text.size() > kMaxConfigBytes) {
        problem = {1, "larger than 1 MiB; check that this is the right file"};
        return std::nullopt;
    }
    const TextScan scan(text);
    if (scan.problem_line != 0) {
        problem = {scan.problem_line, std::string(scan.problem)};
        return std::nullopt;
    }
    try {
        return toml::parse(text);
    } catch (const toml::parse_error& error) {
        problem = {error.source().begin.line, fmt::format("not valid TOML: {}; correct this line", printable(error.description(), 200))};
        return std::nullopt;
    }
}

std::string TomlTable::place(const toml::node& node) const {
    return fmt::format("{}:{}", *file_, std::max<std::uint32_t>(1, node.source().begin.line));
}

std::string TomlTable::where(std::string_view key) const {
    const toml::node* found = table_->get(key);
    return found == nullptr ? where() : place(*found);
}

const toml::node* TomlTable::node(std::string_view key, bool required) {
    asked_.emplace_back(key);
    const toml::node* found = table_->get(key);
    if (found != nullptr || !required) return found;
    // Perhaps it is mistyped.
    std::vector<std::string_view> given;
    for (const auto& [name, value] : *table_) given.push_back(name.str());
    const std::string_view near = nearest(key, given);
    const bool mistyped = !near.empty() && std::find(asked_.begin(), asked_.end(), near) == asked_.end();
    fail_at(where(),
            fmt::format("{} has no '{}'; {}", name_, key,
                        mistyped ? fmt::format("is '{}' meant to be it?", printable(near, 60)) : fmt::format("add {} = ...", key)));
}

std::string TomlTable::text(std::string_view key, bool required, std::string_view otherwise) {
    const toml::node* found = node(key, required);
    return found == nullptr ? std::string(otherwise) : text_of(*found, key);
}

std::string TomlTable::text_of(const toml::node& found, std::string_view key) const {
    const auto* text = found.as_string();
    if (text == nullptr || text->get().size() > 4000)
        fail(found, fmt::format("'{}' must be a text in quotes, of at most 4000 characters", key));
    // Texts reach terminals, which would obey them.
    std::string line = text->get();
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    if (printable(line) != line) fail(found, fmt::format("'{}' contains a control character; remove it", key));
    return text->get();
}

std::string TomlTable::one_of(std::string_view key, std::string_view what, std::span<const std::string_view> known) {
    std::string value = text(key);
    if (std::find(known.begin(), known.end(), value) == known.end()) fail(key, unknown_word(what, printable(value, 60), known));
    return value;
}

std::vector<std::string> TomlTable::texts(std::string_view key, bool required) {
    std::vector<std::string> list;
    each_text(key, required, [&](const std::string& text, const toml::node&) { list.push_back(text); });
    return list;
}

void TomlTable::each_text(std::string_view key, bool required, const std::function<void(const std::string&, const toml::node&)>& use) {
    const toml::node* found = node(key, required);
    if (found == nullptr) return;
    if (found->is_string()) return use(text_of(*found, key), *found);
    const toml::array* array = found->as_array();
    if (array == nullptr || array->size() > kMaxEntries)
        fail(*found, fmt::format("'{}' must be a text or a list of at most {} texts", key, kMaxEntries));
    for (const toml::node& entry : *array) use(text_of(entry, key), entry);
}

bool TomlTable::flag(std::string_view key, bool otherwise) {
    const toml::node* found = node(key, false);
    if (found == nullptr) return otherwise;
    if (!found->is_boolean()) fail(*found, fmt::format("'{}' must be true or false, without quotes", key));
    return found->as_boolean()->get();
}

std::optional<double> TomlTable::number(std::string_view key) {
    const toml::node* found = node(key, false);
    if (found == nullptr) return std::nullopt;
    if (!found->is_number() || !std::isfinite(*found->value<double>()))
        fail(*found, fmt::format("'{}' must be a number, without quotes", key));
    return found->value<double>();
}

double TomlTable::number(std::string_view key, double least, double most) {
    const toml::node& found = need(key);
    if (!found.is_number()) fail(found, fmt::format("'{}' must be a number, without quotes", key));
    const double value = *found.value<double>();
    if (!(value >= least && value <= most)) fail(found, fmt::format("{} = {} is out of range; use {} to {}", key, value, least, most));
    return value;
}

std::uint64_t TomlTable::whole(std::string_view key, std::uint64_t least, std::uint64_t most, std::optional<std::uint64_t> otherwise) {
    const toml::node* found = node(key, !otherwise);
    return found == nullptr ? *otherwise : whole_of(*found, key, least, most);
}

std::uint64_t TomlTable::whole_of(const toml::node& found, std::string_view key, std::uint64_t least, std::uint64_t most) const {
    const auto value = found.value_exact<std::int64_t>();
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < least || static_cast<std::uint64_t>(*value) > most)
        fail(found, fmt::format("'{}' must be a whole number from {} to {}", key, least, most));
    return static_cast<std::uint64_t>(*value);
}

TomlTable TomlTable::inner(const toml::node& node, std::string name) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) fail(node, fmt::format("{} must be a table", name));
    return {*table, *file_, std::move(name)};
}

void TomlTable::inside(std::string_view key, const std::function<void(TomlTable&)>& use) {
    const toml::node* found = node(key, false);
    if (found == nullptr) return;
    TomlTable table = inner(*found, fmt::format("[{}]", key));
    use(table);
    table.done();
}

void TomlTable::entries(std::string_view key, bool required, const UseEntry& use, std::size_t most) {
    const toml::node* found = node(key, required);
    if (found == nullptr) return;
    const toml::table* table = found->as_table();
    if (table == nullptr) fail(*found, fmt::format("'{0}' must be a table; write [{0}]", key));
    in_order(*table, use, most);
}

void TomlTable::in_order(const toml::table& table, const UseEntry& use, std::size_t most) const {
    std::vector<std::pair<const toml::key*, const toml::node*>> list;
    for (const auto& [name, value] : table) list.emplace_back(&name, &value);
    if (list.size() > most) fail(table, fmt::format("has {} entries; use at most {}", list.size(), most));
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
        const toml::source_position x = a.first->source().begin, y = b.first->source().begin;
        return std::pair(x.line, x.column) < std::pair(y.line, y.column);
    });
    for (const auto& [name, value] : list) {
        if (name->str().empty() || name->str().size() > kMaxName || printable(name->str(), kMaxName) != name->str())
            fail(*value, fmt::format("'{}' is not a valid name; use 1 to {} printable characters", printable(name->str(), 40), kMaxName));
        use(std::string(name->str()), *value);
    }
}

std::vector<const toml::table*> TomlTable::tables(std::string_view key, std::size_t most) {
    std::vector<const toml::table*> list;
    const toml::node* found = node(key, false);
    if (found == nullptr) return list;
    const toml::array* array = found->as_array();
    if (array == nullptr || array->size() > most)
        fail(*found, fmt::format("'{0}' must be a list of at most {1} tables; write [[{0}]]", key, most));
    for (const toml::node& entry : *array) {
        if (!entry.is_table()) fail(entry, fmt::format("'{0}' must be a list of tables; write [[{0}]]", key));
        list.push_back(entry.as_table());
    }
    return list;
}

void TomlTable::done() const {
    in_order(*table_, [&](const std::string& key, const toml::node& value) {
        if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
            fail(value, unknown_name(fmt::format("key of {}", name_), key, asked_));
    });
}

TomlFile::TomlFile(const std::filesystem::path& path) : name_(shown_path(path.string())) {
    std::string problem;
    const std::optional<std::string> text = read_input(path, kMaxConfigBytes, problem);
    if (!text) fail_at(name_, problem);
    parse(*text);
}

void TomlFile::parse(std::string_view text) {
    TomlProblem problem;
    std::optional<toml::table> table = parse_toml(text, problem);
    if (!table) fail_at(fmt::format("{}:{}", name_, problem.line), problem.text);
    root_ = std::move(*table);
}

}  // namespace mergelane
