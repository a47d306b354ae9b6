// SPDX-License-Identifier: MIT
// Times the launches of a running program on one simulated GPU, whose caches stay warm across launches.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "core/kernel.hpp"
#include "core/result.hpp"
#include "sim/simulation.hpp"

namespace mergelane::cudart {

/// A kernel that has finished.
struct Launched {
    KernelResult result;
    std::vector<StatValue> stats;
};

/// The simulation requests kernels in its own thread; the program passes one and waits for its result.
class Timing final : private Workload {
public:
    Timing(const MachineSpec& spec, const RunOptions& options, std::string program);
    ~Timing() override;

    /// Returns when the simulated GPU has finished the kernel. Rethrows exceptions of the simulation, also on every later call.
    Launched run(const KernelSource& kernel);
    /// Ends the simulation. Call at most once; run must not be called afterwards.
    RunResult finish();

private:
    const std::string& name() const override { return program_; }
    const KernelSource* next_kernel() override;
    void simulate(const MachineSpec& spec, const RunOptions& options);
    void stop();

    std::string program_;
    std::mutex mutex_;
    std::condition_variable changed_;
    const KernelSource* waiting_ = nullptr;
    bool done_ = false;    ///< the most recently passed kernel has finished
    bool ending_ = false;  ///< no more kernels
    Launched last_;
    RunResult result_;
    std::exception_ptr error_;
    std::thread thread_;
};

}  // namespace mergelane::cudart
