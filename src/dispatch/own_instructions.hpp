// SPDX-License-Identifier: MIT
// What transforms add to a kernel.
#pragma once

#include <string_view>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

/// So many instructions, each of which needs the one before; two of eight or more are divisions. Takes a register behind the kernel's own.
std::vector<StaticInst> address_arithmetic(KernelInfo& info, std::uint32_t count);

/// The lanes that the warp has; the last one of a CTA may have fewer.
std::uint32_t lanes_of(const KernelInfo& info, std::uint32_t warp);

/// All of them, by all lanes that the warp has.
Run run_of(const std::vector<StaticInst>& instructions, const KernelInfo& info, std::uint32_t warp);

/// Throws InputError for a kernel whose CTAs depend on where they are placed: under a transform that is not where it was meant.
void refuse_if_placed(const KernelSource& kernel, std::string_view transform);

}  // namespace mergelane
