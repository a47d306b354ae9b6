// SPDX-License-Identifier: MIT
// The table of launches printed after a timed program.
#pragma once

#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "core/result.hpp"

namespace mergelane::cudart {

struct LaunchRow;

/// Adds a launch to the matching row, or starts a new one.
void add_launch(std::vector<LaunchRow>& rows, const KernelInfo& info, const KernelResult& result);
std::string launch_table(const std::vector<LaunchRow>& rows, const RunResult& result);

}  // namespace mergelane::cudart
