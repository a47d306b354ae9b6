// SPDX-License-Identifier: MIT
// The table of launches a timed program leaves behind.
#pragma once

#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "core/result.hpp"

namespace mergelane::cudart {

struct LaunchRow;

/// Adds a launch to the row of its like, or begins one.
void add_launch(std::vector<LaunchRow>& rows, const KernelInfo& info, const KernelResult& result);
std::string launch_table(const std::vector<LaunchRow>& rows, const RunResult& result);

}  // namespace mergelane::cudart
