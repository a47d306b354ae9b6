// SPDX-License-Identifier: MIT
// Every CTA reads its SM's line, turnaround after turnaround: measures which loads miss.
#pragma once

#include <cstdint>

#include "sim/machine_spec.hpp"

namespace mergelane::study {

struct Revisit {
    double latency = 0;       ///< core cycles; mean load of the last turnaround
    double slow = 0;          ///< loads per SM that did not find their line in the L1
    double transactions = 0;  ///< 32-byte reads of the L2, per SM
};
/// `divisions`: as many come before the load of CTA n, times n.
Revisit revisit(const MachineSpec& machine, std::uint32_t turnarounds, std::uint32_t divisions);

}  // namespace mergelane::study
