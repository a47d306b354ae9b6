// SPDX-License-Identifier: MIT
#include "noc/router_unit.hpp"

#include "core/registry.hpp"
#include "noc/packet_coalescing_spec.hpp"

namespace mergelane {

// A new unit is its own files and its line here.
void add_router_units(Registry& registry) {
    registry.add_section<PacketCoalescingSpec>();
}

void add_enabled_units(const RouterContext& context) {
    for (const RouterUnitSection* declared : context.sections.enabled<RouterUnitSection>()) {
        if (auto unit = declared->make(context)) context.mesh.add_unit(std::move(unit));
    }
}

}  // namespace mergelane
