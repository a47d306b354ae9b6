// SPDX-License-Identifier: MIT
#include "workload/suite/stream.hpp"

#include <utility>

#include "core/error.hpp"

namespace mergelane::suite {

class SuiteStream::PushingDevice final : public Device {
public:
    explicit PushingDevice(SuiteStream& stream) : executor_(*stream.executor_), stream_(stream) {}
    Addr allocate_bytes(std::uint64_t bytes) override { return executor_.allocate_bytes(bytes); }
    void write_bytes(Addr to, const void* from, std::uint64_t bytes) override { executor_.write_bytes(to, from, bytes); }
    void read_bytes(Addr from, void* to, std::uint64_t bytes) override { executor_.read_bytes(from, to, bytes); }
    void fill_bytes(Addr to, int value, std::uint64_t bytes) override { executor_.fill_bytes(to, value, bytes); }
    void launch_kernel(const KernelCall& call) override {
        stream_.kernel_ = executor_.execute(call);
        if (stream_.kernel_ == nullptr) return;
        stream_.hand_to(Turn::user);
        stream_.wait_for(Turn::program);
        if (stream_.abandoned_) throw Abandoned{};
    }

private:
    Executor& executor_;
    SuiteStream& stream_;
};

SuiteStream::SuiteStream(std::string name, std::unique_ptr<Problem> problem, std::unique_ptr<Executor> executor)
    : name_(std::move(name)), problem_(std::move(problem)), executor_(std::move(executor)) {}

SuiteStream::~SuiteStream() {
    if (!thread_.joinable()) return;
    if (!finished_) {
        abandoned_ = true;
        hand_to(Turn::program);
    }
    thread_.join();
}

void SuiteStream::program() {
    wait_for(Turn::program);
    try {
        PushingDevice device(*this);
        if (!abandoned_) {
            problem_->run(device);
            verdict_ = problem_->verify();
            if (!verdict_.correct) throw SimulationError(name_ + " computed a wrong result: " + verdict_.problem);
        }
    } catch (const Abandoned&) {
        // The rest is no longer needed.
    } catch (...) {
        failure_ = std::current_exception();
    }
    kernel_.reset();
    finished_ = true;
    hand_to(Turn::user);
}

const KernelSource* SuiteStream::next_kernel() {
    if (finished_) return nullptr;
    kernel_.reset();
    if (!thread_.joinable()) thread_ = std::thread([this] { program(); });
    hand_to(Turn::program);
    wait_for(Turn::user);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return kernel_.get();
}

void SuiteStream::hand_to(Turn turn) {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
    changed_.notify_all();
}

void SuiteStream::wait_for(Turn turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == turn; });
}

}  // namespace mergelane::suite
