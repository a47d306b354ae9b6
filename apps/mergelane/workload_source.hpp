// SPDX-License-Identifier: MIT
// Selects the workload, exactly one of a file, a benchmark or a synthetic kernel: the arguments that `run`, `trace` and `profile` share,
// and the only place that interprets them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "core/registry.hpp"
#include "progress.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane {

struct WorkloadArguments {
    std::string file;     ///< launch manifest (.toml), Accel-Sim trace (kernelslist.g, .traceg, .tracez) or trace file (.mlt)
    std::string program;  ///< a benchmark
    std::string size = "paper";
    std::uint64_t seed = 1;
    std::uint32_t repeat = 1;  ///< times the benchmark runs, with seeds counted up
    std::string cache;         ///< directory of recordings; empty: the default one
    bool no_cache = false;
    bool keep_long = false;  ///< keep long recordings, too
    bool ahead = false;      ///< benchmarks may execute launches while earlier ones are read
    std::string synthetic;
    std::vector<std::string> params;                          ///< of the synthetic kernel
    std::string kernels;                                      ///< which kernels of a trace or program
    std::uint64_t max_instructions = ptx::kMostInstructions;  ///< of a launch of a manifest
    bool only_read = false;                                   ///< neither timed nor recorded: traces may hold what has no timing
    const Registry* registry = nullptr;                       ///< further workloads
    int recording = -1;  ///< descriptor of an open trace that is read instead of the file: that of a CUDA program run for this purpose
};

/// `or_program`: the file may also be a CUDA program, with its arguments.
void add_workload_options(CLI::App& command, WorkloadArguments& arguments, const Registry& registry, bool or_program = false);

/// Throws InputError if none or several are named, or if the workload cannot be opened. `progress` must outlive the workload. `timed`: a
/// machine will run it, so placement-dependent kernels can execute at placement.
std::unique_ptr<Workload> open_workload(const WorkloadArguments& arguments, ProgressLine& progress, bool timed = false);

/// Tells it from other workloads, even from those of the same name.
std::string workload_identity(const WorkloadArguments& arguments, const Workload& workload);

}  // namespace mergelane
