// SPDX-License-Identifier: MIT
#include "explain/changed_workload.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "explain/wrapped_kernel.hpp"

namespace mergelane::explain {

namespace {

constexpr Addr kOtherData = Addr{1} << 40;  ///< beyond the data of any kernel
constexpr Addr kAtomicWord = 4;

void spread(LaneAddresses& lanes, Addr base, std::uint32_t lane_bytes) {
    lanes.affine = true;
    lanes.run_count = 0;
    lanes.base = base;
    lanes.stride = lane_bytes;
}

void make_list(LaneAddresses& lanes, std::uint32_t active) {
    if (lanes.run_count != 0) {
        lanes.expand(active);
    } else if (lanes.affine) {
        for (std::uint32_t i = 0; i < kWarpLanes; ++i) lanes.lane[i] = lanes.of(i);
    }
    lanes.affine = false;
}

/// Other addresses for the same instructions.
class OtherAddresses final : public WrappedStream {
public:
    OtherAddresses(std::unique_ptr<CtaStream> inner, Change change, const KernelInfo& info)
        : WrappedStream(std::move(inner)), change_(change), warps_(info.warps_per_cta()) {}

    void open(std::uint64_t cta) override {
        cta_ = cta;
        WrappedStream::open(cta);
    }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        WrappedStream::addresses(warp, inst, active, out);
        if (has_values(inst)) return;
        const bool shared = inst.space == Space::shared, atomic = inst.op == OpClass::atomic;
        if (change_ == Change::coalesced && !shared && !atomic) {
            make_list(out, active);
            const Addr first = out.lane[static_cast<std::uint32_t>(std::countr_zero(active))];
            spread(out, first - first % (Addr{kWarpLanes} * inst.lane_bytes), inst.lane_bytes);
        } else if (change_ == Change::conflict_free && shared) {
            spread(out, 0, inst.lane_bytes);
        } else if (change_ == Change::spread_atomics && atomic && !shared) {
            spread(out, kOtherData + (cta_ * warps_ + warp) * kWarpLanes * kAtomicWord, inst.lane_bytes);
        }
    }

private:
    const Change change_;
    const std::uint64_t warps_;
    std::uint64_t cta_ = 0;
};

/// Fewer instructions of the same kernel.
class FewerInstructions final : public WrappedStream {
public:
    /// `most`: of a warp; 0: any number, but no barriers.
    FewerInstructions(std::unique_ptr<CtaStream> inner, std::uint64_t most, std::uint32_t warps)
        : WrappedStream(std::move(inner)), most_(most), warps_(warps) {}

    void open(std::uint64_t cta) override {
        std::fill(warps_.begin(), warps_.end(), Warp());
        WrappedStream::open(cta);
    }
    bool next_run(std::uint32_t warp, Run& run) override {
        return most_ == 0 ? run_without_barriers(warps_[warp], warp, run) : shorter_run(warps_[warp], warp, run);
    }

private:
    struct Warp {
        std::uint64_t executed = 0;
        Run rest;
    };
    static bool is_barrier(const StaticInst& inst) { return inst.op == OpClass::barrier; }

    bool shorter_run(Warp& w, std::uint32_t warp, Run& run) {
        if (w.executed == most_ || !WrappedStream::next_run(warp, run)) return false;
        run.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(run.count, most_ - w.executed));
        w.executed += run.count;
        return true;
    }
    bool run_without_barriers(Warp& w, std::uint32_t warp, Run& run) {
        do {
            while (w.rest.count != 0 && is_barrier(*w.rest.first)) {
                ++w.rest.first;
                --w.rest.count;
            }
            if (w.rest.count != 0) break;
        } while (WrappedStream::next_run(warp, w.rest));
        if (w.rest.count == 0) return false;
        run = w.rest;
        run.count = static_cast<std::uint32_t>(std::find_if(run.first, run.first + run.count, is_barrier) - run.first);
        w.rest.first += run.count;
        w.rest.count -= run.count;
        return true;
    }

