// SPDX-License-Identifier: MIT
// The same handlers for hosts with AVX2, FMA and F16C: CMakeLists.txt gives this file its own flags.
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // loops that do not vectorise here are still correct
#endif
#define MERGELANE_LANES lanes_avx2
#include "workload/ptx/lanes/select.hpp"
#endif
