// SPDX-License-Identifier: MIT
// Invariant: each warp scheduler picks in the order that its name implies. A new policy adds its order here.
#include <gtest/gtest.h>

#include "machines.hpp"
#include "run.hpp"
#include "scripted.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane::testing {
namespace {

std::vector<std::uint32_t> picks(std::string_view policy, const std::vector<std::uint64_t>& eligible,
                                 const std::vector<std::uint64_t>& ctas_by_age) {
    const auto scheduler = policies_of<add_warp_schedulers>().make<WarpScheduler>(policy, SmSpec{});
    std::vector<std::uint32_t> order;
    for (const std::uint64_t mask : eligible) order.push_back(scheduler->pick(mask, ctas_by_age));
    return order;
}

using Order = std::vector<std::uint32_t>;

TEST(Scheduler, LooseRoundRobinGoesAroundAndSkipsTheUnready) {
    EXPECT_EQ(picks("lrr", {0b1111, 0b1111, 0b1111, 0b1111, 0b1111}, {}), (Order{0, 1, 2, 3, 0}));
    EXPECT_EQ(picks("lrr", {0b1111, 0b1001, 0b1111, 0b0110, 0b0010}, {}), (Order{0, 3, 0, 1, 1}));
    const std::uint64_t last = std::uint64_t{1} << 63;
    EXPECT_EQ(picks("lrr", {last, last | 1, last | 1}, {}), (Order{63, 0, 63})) << "the last slot wraps";
}

TEST(Scheduler, GreedyThenOldestStaysThenTakesTheOldestCta) {
    // CTA of slots 4-7 is older than that of 0-3.
    const std::vector<std::uint64_t> ages = {0xF0, 0x0F};
    EXPECT_EQ(picks("gto", {0xFF & ~1u, 0xFF, 0xFF}, ages), (Order{4, 4, 4})) << "greedy";
    EXPECT_EQ(picks("gto", {0x10, 0xEF, 0xFF, 0x0F, 0x07, 0xFF}, ages), (Order{4, 5, 5, 0, 0, 0}))
        << "oldest of the oldest CTA, then greedy again";
}

/// Remembers in which order warps issued their memory instructions.
class RecordingKernel final : public KernelSource {
public:
    RecordingKernel(std::uint32_t warps, std::uint32_t length) : length_(length) {
        info_.name = "recording";
        info_.block = {warps * kWarpLanes, 1, 1};
        StaticInst inst;
        inst.op = OpClass::store;
        inst.space = Space::shared;  // takes one cycle of the banks, waits for nobody
        body_.assign(length, inst);
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    mutable std::vector<std::uint32_t> order;

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const RecordingKernel& kernel) : kernel_(kernel) {}
        void open(std::uint64_t) override { started_ = 0; }
        bool next_run(std::uint32_t warp, Run& run) override {
            if ((started_ >> warp & 1) != 0) return false;
            started_ |= std::uint64_t{1} << warp;
            run = {kernel_.body_.data(), kernel_.length_, 0xFFFFFFFFu};
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst&, std::uint32_t, LaneAddresses& out) override {
            kernel_.order.push_back(warp);
            out = affine(0);
        }

    private:
        const RecordingKernel& kernel_;
        std::uint64_t started_ = 0;
    };

    KernelInfo info_;
    std::uint32_t length_;
    std::vector<StaticInst> body_;
};

Order issue_order(const char* policy) {
    MachineSpec s = icc60_like(1);
    s.gpu.sms_per_cluster = 1;
    s.sm.schedulers = 1;
    s.sm.scheduler = policy;
    s.lsu.queue = 16;  // never full: one warp instruction enters and one leaves per cycle
    valid(s);
    const RecordingKernel kernel(3, 3);
    OneKernel workload(kernel);
    run_on(s, workload);
    return kernel.order;
}

TEST(Scheduler, OrderIsSeenByARunningSm) {
    // A warp that has just issued may issue again one cycle later, so greedy stays with warp 0 until it ends.
    EXPECT_EQ(issue_order("gto"), (Order{0, 0, 0, 1, 1, 1, 2, 2, 2}));
    EXPECT_EQ(issue_order("lrr"), (Order{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

}  // namespace
}  // namespace mergelane::testing
