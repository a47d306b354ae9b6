// SPDX-License-Identifier: MIT
#include "sim/declared.hpp"

#include "cluster/cluster_declarations.hpp"

namespace mergelane {

std::vector<Structure> structures_of(const MachineSpec& spec) {
    Structures structures;
    cluster_structures(spec.cluster, facts(spec), structures);
    return std::move(structures).list();
}

}  // namespace mergelane
