// SPDX-License-Identifier: MIT
#include "timing.hpp"

namespace mergelane::cudart {

Timing::Timing(const MachineSpec& spec, const RunOptions& options, std::string program)
    : program_(std::move(program)), thread_([this, spec, options] { simulate(spec, options); }) {}

Timing::~Timing() {
    stop();
}

void Timing::simulate(const MachineSpec& spec, const RunOptions& options) {
    try {
        RunOptions own = options;
        own.after_kernel = [this](const KernelResult& result, const std::vector<StatValue>& stats) {
            const std::lock_guard lock(mutex_);
            last_ = {result, stats};
            done_ = true;
            changed_.notify_all();
        };
        Simulation simulation(spec, own);
        result_ = simulation.run(*this);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        error_ = std::current_exception();
        changed_.notify_all();
    }
}

const KernelSource* Timing::next_kernel() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ != nullptr || ending_; });
    return std::exchange(waiting_, nullptr);
}

Launched Timing::run(const KernelSource& kernel) {
    std::unique_lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    waiting_ = &kernel;
    done_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return done_ || error_; });
    if (error_) std::rethrow_exception(error_);
    return last_;
}

void Timing::stop() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

RunResult Timing::finish() {
    stop();
    if (error_) std::rethrow_exception(error_);
    return std::move(result_);
}

}  // namespace mergelane::cudart
