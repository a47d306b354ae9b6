// SPDX-License-Identifier: MIT
// A workload whose kernels can be left out.
#pragma once

#include "core/kernel.hpp"

namespace mergelane {

/// Knows where a kernel ends before it is read: a trace or a recording, not a program that is executed.
class SkippableWorkload : public Workload {
public:
    /// Passes over the next kernel; false at the end. What it does is neither read nor decoded.
    virtual bool skip_kernel() = 0;
};

/// The same for any workload.
inline bool skip_kernel(Workload& workload) {
    auto* const skippable = dynamic_cast<SkippableWorkload*>(&workload);
    return skippable != nullptr ? skippable->skip_kernel() : workload.next_kernel() != nullptr;
}

}  // namespace mergelane
