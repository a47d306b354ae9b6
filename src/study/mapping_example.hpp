// SPDX-License-Identifier: MIT
// Counts incorrect partitions of CTAs into CTA clusters: of Mergelane's mapping, and of the CTA-clustering paper's equations as printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane::study {

/// What can be asked about.
const std::vector<std::string>& mapping_kinds();
/// Of the 16,000 pairs of up to 40 clusters and 400 tasks, how many fail. Of what was printed a pair fails if the inverse does not lead
/// back to some task; equation 3, for as many tasks in each cluster, is not treated apart, and ranges are not checked. Throws InputError.
std::uint32_t mapping_failures(std::string_view kind);

}  // namespace mergelane::study
