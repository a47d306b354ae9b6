// SPDX-License-Identifier: MIT
// A machine full of CTAs that all read the line of their SM, turnaround after turnaround: who has to wait for it.
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
