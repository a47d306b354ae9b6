// SPDX-License-Identifier: MIT
// What the mechanisms of a machine declare about themselves, collected.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/metrics.hpp"
#include "core/structure.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane {

/// Hardware of the mechanisms that are on.
std::vector<Structure> structures_of(const MachineSpec& spec);

/// The networks, as a fabric declares them, or one each way between clusters and slices.
std::vector<CrossbarSet> networks_of(const MachineSpec& spec);

/// What the machine is made of, for people: "L1" and "16 KiB, 4 ways, ...".
std::vector<std::pair<std::string, std::string>> machine_description(const MachineSpec& spec);

/// Figures of the mechanisms that are on, from the statistics of a run.
std::vector<Metric> metrics_of(const MachineSpec& spec, const RunResult& result);

}  // namespace mergelane
