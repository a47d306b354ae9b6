// SPDX-License-Identifier: MIT
#include "files/toml_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/toml_text.hpp"

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

TomlFile::TomlFile(const std::filesystem::path& path) : name_(shown_path(path.string())) {
    std::string problem;
    const std::optional<std::string> text = read_text(path, problem);
    if (!text) throw InputError(fmt::format("{}: {}", name_, problem));
    TomlProblem where;
    std::optional<toml::table> table = parse_toml(*text, where);
    if (!table) throw InputError(fmt::format("{}:{}: {}", name_, where.line, where.text));
    root_ = std::move(*table);
}

std::uint32_t TomlFile::line(const toml::node& node) {
    return std::max<std::uint32_t>(node.source().begin.line, 1);
}

void TomlFile::fail(const toml::node& at, std::string_view what) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line(at), what));
}

void TomlFile::allow(const toml::table& table, std::initializer_list<std::string_view> keys) const {
    const std::vector<std::string_view> known(keys);
    for (const auto& [key, value] : table) {
        if (std::find(known.begin(), known.end(), key.str()) == known.end())
            fail(value, unknown_word("key", printable(key.str(), 60), known));
    }
}

}  // namespace mergelane
