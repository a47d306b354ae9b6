// SPDX-License-Identifier: MIT
// Locations of installed data files: presets, kernels, energy tables, studies, published numbers.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane {

/// The existing ones of, in this order: the paths of the environment variable (separated by colons), `installed` in the data
/// directory that MERGELANE_DATA names, `installed` in the ones next to the executable and to the shared library that this is linked
/// into, `source` in the source tree the program was built from.
std::vector<std::filesystem::path> data_paths(const char* variable, std::string_view installed, std::string_view source);
/// The entries of a directory in any order; none if it does not exist. Throws InputError if it cannot be read: that must not go unnoticed.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& dir);
/// The .toml files of these directories by their names without the ending; of equal names the first counts.
std::map<std::string, std::filesystem::path> toml_files(const std::vector<std::filesystem::path>& dirs);

}  // namespace mergelane
