// SPDX-License-Identifier: MIT
#include "workload/suite/stream.hpp"

#include <utility>

#include "core/error.hpp"
#include "workload/record/recorded_kernel.hpp"

namespace mergelane::suite {

namespace {
std::uint64_t recorded_bytes(const KernelSource* kernel) {
    const auto* const recorded = dynamic_cast<const record::RecordedKernel*>(kernel);
    return recorded != nullptr ? recorded->totals.bytes : 0;
}
}  // namespace

class SuiteStream::PushingDevice final : public Device {
public:
    explicit PushingDevice(SuiteStream& stream) : executor_(*stream.executor_), stream_(stream) {}
    Addr allocate_bytes(std::uint64_t bytes) override { return executor_.allocate_bytes(bytes); }
    void write_bytes(Addr to, const void* from, std::uint64_t bytes) override { executor_.write_bytes(to, from, bytes); }
    void read_bytes(Addr from, void* to, std::uint64_t bytes) override { executor_.read_bytes(from, to, bytes); }
    void fill_bytes(Addr to, int value, std::uint64_t bytes) override { executor_.fill_bytes(to, value, bytes); }
    void launch_kernel(const KernelCall& call) override {
        if (std::unique_ptr<KernelSource> kernel = executor_.execute(call)) stream_.push(std::move(kernel));
    }

private:
    Executor& executor_;
    SuiteStream& stream_;
};

SuiteStream::SuiteStream(std::string name, std::unique_ptr<Problem> problem, std::unique_ptr<Executor> executor, std::uint32_t ahead)
    : name_(std::move(name)), problem_(std::move(problem)), executor_(std::move(executor)), ahead_(ahead) {}

SuiteStream::~SuiteStream() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void SuiteStream::program() {
    std::exception_ptr failure;
    try {
        PushingDevice device(*this);
        problem_->run(device);
        verdict_ = problem_->verify();
        if (!verdict_.correct) throw SimulationError(name_ + " computed a wrong result: " + verdict_.problem);
    } catch (const Abandoned&) {
        // The rest is no longer needed.
    } catch (...) {
        failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    finished_ = true;
    changed_.notify_all();
}

/// Waits until the program may go on.
void SuiteStream::push(std::unique_ptr<KernelSource> kernel) {
    // What executes when it is placed needs the memory as it is now.
    const std::uint32_t ahead = kernel->executes_at_placement() ? 0 : ahead_;
    std::unique_lock lock(mutex_);
    held_ += recorded_bytes(kernel.get());
    ready_.push_back(std::move(kernel));
    ++pushed_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return abandoned_ || pushed_ < wanted_ + (held_ < kMostHeld ? ahead : 0); });
    if (abandoned_) throw Abandoned{};
}

const KernelSource* SuiteStream::next_kernel() {
    const std::uint64_t freed = recorded_bytes(kernel_.get());
    kernel_.reset();
    std::unique_lock lock(mutex_);
    held_ -= freed;
    if (finished_ && ready_.empty() && failure_ == nullptr) return nullptr;
    ++wanted_;
    if (!thread_.joinable()) thread_ = std::thread([this] { program(); });
    changed_.notify_all();
    changed_.wait(lock, [&] { return !ready_.empty() || finished_; });
    if (!ready_.empty()) {
        kernel_ = std::move(ready_.front());
        ready_.pop_front();
    } else if (failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return kernel_.get();
}

}  // namespace mergelane::suite
