// SPDX-License-Identifier: MIT
// Reads machine configurations: TOML presets, layered with `base` and with key=value overrides.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/machine_spec.hpp"

namespace mergelane {

/// Origin of a value.
struct Origin {
    std::string where;  ///< "gpus/icc60.toml:12", "--set" or "default"
    std::string note;   ///< the comment after the value: "P Table 1" (published), "R ..." (reasoned choice), or empty
};

struct LoadedConfig {
    MachineSpec spec;
    std::map<std::string, Origin> origins;  ///< by dotted key; keys not listed have their default
    std::string description;                ///< one line about the preset
    std::string source;                     ///< hardware or paper the machine models
};

/// `name_or_path`: a preset ("icc60") looked up in `preset_dirs`, or a path to a .toml file. `overrides`: "a.b=value",
/// applied last, in order. Throws InputError whose text names file, line, cause and remedy, all problems of the input
/// together (the first ten). `registry` holds choices and sections; it must outlive the result.
LoadedConfig load_config(const std::string& name_or_path, std::span<const std::string> overrides,
                         const std::vector<std::filesystem::path>& preset_dirs, const Registry& registry = built_in());

/// Like load_config, for text in memory; `name` replaces the file name in messages.
LoadedConfig parse_config(std::string_view text, const std::string& name, std::span<const std::string> overrides,
                          const std::vector<std::filesystem::path>& preset_dirs, const Registry& registry = built_in());

/// The choice that activates a key: lsu.front = "warp_pool".
std::string wanted(const Belonging& belongs);

struct PresetInfo {
    std::string name;
    std::string description;
    std::filesystem::path path;
};
/// Presets found in the directories, sorted by name.
std::vector<PresetInfo> list_presets(const std::vector<std::filesystem::path>& preset_dirs);

/// $MERGELANE_GPUS if set, else the installed data directory next to the executable, else gpus/ of the source tree.
std::vector<std::filesystem::path> default_preset_dirs();

}  // namespace mergelane
