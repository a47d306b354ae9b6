// SPDX-License-Identifier: MIT
// Host programs push launches, simulations pull kernels: the interface between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "core/error.hpp"
#include "workload/suite/stream.hpp"

namespace mergelane::suite {
namespace {

class NamedSource final : public KernelSource {
public:
    explicit NamedSource(std::string name, bool at_placement = false) : at_placement_(at_placement) { info_.name = std::move(name); }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return nullptr; }
    bool executes_at_placement() const override { return at_placement_; }

private:
    KernelInfo info_;
    bool at_placement_;
};

/// One word of memory that every launch increments.
class CountingExecutor final : public Executor {
public:
    Addr allocate_bytes(std::uint64_t) override { return 64; }
    void write_bytes(Addr, const void*, std::uint64_t) override {}
    void read_bytes(Addr, void* to, std::uint64_t) override { std::memcpy(to, &word_, sizeof word_); }
    void fill_bytes(Addr, int, std::uint64_t) override { word_ = 0; }
    explicit CountingExecutor(std::atomic<int>* executed = nullptr, bool at_placement = false)
        : executed_(executed), at_placement_(at_placement) {}
    std::unique_ptr<KernelSource> execute(const KernelCall& call) override {
        ++word_;
        if (executed_ != nullptr) *executed_ = word_;
        return std::make_unique<NamedSource>(std::string(call.kernel) + std::to_string(word_), at_placement_);
    }

private:
    int word_ = 0;
    std::atomic<int>* executed_;
    bool at_placement_;
};

/// Launches until the device says five, as a breadth-first search would.
class UntilFive final : public Problem {
public:
    explicit UntilFive(bool fails = false, bool wrong = false) : fails_(fails), wrong_(wrong) {}
    void run(Device& device) override {
        const auto word = device.zeros<int>(1);
        while (device.download(word)[0] < 5) {
            device.launch("m", "k", {1, 1, 1}, {1, 1, 1}, word);
            if (fails_) throw InputError("no more");
        }
        done_ = true;
    }
    Verdict verify() const override {
        Verdict verdict;
        verdict.correct = done_ && !wrong_;
        return verdict;
    }

private:
    bool fails_, wrong_;
    bool done_ = false;
};

TEST(SuiteStream, YieldsOneKernelPerLaunch) {
    SuiteStream stream("five", std::make_unique<UntilFive>(), std::make_unique<CountingExecutor>());
    std::vector<std::string> names;
    while (const KernelSource* kernel = stream.next_kernel()) names.push_back(kernel->info().name);
    EXPECT_EQ(names, (std::vector<std::string>{"k1", "k2", "k3", "k4", "k5"}));
    EXPECT_EQ(stream.next_kernel(), nullptr);
    EXPECT_TRUE(stream.verdict().correct);
    EXPECT_EQ(stream.name(), "five");
}

TEST(SuiteStream, RunsAheadAsFarAsItMay) {
    for (const std::uint32_t ahead : {0u, 1u, 3u, 9u}) {
        std::atomic<int> executed = 0;
        SuiteStream stream("five", std::make_unique<UntilFive>(), std::make_unique<CountingExecutor>(&executed), ahead);
        for (int i = 1; i <= 5; ++i) {
            const KernelSource* const kernel = stream.next_kernel();
            ASSERT_NE(kernel, nullptr);
            const int most = std::min(i + static_cast<int>(ahead), 5);
            while (executed < most) std::this_thread::yield();
            EXPECT_EQ(kernel->info().name, "k" + std::to_string(i));
            EXPECT_EQ(executed, most);
        }
        EXPECT_EQ(stream.next_kernel(), nullptr);
        EXPECT_TRUE(stream.verdict().correct);
    }
}

TEST(SuiteStream, DoesNotRunAheadOfWhatExecutesWhenPlaced) {
    std::atomic<int> executed = 0;
    SuiteStream stream("five", std::make_unique<UntilFive>(), std::make_unique<CountingExecutor>(&executed, true), 3);
    for (int i = 1; i <= 5; ++i) {
        ASSERT_NE(stream.next_kernel(), nullptr);
        EXPECT_EQ(executed, i);
    }
}

TEST(SuiteStream, MayBeAbandonedAtAnyPoint) {
    for (const std::uint32_t ahead : {0u, 1u, 3u}) {
        for (int kernels = 0; kernels < 4; ++kernels) {
            SuiteStream stream("five", std::make_unique<UntilFive>(), std::make_unique<CountingExecutor>(), ahead);
            for (int i = 0; i < kernels; ++i) EXPECT_NE(stream.next_kernel(), nullptr);
        }
    }
}

TEST(SuiteStream, AWrongResultIsAnError) {
    for (const std::uint32_t ahead : {0u, 9u}) {
        SuiteStream stream("five", std::make_unique<UntilFive>(false, true), std::make_unique<CountingExecutor>(), ahead);
        for (int i = 0; i < 5; ++i) EXPECT_NE(stream.next_kernel(), nullptr);
        EXPECT_THROW(stream.next_kernel(), SimulationError);
    }
}

TEST(SuiteStream, ErrorsOfTheProgramComeOutWhereKernelsDo) {
    for (const std::uint32_t ahead : {0u, 9u}) {
        SuiteStream stream("five", std::make_unique<UntilFive>(true), std::make_unique<CountingExecutor>(), ahead);
        EXPECT_NE(stream.next_kernel(), nullptr);
        EXPECT_THROW(stream.next_kernel(), InputError);
        EXPECT_EQ(stream.next_kernel(), nullptr);
    }
}

}  // namespace
}  // namespace mergelane::suite
