// SPDX-License-Identifier: MIT
// The handlers for every host the build targets.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // loops that do not vectorise here are still correct
#endif
#define MERGELANE_LANES lanes_base
#include "workload/ptx/lanes/select.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mergelane::ptx {

#if defined(__x86_64__)
namespace {
/// Not among the names that clang 14 knows.
bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
}  // namespace
#endif

Select select_for_host(bool portable) {
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) return lanes_avx2::select;
#endif
    (void)portable;
    return lanes_base::select;
}

}  // namespace mergelane::ptx
