// SPDX-License-Identifier: MIT
// Clusters of CTAs: what a launch and a kernel's attributes say about them.
#pragma once

#include "runtime.hpp"

namespace mergelane::cudart {

/// What the attributes of a launch say, as far as they have an effect.
LaunchKind launch_kind(const LaunchConfiguration& config);
/// cudaFuncSetAttribute; false if the attribute does not concern clusters. Throws CudaError for a wrong value.
bool set_cluster_attribute(Runtime& runtime, Kernel& kernel, int attribute, int value);

}  // namespace mergelane::cudart
