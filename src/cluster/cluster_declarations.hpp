// SPDX-License-Identifier: MIT
// What a cluster's mechanisms declare about themselves: the hardware they need and what people want to read of them.
#pragma once

#include "cluster/cluster_spec.hpp"
#include "core/metrics.hpp"
#include "core/result.hpp"
#include "core/structure.hpp"

namespace mergelane {

void cluster_structures(const ClusterSpec& spec, const MachineFacts& machine, Structures& structures);
void cluster_metrics(const ClusterSpec& spec, Metrics& metrics);

}  // namespace mergelane
