// SPDX-License-Identifier: MIT
// What the mechanisms of a machine declare about themselves, collected.
#pragma once

#include <vector>

#include "core/structure.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane {

/// Hardware of the mechanisms that are on.
std::vector<Structure> structures_of(const MachineSpec& spec);

}  // namespace mergelane
