// SPDX-License-Identifier: MIT
// Host programs push launches, simulations pull kernels: the interface between them.
#include <gtest/gtest.h>

#include <cstring>

#include "core/error.hpp"
#include "workload/suite/stream.hpp"

namespace mergelane::suite {
namespace {

class NamedSource final : public KernelSource {
public:
    explicit NamedSource(std::string name) { info_.name = std::move(name); }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return nullptr; }

private:
    KernelInfo info_;
};

/// One word of memory that every launch increments.
class CountingExecutor final : public Executor {
public:
    Addr allocate_bytes(std::uint64_t) override { return 64; }
    void write_bytes(Addr, const void*, std::uint64_t) override {}
    void read_bytes(Addr, void* to, std::uint64_t) override { std::memcpy(to, &word_, sizeof word_); }
    void fill_bytes(Addr, int, std::uint64_t) override { word_ = 0; }
    std::unique_ptr<KernelSource> execute(const KernelCall& call) override {
        ++word_;
        return std::make_unique<NamedSource>(std::string(call.kernel) + std::to_string(word_));
    }

private:
    int word_ = 0;
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

TEST(SuiteStream, MayBeAbandonedAtAnyPoint) {
    for (int kernels = 0; kernels < 4; ++kernels) {
        SuiteStream stream("five", std::make_unique<UntilFive>(), std::make_unique<CountingExecutor>());
        for (int i = 0; i < kernels; ++i) EXPECT_NE(stream.next_kernel(), nullptr);
    }
}

TEST(SuiteStream, AWrongResultIsAnError) {
    SuiteStream stream("five", std::make_unique<UntilFive>(false, true), std::make_unique<CountingExecutor>());
    for (int i = 0; i < 5; ++i) EXPECT_NE(stream.next_kernel(), nullptr);
    EXPECT_THROW(stream.next_kernel(), SimulationError);
}

TEST(SuiteStream, ErrorsOfTheProgramComeOutWhereKernelsDo) {
    SuiteStream stream("five", std::make_unique<UntilFive>(true), std::make_unique<CountingExecutor>());
    EXPECT_NE(stream.next_kernel(), nullptr);
    EXPECT_THROW(stream.next_kernel(), InputError);
    EXPECT_EQ(stream.next_kernel(), nullptr);
}

}  // namespace
}  // namespace mergelane::suite
