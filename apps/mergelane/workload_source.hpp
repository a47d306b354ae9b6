// SPDX-License-Identifier: MIT
// Which work is meant, exactly one of a file, a benchmark program or a synthetic kernel: the arguments `run`, `trace` and
// `profile` share, and the one place that understands them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "core/registry.hpp"
#include "progress.hpp"

namespace mergelane {

struct WorkloadArguments {
    std::string file;     ///< launch manifest (.toml), Accel-Sim trace (kernelslist.g, .traceg) or trace file (.mlt)
    std::string program;  ///< of the suite
    std::string size = "paper";
    std::uint64_t seed = 1;
    std::string cache;  ///< directory of recordings; empty: the default one
    bool no_cache = false;
    std::string synthetic;
    std::vector<std::string> params;     ///< of the synthetic kernel
    std::string kernels;                 ///< which of a trace or program
    const Registry* registry = nullptr;  ///< further programs
    int recording = -1;                  ///< an open trace, read instead of the file: that of a CUDA program that was run for this
};

void add_workload_options(CLI::App& command, WorkloadArguments& arguments, const Registry& registry);

/// Throws InputError when none or several are named, or what is named cannot be opened. `progress` must outlive the workload.
/// `timed`: a machine will run it, so kernels that depend on their placement can wait for it.
std::unique_ptr<Workload> open_workload(const WorkloadArguments& arguments, ProgressLine& progress, bool timed = false);

}  // namespace mergelane
