// SPDX-License-Identifier: MIT
// The handlers for every host the build targets.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // loops that do not vectorise here are still correct
#endif
#define MERGELANE_LANES lanes_base
#include "workload/ptx/lanes/select.hpp"

namespace mergelane::ptx {

Select select_for_host(bool portable) {
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return lanes_avx2::select;
#endif
    (void)portable;
    return lanes_base::select;
}

}  // namespace mergelane::ptx
