// SPDX-License-Identifier: MIT
// Law: every machine is given the same work. What a kernel computes and which instructions, lanes and addresses it has is
// settled before it is timed, so all of it is equal on different machines, for any number of host threads.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <mutex>

#include "machines.hpp"
#include "run.hpp"
#include "workload/ptx/manifest.hpp"

namespace mergelane::testing {
namespace {

/// What a warp was given, in order: each instruction with its active lanes, and the addresses of active lanes.
struct WarpWork {
    std::vector<std::uint64_t> instructions;
    std::vector<Addr> addresses;
    bool operator==(const WarpWork&) const = default;
};
using CtaWork = std::vector<WarpWork>;  ///< by warp
using KernelWork = std::map<std::uint64_t, CtaWork>;

/// A kernel that remembers what a machine was given of it.
class Watched final : public KernelSource {
public:
    explicit Watched(const KernelSource& kernel) : ctas(kernel.info().ctas()), kernel_(kernel) {}
    const KernelInfo& info() const override { return kernel_.info(); }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }

    mutable KernelWork work;
    const std::uint64_t ctas;

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const Watched& owner) : owner_(owner), stream_(owner.kernel_.make_stream()) {}
        void open(std::uint64_t cta) override {
            const std::lock_guard lock(owner_.mutex_);
            EXPECT_FALSE(owner_.work.contains(cta)) << "CTA " << cta << " twice";
            work_ = &owner_.work[cta];
            work_->resize(owner_.kernel_.info().warps_per_cta());
            stream_->open(cta);
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            if (!stream_->next_run(warp, run)) return false;
            for (std::uint32_t i = 0; i < run.count; ++i) {
                const StaticInst& inst = run.first[i];
                (*work_)[warp].instructions.insert((*work_)[warp].instructions.end(),
                                                   {inst.pc, static_cast<std::uint64_t>(inst.op), inst.lane_bytes, run.active});
            }
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            stream_->addresses(warp, inst, active, out);
            LaneAddresses lanes = out;
            lanes.expand(active);
            for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
                if ((active >> lane & 1) != 0) (*work_)[warp].addresses.push_back(lanes.of(lane));
            }
        }

    private:
        const Watched& owner_;
        std::unique_ptr<CtaStream> stream_;
        CtaWork* work_ = nullptr;
    };

    const KernelSource& kernel_;  ///< until the next one is asked for
    mutable std::mutex mutex_;
};

class WatchedWorkload final : public Workload {
public:
    explicit WatchedWorkload(std::unique_ptr<Workload> workload) : workload_(std::move(workload)) {}
    const std::string& name() const override { return workload_->name(); }
    const KernelSource* next_kernel() override {
        const KernelSource* const kernel = workload_->next_kernel();
        return kernel == nullptr ? nullptr : &kernels.emplace_back(*kernel);
    }

    std::deque<Watched> kernels;

private:
    std::unique_ptr<Workload> workload_;
};

std::vector<KernelWork> work_of(const MachineSpec& spec, const std::string& name, std::uint32_t threads = 1) {
    WatchedWorkload workload(ptx::load_manifest(std::string(MERGELANE_SOURCE_DIR) + "/tests/data/ptx/" + name));
    RunOptions options;
    options.threads = threads;
    const RunResult result = run_on(spec, workload, options);
    std::vector<KernelWork> list;
    std::uint64_t instructions = 0;
    for (const Watched& kernel : workload.kernels) {
        EXPECT_EQ(kernel.work.size(), kernel.ctas);
        for (const auto& [cta, warps] : kernel.work) {
            for (const WarpWork& work : warps) instructions += work.instructions.size() / 4;
        }
        list.push_back(kernel.work);
    }
    EXPECT_EQ(instructions, result.stat("sm.warp_instructions"));
    return list;
}

TEST(PtxSameWork, OnEveryMachineForAnyNumberOfThreads) {
    MachineSpec random = icc60_like(3);
    random.dispatch.scheduler = "random_per_turnaround";
    for (const char* name : {"saxpy.toml", "matmul.toml"}) {
        const std::vector<KernelWork> work = work_of(valid(icc60_like(3)), name);
        ASSERT_FALSE(work.empty());
        EXPECT_FALSE(work.front().at(0).at(0).addresses.empty());
        EXPECT_TRUE(work == work_of(valid(icc60_like(3)), name, 4)) << name << ", 4 threads";
        EXPECT_TRUE(work == work_of(valid(v100_like()), name)) << name << ", another machine";
        EXPECT_TRUE(work == work_of(valid(random), name)) << name << ", another order of CTAs";
    }
}

}  // namespace
}  // namespace mergelane::testing
