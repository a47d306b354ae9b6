// SPDX-License-Identifier: MIT
// Simulates some launches of a workload and estimates the statistics of all of them (docs/sampling.md).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/kernel.hpp"
#include "core/result.hpp"
#include "sim/simulation.hpp"

namespace mergelane::sampling {

/// Raised when the launches that are chosen, or what is estimated from them, change: it is part of the keys of sampled runs, as the model's
/// version is of all runs.
inline constexpr std::uint32_t kSamplingVersion = 1;

/// How launches are chosen. The last two are published methods for comparison, which state no error.
enum class Selection : std::uint8_t { stratified, pka, sieve };
inline constexpr std::array<std::string_view, 3> kSelectionNames = {"stratified", "pka", "sieve"};

struct Options {
    double error = 0.02;  ///< relative half-width of the 95 % interval of cycles
    std::uint64_t seed = 1;
    Selection selection = Selection::stratified;
    /// Of launches of more waves of CTAs, about so many are simulated; 0: launches are simulated whole.
    std::uint64_t waves = 0;
    bool warm = true;  ///< update the L2 between simulated launches
    /// Simulated warp instructions after which a pass goes on with a new machine where it can, so that what is finished can be kept; 0:
    /// never.
    std::uint64_t segment_instructions = 20'000'000;
    std::string keep;      ///< folder of what is finished, to continue from if the run is killed; empty: nothing is kept
    std::string identity;  ///< of the workload beyond its name
    RunOptions run;
    /// The workload from its start, again for every pass.
    std::function<std::unique_ptr<Workload>()> open;
    /// Called after every launch whose signature was taken.
    std::function<void(std::uint64_t launches)> progress;
};

/// A result whose statistics are estimates; RunResult::sample says how good they are. If the run was interrupted, the result of the pass at
/// that time, marked as partial. Throws InputError if the workload or the machine cannot be sampled.
RunResult run(const MachineSpec& spec, const Options& options);

}  // namespace mergelane::sampling
