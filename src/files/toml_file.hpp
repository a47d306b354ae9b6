// SPDX-License-Identifier: MIT
// What all readers of TOML files share: parsing that survives any file, and complaints that name file and line.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace mergelane {

struct TomlProblem {
    std::uint32_t line = 1;
    std::string text;
};

/// The table a text stands for, or why it stands for none.
std::optional<toml::table> parse_toml(std::string_view text, TomlProblem& problem);

/// A file that is read whole or refused. Every complaint is an InputError that begins with file and line.
class TomlFile {
public:
    explicit TomlFile(const std::filesystem::path& path);

    const std::string& name() const { return name_; }
    const toml::table& root() const { return root_; }

    static std::uint32_t line(const toml::node& node);
    [[noreturn]] void fail(const toml::node& at, std::string_view what) const;
    /// Refuses keys that are not among these.
    void allow(const toml::table& table, std::initializer_list<std::string_view> keys) const;

private:
    std::string name_;
    toml::table root_;
};

}  // namespace mergelane
