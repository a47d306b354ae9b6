// SPDX-License-Identifier: MIT
// Invariant: a kernel that reads its SM id, warp slot or a clock sees its actual placement, and the same machine gives the same placement
// for any number of host threads.
#include <gtest/gtest.h>

#include <mutex>

#include "core/error.hpp"
#include "machines.hpp"
#include "ptx_helpers.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

/// What tests/data/ptx/where.ptx writes for each CTA.
struct Seen {
    std::uint32_t sm, warp;
    std::uint64_t cycle;
    std::uint32_t before, sms, unused[2];
    bool operator==(const Seen&) const = default;
};
static_assert(sizeof(Seen) == 32);

constexpr std::uint32_t kCtas = 300;

struct Truth {
    std::uint32_t sm = ~0u, slot = ~0u;
};

/// Notes on which SM and in which slot every CTA is really opened: streams are made SM by SM, slot by slot.
class Watched final : public Workload, public KernelSource {
public:
    Watched(const KernelSource& kernel, std::uint32_t sms) : kernel_(kernel), sms_(sms), truth(kCtas) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return std::exchange(given_, true) ? nullptr : this; }
    const KernelInfo& info() const override { return kernel_.info(); }
    bool executes_at_placement() const override { return kernel_.executes_at_placement(); }
    void place(std::uint64_t cta, const CtaPlace& place) const override { kernel_.place(cta, place); }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this, streams_++, kernel_.make_stream()); }
    std::uint32_t slots() const { return streams_ / sms_; }

private:
    class Stream final : public CtaStream {
    public:
        Stream(const Watched& owner, std::uint32_t number, std::unique_ptr<CtaStream> stream)
            : owner_(owner), number_(number), stream_(std::move(stream)) {}
        void open(std::uint64_t cta) override {
            {
                const std::lock_guard lock(owner_.mutex_);
                owner_.truth[cta] = {number_ / owner_.slots(), number_ % owner_.slots()};
            }
            stream_->open(cta);
        }
        bool next_run(std::uint32_t warp, Run& run) override { return stream_->next_run(warp, run); }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            stream_->addresses(warp, inst, active, out);
        }

    private:
        const Watched& owner_;
        std::uint32_t number_;
        std::unique_ptr<CtaStream> stream_;
    };

    const KernelSource& kernel_;
    std::uint32_t sms_;
    std::string name_ = "watched";
    bool given_ = false;
    mutable std::uint32_t streams_ = 0;
    mutable std::mutex mutex_;

public:
    mutable std::vector<Truth> truth;
};

struct Outcome {
    std::vector<Seen> seen;
    std::vector<Truth> truth;
    RunResult result;
};

Outcome run_where(const MachineSpec& spec, std::uint32_t threads) {
    ptx::TestDevice device(ptx::test_data("where.ptx"));
    device.record = true;
    device.options.at_placement = true;
    const Addr places = device.zeros<Seen>(kCtas);
    const Addr counters = device.zeros<std::uint32_t>(spec.sms());
    const auto kernel = device.run("where", {kCtas, 1, 1}, {64, 1, 1}, places, counters);
    Watched watched(*kernel, spec.sms());
    RunOptions options;
    options.threads = threads;
    Outcome outcome;
    outcome.result = run_on(spec, watched, options);
    outcome.seen = device.get<Seen>(places, kCtas);
    outcome.truth = watched.truth;
    return outcome;
}

class AtPlacement : public ::testing::TestWithParam<bool> {
protected:
    MachineSpec machine() const { return valid(GetParam() ? v100_like() : icc60_like(3)); }
};

TEST_P(AtPlacement, SeesItsRealPlace) {
    const MachineSpec spec = machine();
    const Outcome outcome = run_where(spec, 1);
    std::vector<std::uint32_t> counts(spec.sms());
    std::uint64_t later = 0;
    for (std::uint32_t cta = 0; cta < kCtas; ++cta) {
        const Seen& seen = outcome.seen[cta];
        ASSERT_EQ(seen.sm, outcome.truth[cta].sm) << "CTA " << cta;
        ASSERT_EQ(seen.warp, outcome.truth[cta].slot * 2 + 1) << "CTA " << cta;
        EXPECT_EQ(seen.sms, spec.sms());
        EXPECT_LE(seen.cycle, outcome.result.cycles);
        later += seen.cycle > outcome.seen[0].cycle;
        ++counts[seen.sm];
    }
    EXPECT_GT(later, kCtas / 2);
    for (std::uint32_t cta = 0; cta < kCtas; ++cta) EXPECT_LT(outcome.seen[cta].before, counts[outcome.seen[cta].sm]);
    ASSERT_EQ(outcome.result.kernels.size(), 1u);
    EXPECT_TRUE(outcome.result.kernels[0].at_placement);
}

TEST_P(AtPlacement, SeesTheSameForAnyNumberOfThreads) {
    EXPECT_EQ(run_where(machine(), 4).seen, run_where(machine(), 1).seen);
}

INSTANTIATE_TEST_SUITE_P(Machines, AtPlacement, ::testing::Values(false, true),
                         [](const auto& given) { return given.param ? "v100" : "icc60"; });

TEST(AtPlacementErrors, NeedsOneDispatcher) {
    MachineSpec spec = icc60_like(4);
    spec.gpu.groups = 2;
    try {
        run_where(spec, 1);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("groups = 1"), std::string::npos) << error.what();
    }
}

TEST(AtPlacementErrors, WaitingForAnotherCtaIsExplained) {
    ptx::TestDevice device(R"(
.version 8.0
.target sm_70
.address_size 64
.visible .entry waits(.param .u64 flag)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [flag];
    mov.u32 %r2, %smid;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra again;
    ret;
}
)");
    device.record = true;
    device.options.at_placement = true;
    const Addr flag = device.zeros<std::uint32_t>(1);
    const auto kernel = device.run("waits", {2, 1, 1}, {32, 1, 1}, flag);
    Watched watched(*kernel, 15);
    try {
        run_on(valid(icc60_like(3)), watched);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("waits for another"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace mergelane::testing
