// SPDX-License-Identifier: MIT
// Turns a host program, which pushes launches, into a Workload, from which the simulation pulls kernels. The program runs in its own
// thread, but never concurrently with its user: control alternates at launches, so nothing depends on timing.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

/// A device whose launches execute immediately and leave a recording for the timing model.
class Executor : public Device {
public:
    /// May return nullptr if nothing is recorded.
    virtual std::unique_ptr<KernelSource> execute(const KernelCall& call) = 0;
    void launch_kernel(const KernelCall& call) override { execute(call); }
};

/// One problem as a sequence of kernels. At most one recorded kernel is alive at a time.
class SuiteStream final : public Workload {
public:
    SuiteStream(std::string name, std::unique_ptr<Problem> problem, std::unique_ptr<Executor> executor);
    ~SuiteStream() override;
    SuiteStream(const SuiteStream&) = delete;
    SuiteStream& operator=(const SuiteStream&) = delete;

    const std::string& name() const override { return name_; }
    /// Runs the program to its next launch; after the last one, verifies the results against the CPU reference. Rethrows exceptions of the
    /// program or the executor, and throws SimulationError for wrong results.
    const KernelSource* next_kernel() override;
    /// After the end: whether the results are correct.
    const Verdict& verdict() const { return verdict_; }

private:
    class PushingDevice;
    enum class Turn { user, program };
    struct Abandoned {};

    void program();
    void hand_to(Turn turn);
    void wait_for(Turn turn);

    std::string name_;
    std::unique_ptr<Problem> problem_;
    std::unique_ptr<Executor> executor_;
    std::unique_ptr<KernelSource> kernel_;  ///< the launch being replayed
    std::exception_ptr failure_;
    Verdict verdict_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Turn turn_ = Turn::user;
    bool abandoned_ = false;  ///< the user stopped before the end
    bool finished_ = false;
    std::thread thread_;
};

}  // namespace mergelane::suite
