// SPDX-License-Identifier: MIT
// Streaming loads that bypass the L1, so that it holds data with reuse (clustering.bypass).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

/// Program counters separated by commas or spaces, decimal or as 0x40, in ascending order; "none": empty. Throws InputError.
std::vector<std::uint32_t> pc_list(std::string_view text);

/// The kernel with L1 bypass for the global loads at these program counters; `kernel` outlives it. nullptr: unchanged, nothing is listed.
std::unique_ptr<KernelSource> past_l1(const KernelSource& kernel, std::vector<std::uint32_t> pcs);

}  // namespace mergelane
