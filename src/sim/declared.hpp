// SPDX-License-Identifier: MIT
// What the mechanisms of a machine declare about themselves, collected.
#pragma once

#include <vector>

#include "core/metrics.hpp"
#include "core/structure.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane {

/// Hardware of the mechanisms that are on.
std::vector<Structure> structures_of(const MachineSpec& spec);

/// The networks, as a mechanism has declared them; empty: one crossbar each way between clusters and slices.
std::vector<CrossbarSet> crossbars_of(const MachineSpec& spec);

/// Figures of the mechanisms that are on, from the statistics of a run.
std::vector<Metric> metrics_of(const MachineSpec& spec, const RunResult& result);

}  // namespace mergelane
