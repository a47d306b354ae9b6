// SPDX-License-Identifier: MIT
// The names of all statistics, for those who must know them without a run: the reference page, tables of prices, tests.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.hpp"
#include "sim/built_in.hpp"

namespace mergelane {

/// Every statistic that some machine can have, once, in the order of the stations and with value 0: those of all presets, made small,
/// with every mechanism switched on and every choice tried. Throws InputError when such a machine contradicts itself.
std::vector<StatValue> all_statistics(const std::vector<std::filesystem::path>& preset_dirs, const Registry& registry = built_in());

}  // namespace mergelane
