// SPDX-License-Identifier: MIT
// Small examples that papers give, computed when a study's file asks for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/machine_spec.hpp"

namespace mergelane::study {

/// Incorrect partitions of CTAs into CTA clusters, of Mergelane's mapping or of the CTA-clustering paper's equations as printed: of the
/// 16,000 pairs of up to 40 clusters and 400 tasks, how many fail. Of what was printed a pair fails if the inverse does not lead back to
/// some task; equation 3, for as many tasks in each cluster, is not treated apart, and ranges are not checked. Throws InputError for an
/// unknown kind.
std::uint32_t mapping_failures(std::string_view kind);

/// The small machine on which papers illustrate CTA placement.
struct PlacementShape {
    std::uint32_t clusters, sms_per_cluster, contexts_per_sm;
    std::uint64_t ctas;
};
/// "1,5 | 3,7 | 2,6 | 4,8": the CTAs, counted from 1, that each SM has received once all contexts were filled and CTAs 1 to `ended` have
/// ended, one after another. Throws InputError for a policy there is not.
std::string placed(std::string_view policy, const PlacementShape& shape, std::uint64_t ended);

/// Every CTA reads its SM's line, turnaround after turnaround: measures which loads miss.
struct Revisit {
    double latency = 0;       ///< core cycles; mean load of the last turnaround
    double slow = 0;          ///< loads per SM that did not find their line in the L1
    double transactions = 0;  ///< 32-byte reads of the L2, per SM
};
/// `divisions`: as many come before the load of CTA n, times n.
Revisit revisit(const MachineSpec& machine, std::uint32_t turnarounds, std::uint32_t divisions);

}  // namespace mergelane::study
