// SPDX-License-Identifier: MIT
// What `mergelane run` is asked to run: exactly one of a file, a benchmark program or a synthetic kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

struct WorkloadArguments {
    std::string file;     ///< launch manifest or trace
    std::string program;  ///< of the suite
    std::string size = "paper";
    std::uint64_t seed = 1;
    std::string cache;  ///< directory of recordings; empty: the default one
    bool no_cache = false;
    std::string synthetic;
    std::vector<std::string> params;  ///< of the synthetic kernel
    std::string kernels;              ///< which of a trace or program
};

struct WorkloadListeners {
    std::function<void(const std::string&)> warn;
    std::function<void(std::uint64_t done, std::uint64_t total)> reading;  ///< bytes of a trace
};

/// Throws InputError when none or several are named, or what is named cannot be opened.
std::unique_ptr<Workload> open_workload(const WorkloadArguments& arguments, const WorkloadListeners& listeners);

}  // namespace mergelane
