// SPDX-License-Identifier: MIT
// Turns a host program, which pushes launches, into a Workload, from which the simulation pulls kernels. The program runs in its own
// thread. Unless it may run ahead, control alternates at launches. If it may, recordings are read while later launches execute; as they do
// not change once they are made, nothing depends on timing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
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

/// One problem as a sequence of kernels.
class SuiteStream final : public Workload {
public:
    /// `ahead`: launches that the program may execute before the user has asked for them, unless the recordings that are alive are long.
    SuiteStream(std::string name, std::unique_ptr<Problem> problem, std::unique_ptr<Executor> executor, std::uint32_t ahead = 0);
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
    struct Abandoned {};

    void program();
    void push(std::unique_ptr<KernelSource> kernel);

    std::string name_;
    std::unique_ptr<Problem> problem_;
    std::unique_ptr<Executor> executor_;
    const std::uint32_t ahead_;
    std::unique_ptr<KernelSource> kernel_;  ///< the launch being replayed
    static constexpr std::uint64_t kMostHeld = std::uint64_t{256} << 20;
    Verdict verdict_;
    std::mutex mutex_;  ///< of the following
    std::condition_variable changed_;
    std::deque<std::unique_ptr<KernelSource>> ready_;
    std::uint64_t pushed_ = 0;
    std::uint64_t wanted_ = 0;  ///< kernels that the user has asked for
    std::uint64_t held_ = 0;    ///< bytes of recordings that are alive
    bool abandoned_ = false;    ///< the user stopped before the end
    bool finished_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace mergelane::suite
