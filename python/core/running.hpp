// SPDX-License-Identifier: MIT
// What Python can ask for in one simulation.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "sim/simulation.hpp"

namespace mergelane::python {

/// A workload by its name: a benchmark, "synthetic:KIND", a file or the folder of an Accel-Sim trace.
struct WorkloadName {
    std::string name;
    std::string size;  ///< of a benchmark; empty: not given, which is "paper"
    std::uint64_t seed = 1;
    std::vector<std::string> params;  ///< NAME=VALUE, of a synthetic workload
    std::string kernels;
};
/// Throws InputError; `stop` ends the execution of a benchmark or the reading of a trace with Interrupted.
std::unique_ptr<Workload> open_workload(const WorkloadName& workload, const std::atomic<bool>& stop);

}  // namespace mergelane::python
