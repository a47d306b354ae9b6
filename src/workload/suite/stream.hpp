// SPDX-License-Identifier: MIT
// Turns a host program, which pushes launches, into a Workload, from which the simulation pulls kernels. The program runs in its own
// thread, but never concurrently with its user: control alternates at launches, so nothing depends on timing.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

/// Device memory, and launches that execute immediately and leave a recording for the timing model.
class Executor {
public:
    virtual ~Executor() = default;
    virtual Addr allocate_bytes(std::uint64_t bytes) = 0;
    virtual void write_bytes(Addr to, const void* from, std::uint64_t bytes) = 0;
    virtual void read_bytes(Addr from, void* to, std::uint64_t bytes) = 0;
    virtual void fill_bytes(Addr to, int value, std::uint64_t bytes) = 0;
    /// May return nullptr if nothing is recorded.
    virtual std::unique_ptr<KernelSource> execute(const KernelCall& call) = 0;
};

/// A device for functional runs only.
class FunctionalDevice : public Device {
public:
    explicit FunctionalDevice(Executor& executor) : executor_(executor) {}
    Addr allocate_bytes(std::uint64_t bytes) override { return executor_.allocate_bytes(bytes); }
    void write_bytes(Addr to, const void* from, std::uint64_t bytes) override { executor_.write_bytes(to, from, bytes); }
    void read_bytes(Addr from, void* to, std::uint64_t bytes) override { executor_.read_bytes(from, to, bytes); }
    void fill_bytes(Addr to, int value, std::uint64_t bytes) override { executor_.fill_bytes(to, value, bytes); }
    void launch_kernel(const KernelCall& call) override { executor_.execute(call); }

protected:
    Executor& executor_;
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
