// SPDX-License-Identifier: MIT
// Collects the declarations of a machine's mechanisms.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/metrics.hpp"
#include "core/structure.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane {

/// Hardware structures of the enabled mechanisms.
std::vector<Structure> structures_of(const MachineSpec& spec);

/// The networks: those a fabric declares, or one per direction between SM clusters and slices.
std::vector<CrossbarSet> networks_of(const MachineSpec& spec);

/// Description of the machine for reports: "L1" and "16 KiB, 4 ways, ...".
std::vector<std::pair<std::string, std::string>> machine_description(const MachineSpec& spec);

/// Metrics of the enabled mechanisms, from the statistics of a run.
std::vector<Metric> metrics_of(const MachineSpec& spec, const RunResult& result);

}  // namespace mergelane
