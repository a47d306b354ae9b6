// SPDX-License-Identifier: MIT
// The benchmarks: names, origins and launches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

struct SuiteWorkload {
    std::string_view name;
    std::string_view suite;    ///< the public benchmark suite it is modelled on
    std::string_view papers;   ///< papers that use it, separated by spaces: icc warppool packet ctacluster dcl1
    std::string_view module;   ///< its kernels, "rodinia/hotspot"
    std::string_view meaning;  ///< one line
    bool open_ended = false;   ///< launches until the device reports that nothing changed
    MakeProblem make = nullptr;
    bool hopper = false;           ///< only machines with the units of sm_90 can run it
    std::string_view others = {};  ///< further modules that it launches, separated by spaces
};

/// In the order `mergelane list workloads` shows them.
const std::vector<SuiteWorkload>& workloads();
/// Throws InputError with the closest known name.
const SuiteWorkload& find_workload(std::string_view name);

inline constexpr std::string_view kSizeNames[] = {"tiny", "paper", "large"};
/// Throws InputError with the known sizes.
Size parse_size(std::string_view name);

/// All launches of one kernel.
struct KernelShape {
    std::string kernel;
    Dim3 block;
    Dim3 smallest, largest;      ///< grid
    std::uint32_t launches = 0;  ///< if open-ended: those of the first round
    std::uint64_t ctas = 0;      ///< of all launches
};
/// What a workload launches, in order of first use, from a table (launches.inc) if it has the workload.
std::vector<KernelShape> launch_shapes(const SuiteWorkload& workload, Size size);
/// Throws InputError if a workload never launches as many kernels as the number of the first one that is wanted.
void check_first_launch(const SuiteWorkload& workload, Size size, std::uint64_t first);
/// The same as launch_shapes, found by running its host program without executing kernels; making the inputs can take seconds.
std::vector<KernelShape> measured_launch_shapes(const SuiteWorkload& workload, Size size);

}  // namespace mergelane::suite
