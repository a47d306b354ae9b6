// SPDX-License-Identifier: MIT
#include "cluster/cluster_unit.hpp"

#include "cluster/cluster_spec.hpp"
#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "cluster/network_ports_spec.hpp"

namespace mergelane {

// To add a unit: its own files and one line here. Meters come first, so that they see requests before they are merged.
void add_cluster_units(Registry& registry) {
    registry.add_section<ClusterSizesSpec>();
    registry.add_section<ClusterWidthSpec>();
    registry.add_section<NetworkPortsSpec>();
    registry.add_section<LocalitySpec>();
    registry.add_section<IccSpec>();
    registry.add_section<CoalescedCacheSpec>();
}

ClusterDelay cluster_delay(const Sections& sections) {
    ClusterDelay sum;
    for (const ClusterUnitSection* unit : sections.enabled<ClusterUnitSection>()) {
        sum.request += unit->request_delay();
        sum.reply += unit->reply_delay();
    }
    return sum;
}

std::vector<std::unique_ptr<ClusterUnit>> make_cluster_units(const ClusterContext& context) {
    std::vector<std::unique_ptr<ClusterUnit>> units;
    for (const ClusterUnitSection* unit : context.policies.sections().enabled<ClusterUnitSection>()) units.push_back(unit->make(context));
    return units;
}

}  // namespace mergelane
