// SPDX-License-Identifier: MIT
// Streaming loads that software sends past the L1, so that they leave it to the others (clustering.bypass).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

/// Program counters with commas or spaces between them, decimal or as 0x40, in ascending order; "none": no such thing. Throws InputError.
std::vector<std::uint32_t> pc_list(std::string_view text);

/// The kernel with the global loads at these program counters past the L1; `kernel` outlives it. nullptr: as it is, nothing is listed.
std::unique_ptr<KernelSource> past_l1(const KernelSource& kernel, std::vector<std::uint32_t> pcs);

}  // namespace mergelane
