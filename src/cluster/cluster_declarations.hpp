// SPDX-License-Identifier: MIT
// What a cluster's mechanisms declare about themselves: the hardware they need.
#pragma once

#include "cluster/cluster_spec.hpp"
#include "core/result.hpp"
#include "core/structure.hpp"

namespace mergelane {

void cluster_structures(const ClusterSpec& spec, const MachineFacts& machine, Structures& structures);

}  // namespace mergelane
