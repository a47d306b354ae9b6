// SPDX-License-Identifier: MIT
// What the published mechanisms cost in hardware: the structures they declare, at the sizes of their papers.
#pragma once

#include <filesystem>
#include <vector>

#include "core/structure.hpp"
#include "sim/built_in.hpp"

namespace mergelane {

/// Of all registered mechanisms that have a paper, in the order in which they were registered.
std::vector<Publication> publications(const Registry& registry = built_in());

/// What one owner has of each structure, on the machine of the paper.
std::vector<Structure> structures_of(const Publication& paper, const std::vector<std::filesystem::path>& preset_dirs,
                                     const Registry& registry = built_in());

}  // namespace mergelane
