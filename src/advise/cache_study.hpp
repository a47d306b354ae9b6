// SPDX-License-Identifier: MIT
// What the caches of a machine make of a workload's accesses, without timing: traffic, what SMs ask for twice, and what agents by columns
// would change. Metrics of a profile.
#pragma once

#include "advise/prediction.hpp"
#include "profile/profile.hpp"

namespace mergelane {

/// Groups `caches`, `shared_misses` and `agents`. `progress`: share of the work; an exception ends the study. Throws InputError as
/// forecast() does.
std::vector<ProfileMetric> study_caches(const MachineSpec& spec, const OpenWorkload& open, const std::function<void(double)>& progress);

}  // namespace mergelane
