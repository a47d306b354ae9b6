// SPDX-License-Identifier: MIT
#include "sim/declared.hpp"

#include "cluster/cluster_declarations.hpp"

namespace mergelane {

std::vector<Structure> structures_of(const MachineSpec& spec) {
    Structures structures;
    cluster_structures(spec.cluster, facts(spec), structures);
    return std::move(structures).list();
}

std::vector<Metric> metrics_of(const MachineSpec& spec, const RunResult& result) {
    const MachineFacts machine = facts(spec);
    Metrics metrics([&](std::string_view name) { return result.stat(name); }, machine, result.cycles);
    cluster_metrics(spec.cluster, metrics);
    return metrics.list();
}

}  // namespace mergelane
