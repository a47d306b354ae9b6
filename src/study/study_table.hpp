// SPDX-License-Identifier: MIT
// Tables of study files: typed values, and texts that are formulas.
#pragma once

#include "files/toml_file.hpp"
#include "formula/expression.hpp"

namespace mergelane::study {

class StudyTable : public TomlTable {
public:
    using TomlTable::TomlTable;

    Formula wording(std::string_view key, bool required = true, std::string_view otherwise = "") {
        const std::string words = text(key, required, otherwise);
        return parse_wording(words, where(key));
    }
    /// A number or a text with an expression.
    std::optional<Formula> expression(std::string_view key);
    /// As expression(); a single word is the identifier of a published number.
    std::optional<Formula> published(std::string_view key);
    std::vector<Formula> sweeps(std::string_view key, bool required) {
        std::vector<Formula> list;
        each_text(key, required, [&](const std::string& text, const toml::node& at) { list.push_back(parse_sweep(text, place(at))); });
        return list;
    }
};

}  // namespace mergelane::study
