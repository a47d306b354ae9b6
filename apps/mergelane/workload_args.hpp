// SPDX-License-Identifier: MIT
// Which work is meant: the arguments `run`, `trace` and `profile` share, and the one place that understands them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "progress.hpp"

namespace mergelane {

struct WorkloadArguments {
    std::string file;     ///< launch manifest (.toml), Accel-Sim trace (kernelslist.g, .traceg) or trace file (.mlt)
    std::string kernels;  ///< of a trace, as in "2-5"
    std::string synthetic;
    std::vector<std::string> params;
};

void add_workload_options(CLI::App& command, WorkloadArguments& arguments);

/// Throws InputError when no workload, two workloads or a wrong one is named. `progress` must outlive the workload.
std::unique_ptr<Workload> open_workload(const WorkloadArguments& arguments, ProgressLine& progress);

}  // namespace mergelane
