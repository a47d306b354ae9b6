// SPDX-License-Identifier: MIT
// Instructions that transforms add to a kernel.
#pragma once

#include <string_view>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

/// A chain of dependent instructions; with eight or more, two are divisions. Uses one register beyond those of the kernel.
std::vector<StaticInst> address_arithmetic(KernelInfo& info, std::uint32_t count);

/// The lanes of the warp; the last warp of a CTA may have fewer.
std::uint32_t lanes_of(const KernelInfo& info, std::uint32_t warp);

/// All of these instructions, executed by all lanes of the warp.
Run run_of(const std::vector<StaticInst>& instructions, const KernelInfo& info, std::uint32_t warp);

/// Throws InputError for a kernel whose CTAs depend on their placement: a transform would change it.
void refuse_if_placed(const KernelSource& kernel, std::string_view transform);

}  // namespace mergelane
