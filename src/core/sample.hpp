// SPDX-License-Identifier: MIT
// What a sampled run says about the whole workload: estimates with the half-widths of their 95 % intervals (docs/sampling.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mergelane {

struct Estimate {
    double value = 0;
    double half_width = 0;  ///< of the interval with a confidence of 95 %
    double low() const { return half_width < value ? value - half_width : 0; }
    double high() const { return value + half_width; }
    double relative() const { return value > 0 ? half_width / value : 0; }
};

/// A quotient of two statistics, whose error is less than that of either. `low` and `high` enclose 95 % of bootstrap samples.
struct RatioEstimate {
    std::string name;
    Estimate analytic;
    double low = 0;
    double high = 0;
};

/// Launches that are similar, of which some were simulated.
struct SampleStratum {
    std::string kernel;
    std::uint64_t launches = 0;
    std::uint64_t simulated = 0;
    std::uint64_t warp_instructions = 0;
    std::uint64_t first = 0;  ///< launch, counted from 1
};

struct SampleFacts {
    double requested_error = 0;  ///< relative half-width of cycles; 0: the run is not sampled
    std::uint64_t launches = 0;
    std::uint64_t simulated = 0;
    std::uint64_t passes = 0;  ///< over the workload, after the one that takes signatures
    std::uint64_t warp_instructions = 0;
    std::uint64_t simulated_instructions = 0;
    std::uint64_t warmed_launches = 0;
    std::uint64_t waves = 0;                ///< of CTAs, of all launches: CTAs over those that are resident at a time, rounded up
    std::uint64_t simulated_waves = 0;      ///< of simulated launches
    std::uint64_t launches_in_parts = 0;    ///< of the simulated ones, those of which only some waves were simulated
    std::uint64_t stretches = 0;            ///< of whole waves, into which these are divided, without the first and the last of each
    std::uint64_t simulated_stretches = 0;  ///< of these
    double signature_seconds = 0;           ///< CPU time to execute all launches and take their signatures
    double simulation_seconds = 0;
    double warming_seconds = 0;  ///< CPU time to update the L2 between simulated launches, including execution
    std::vector<SampleStratum> strata;
    Estimate cycles;              ///< of the run
    Estimate kernel_cycles;       ///< without launch overhead
    std::vector<Estimate> stats;  ///< in the order of RunResult::stats
    std::vector<RatioEstimate> ratios;

    bool any() const { return launches != 0; }
};

}  // namespace mergelane
