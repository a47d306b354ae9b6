// SPDX-License-Identifier: MIT
#include "config/published_costs.hpp"

#include "config/config.hpp"
#include "sim/declared.hpp"

namespace mergelane {

std::vector<Publication> publications(const Registry& registry) {
    std::vector<Publication> list;
    for (const auto& section : registry.sections().list()) {
        if (std::optional<Publication> paper = section->publication()) list.push_back(std::move(*paper));
    }
    return list;
}

std::vector<Structure> structures_of(const Publication& paper, const std::vector<std::filesystem::path>& preset_dirs,
                                     const Registry& registry) {
    std::vector<Structure> list;
    if (paper.machine.empty()) return list;
    for (const Structure& structure : structures_of(load_config(paper.machine, paper.overrides, preset_dirs, registry).spec))
        list.push_back(structure.of_owner());
    return list;
}

}  // namespace mergelane
