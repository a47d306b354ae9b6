// SPDX-License-Identifier: MIT
// Predicts traffic and time of a workload's kernels under every candidate, without simulation.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "advise/candidate.hpp"
#include "profile/access_log.hpp"
#include "profile/sharing.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane {

/// All launches of one kernel under one candidate.
struct Prediction {
    Traffic traffic;
    double cycles = 0;  ///< core cycles; a rough bound, for ranking candidates
    /// What the machine would need for one thing alone, in core cycles; the largest decides `cycles`.
    struct Bounds {
        double issue = 0, network = 0, dram = 0, rows = 0, latency = 0;
    } bounds = {};
};

struct KernelForecast {
    KernelInfo info;  ///< of its largest launch
    std::uint64_t launches = 0;
    std::uint64_t ctas = 0;
    std::uint32_t slots = 0;  ///< CTAs that fit on an SM
    AccessLog::Counts counts;
    Sharing sharing;
    std::vector<Prediction> by_candidate;
};

struct Forecast {
    std::vector<Candidate> candidates;
    std::vector<KernelForecast> kernels;  ///< by name, in order of first appearance
    std::uint64_t loads = 0;              ///< distinct loads of the program, by program counter

    /// Share of the sharing that crosses SMs if each SM has one part of an order: for the partition, and for rows and columns.
    struct Cuts {
        double partition = 0, rows = 0, columns = 0;
    };
    std::optional<Cuts> cuts;  ///< none: the CTAs were not partitioned

    /// Of all kernels.
    std::uint64_t launches() const;
    Prediction total(std::size_t candidate) const;
};

struct ForecastOptions {
    std::vector<Candidate> only = {};  ///< these candidates, the unchanged kernel first; empty: all that suit the grid
    MissWatcher* watcher = nullptr;    ///< of the unchanged kernel
    std::uint64_t most_entries = std::uint64_t{1} << 27;
    std::uint32_t threads = 1;  ///< concurrent candidates
    /// Progress as a share of the work. Called from any thread, one at a time; an exception ends the forecast.
    std::function<void(double)> progress;
};

using OpenWorkload = std::function<std::unique_ptr<Workload>()>;

/// Passes over the workload three times, twice if `only` names the candidates: the candidates depend on all grids, and the loads to bypass
/// and the partition depend on all kernels. Throws InputError for kernels whose CTAs cannot be reassigned, and for a workload without
/// kernels.
Forecast forecast(const MachineSpec& spec, const OpenWorkload& open, const ForecastOptions& options);

}  // namespace mergelane