    const std::uint64_t most_;
    std::vector<Warp> warps_;
};

/// Two copies of every CTA in one.
class TwiceTheWarps final : public WrappedStream {
public:
    explicit TwiceTheWarps(const KernelSource& kernel)
        : WrappedStream(kernel.make_stream()), second_(kernel.make_stream()), warps_(kernel.info().warps_per_cta()) {}

    void open(std::uint64_t cta) override {
        WrappedStream::open(cta);
        second_->open(cta);
    }
    bool next_run(std::uint32_t warp, Run& run) override {
        return warp < warps_ ? WrappedStream::next_run(warp, run) : second_->next_run(warp - warps_, run);
    }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        if (warp < warps_) return WrappedStream::addresses(warp, inst, active, out);
        second_->addresses(warp - warps_, inst, active, out);
        make_list(out, active);
        for (Addr& address : out.lane) address += inst.space == Space::shared ? 0 : kOtherData;
    }
    std::uint64_t task(std::uint32_t warp, std::uint64_t opened) const override {
        return warp < warps_ ? WrappedStream::task(warp, opened) : second_->task(warp - warps_, opened);
    }

private:
    std::unique_ptr<CtaStream> second_;
    const std::uint32_t warps_;
};

class ChangedKernel final : public WrappedKernel {
public:
    ChangedKernel(const KernelSource& kernel, const ChangePlan& plan) : WrappedKernel(kernel), plan_(plan), info_(kernel.info()) {
        std::uint64_t ctas = info_.ctas();
        if (plan.change == Change::twice_the_warps) {
            info_.block = {2 * info_.warps_per_cta() * kWarpLanes, 1, 1};
            info_.shared_bytes *= 2;
        }
        if (plan.change == Change::whole_waves && ctas > plan.ctas_at_a_time) ctas -= ctas % plan.ctas_at_a_time;
        if (ctas != info_.ctas() && ctas <= kMostCtas) info_.grid = {static_cast<std::uint32_t>(ctas), 1, 1};
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override {
        if (plan_.change == Change::no_barriers)
            return std::make_unique<FewerInstructions>(inner().make_stream(), 0, info_.warps_per_cta());
        if (plan_.change == Change::equal_ctas)
            return std::make_unique<FewerInstructions>(inner().make_stream(), plan_.instructions_per_warp, info_.warps_per_cta());
        if (plan_.change == Change::twice_the_warps) return std::make_unique<TwiceTheWarps>(inner());
        return std::make_unique<OtherAddresses>(inner().make_stream(), plan_.change, inner().info());
    }

private:
    static constexpr std::uint64_t kMostCtas = ~std::uint32_t{0};
    const ChangePlan plan_;
    KernelInfo info_;
};

/// Whether the change would leave warps waiting at mbarriers for others that never arrive, or divide clusters of CTAs.
bool breaks(Change change, const KernelSource& kernel) {
    const auto program = kernel.listing().instructions;
    if (change == Change::whole_waves) return kernel.info().cluster_ctas() > 1;
    if (change != Change::no_barriers && change != Change::twice_the_warps && change != Change::equal_ctas) return false;
    return kernel.info().cluster_ctas() > 1 || std::any_of(program.begin(), program.end(), has_values);
}

}  // namespace

ChangedWorkload::ChangedWorkload(std::unique_ptr<Workload> inner, const ChangePlan& plan) : inner_(std::move(inner)), plan_(plan) {}
ChangedWorkload::~ChangedWorkload() = default;

const KernelSource* ChangedWorkload::next_kernel() {
    const KernelSource* const next = inner_->next_kernel();
    kernel_.reset();
    if (next == nullptr || next->wants_places() || plan_.change == Change::none || breaks(plan_.change, *next)) return next;
    kernel_ = std::make_unique<ChangedKernel>(*next, plan_);
    return kernel_.get();
}

}  // namespace mergelane::explain
