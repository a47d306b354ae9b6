// SPDX-License-Identifier: MIT
// Microbenchmarks of a machine's memory path: latencies by level, bandwidths, and streaming kernels, as published measurements of silicon
// define them (decision 0047).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "microbench/silicon.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane::microbench {

class Bench;

struct Benchmark {
    std::string name;
    std::string unit;
    std::string meaning;
    std::function<double(Bench&)> measure;
    std::function<bool(const MachineSpec&)> possible;
};

/// Those that make sense on this machine, in the order of the memory path.
std::vector<Benchmark> benchmarks_of(const MachineSpec& spec);

/// Runs the kernels of a benchmark on one machine.
class Bench {
public:
    using Run = std::function<RunResult(Workload&)>;

    Bench(const MachineSpec& spec, Run run) : spec_(spec), run_(std::move(run)) {}

    const MachineSpec& spec() const { return spec_; }
    RunResult run(Workload& workload) { return run_(workload); }

private:
    const MachineSpec& spec_;
    Run run_;
};

/// What one benchmark gave, beside what silicon gave.
struct Comparison {
    const Benchmark* benchmark = nullptr;
    double measured = 0;
    std::vector<Silicon> published;  ///< the first one counts

    /// In percent of the published value; requires one.
    double error() const { return 100 * (measured / published.front().value - 1); }
};

/// Mean absolute errors over the rows of one role, and how many of those that calibrate are within their band (3 % for latencies, 5 % for
/// bandwidths).
struct Summary {
    std::size_t calibrated = 0;
    std::size_t within_band = 0;
    std::size_t validated = 0;
    double calibration_error = 0;
    double validation_error = 0;
    double worst_validation_error = 0;
    std::string worst;
};
Summary summary_of(const std::vector<Comparison>& rows);
/// 3 or 5.
double band_of(const Benchmark& benchmark);

}  // namespace mergelane::microbench
