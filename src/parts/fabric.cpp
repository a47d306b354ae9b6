// SPDX-License-Identifier: MIT
#include "parts/fabric.hpp"

namespace mergelane {

const FabricSection* fabric_of(const Sections& sections) {
    for (const auto& section : sections.list()) {
        const auto* fabric = dynamic_cast<const FabricSection*>(section.get());
        if (fabric != nullptr && fabric->enabled()) return fabric;
    }
    return nullptr;
}

}  // namespace mergelane
