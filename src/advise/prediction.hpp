// SPDX-License-Identifier: MIT
// Traffic and time of a workload's kernels under every candidate, without simulating one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "advise/candidate.hpp"
#include "advise/cta_graph.hpp"
#include "profile/access_log.hpp"
#include "profile/sharing.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane {

/// All launches of one kernel under one candidate.
struct Prediction {
    Traffic traffic;
    double cycles = 0;  ///< of the core; a rough bound, for the order of candidates
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
    std::vector<KernelForecast> kernels;  ///< by name, in the order in which they first come
    std::uint64_t loads = 0;              ///< different ones of the program, by program counter

    /// Of what CTAs share, the share between SMs, if each has a part of an order: of the partition, and of rows and columns.
    struct Cuts {
        double partition = 0, rows = 0, columns = 0;
    };
    std::optional<Cuts> cuts;  ///< none: the CTAs were not partitioned

    /// Of all kernels.
    std::uint64_t launches() const;
    Prediction total(std::size_t candidate) const;
};

struct ForecastOptions {
    std::uint64_t most_entries = std::uint64_t{1} << 27;
    std::uint32_t threads = 1;  ///< candidates at the same time
    /// The share of the work that is done. Comes from any thread, one at a time; what it throws ends the forecast.
    std::function<void(double)> progress;
};

ReplayMachine replay_machine(const MachineSpec& spec);

using OpenWorkload = std::function<std::unique_ptr<Workload>()>;

/// Goes through the workload three times: what can be tried depends on all its grids, and which loads to send past the L1 and who belongs
/// together on what all its kernels do. Throws InputError for kernels whose CTAs cannot be given
/// to others, and for a workload without kernels.
Forecast forecast(const MachineSpec& spec, const OpenWorkload& open, const ForecastOptions& options);

}  // namespace mergelane
