// SPDX-License-Identifier: MIT
// CTAs of one lane that all read the one line of their SM: whether a CTA finds what those before it on its SM have fetched. Only the SM
// tells apart what they read, so nothing is shared between SMs.
#pragma once

#include <memory>

#include "core/kernel.hpp"

namespace mergelane {

/// CTA number n begins with n times `divisions` divisions, each of which needs the one before, so that CTAs do not all come at once.
std::unique_ptr<Workload> make_revisit(std::uint32_t ctas, std::uint32_t divisions, std::uint32_t kernels = 1);

}  // namespace mergelane
