// SPDX-License-Identifier: MIT
// Single-lane CTAs that all read the one line of their SM: tests whether a CTA reuses data that earlier CTAs on its SM fetched. The address
// depends only on the SM, so nothing is shared between SMs.
#pragma once

#include <memory>

#include "core/kernel.hpp"

namespace mergelane {

/// CTA n begins with n times `divisions` dependent divisions, so that CTAs do not all arrive at once.
std::unique_ptr<Workload> make_revisit(std::uint32_t ctas, std::uint32_t divisions, std::uint32_t kernels = 1);

}  // namespace mergelane
