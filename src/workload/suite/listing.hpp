// SPDX-License-Identifier: MIT
// The list of benchmarks as text.
#pragma once

#include <string>

#include "workload/suite/suite.hpp"

namespace mergelane::suite {

/// All workloads with their origin, the papers that use them, and what they launch at `size`.
std::string list_workloads(Size size);

}  // namespace mergelane::suite
