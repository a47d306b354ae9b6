// SPDX-License-Identifier: MIT
// Names of all statistics without a run, for the reference page, energy tables and tests.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.hpp"
#include "sim/built_in.hpp"

namespace mergelane {

/// Every statistic of any machine, once, in the order of the memory path and with value 0: from all presets, reduced in size, with
/// every mechanism enabled and every choice tried. Throws InputError if such a machine is inconsistent.
std::vector<StatValue> all_statistics(const std::vector<std::filesystem::path>& preset_dirs, const Registry& registry = built_in());

}  // namespace mergelane
