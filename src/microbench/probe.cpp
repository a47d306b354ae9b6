// SPDX-License-Identifier: MIT
#include "microbench/probe.hpp"

#include <algorithm>

namespace mergelane::microbench {

namespace {

class ProbeKernel final : public KernelSource {
public:
    ProbeKernel(const std::string& name, Probe probe) : probe_(std::move(probe)), sms_(probe_.ctas) {
        info_ = {name, {static_cast<std::uint32_t>(probe_.ctas), 1, 1}, {probe_.warps * kWarpLanes, 1, 1}, 16, 1, probe_.shared_bytes};
        info_.cluster.x = probe_.cluster;
        for (const StaticInst& inst : probe_.body) {
            for (std::uint32_t r = 0; r < std::max(inst.dst_count, inst.reg_count); ++r)
                info_.register_slots = std::max(info_.register_slots, inst.regs[r] + 1u);
        }
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    bool wants_places() const override { return true; }
    void place(std::uint64_t cta, const CtaPlace& place) const override { sms_[cta] = place.sm; }
    Listing listing() const override { return {probe_.body, nullptr}; }

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const ProbeKernel& kernel) : kernel_(kernel), rounds_(kernel.probe_.warps) {}
        void open(std::uint64_t cta) override {
            cta_ = cta;
            sm_ = kernel_.sms_[cta];
            std::fill(rounds_.begin(), rounds_.end(), 0);
            active_ = kernel_.probe_.active(cta, sm_);
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            if (!active_ || rounds_[warp] == kernel_.probe_.rounds) return false;
            ++rounds_[warp];
            run = {kernel_.probe_.body.data(), static_cast<std::uint32_t>(kernel_.probe_.body.size()), 0xFFFFFFFFu};
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t, LaneAddresses& out) override {
            kernel_.probe_.addresses({cta_, sm_, warp, rounds_[warp] - 1}, inst.pc, out);
        }

    private:
        const ProbeKernel& kernel_;
        std::uint64_t cta_ = 0;
        std::uint32_t sm_ = 0;
        bool active_ = true;
        std::vector<std::uint64_t> rounds_;  ///< begun, by warp
    };

    const Probe probe_;
    KernelInfo info_;
    mutable std::vector<std::uint32_t> sms_;  ///< by CTA
};

class ProbeWorkload final : public Workload {
public:
    ProbeWorkload(std::string name, std::vector<Probe> probes) : name_(std::move(name)) {
        for (Probe& probe : probes) kernels_.push_back(std::make_unique<ProbeKernel>(name_, std::move(probe)));
    }
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return next_ < kernels_.size() ? kernels_[next_++].get() : nullptr; }

private:
    std::string name_;
    std::vector<std::unique_ptr<ProbeKernel>> kernels_;
    std::size_t next_ = 0;
};

}  // namespace

StaticInst dependent_load(Space space, bool bypass_l1) {
    StaticInst inst;
    inst.op = OpClass::load;
    inst.space = space;
    inst.bypass_l1 = bypass_l1;
    inst.dst_count = inst.reg_count = 1;
    return inst;
}

StaticInst independent(OpClass op, std::uint32_t number, std::uint8_t lane_bytes, bool bypass_l1, std::uint32_t of) {
    StaticInst inst;
    inst.pc = number;
    inst.op = op;
    inst.lane_bytes = lane_bytes;
    inst.bypass_l1 = bypass_l1;
    inst.dst_count = op == OpClass::store ? 0 : 1;
    inst.reg_count = op == OpClass::store && of == number ? 0 : 1;
    inst.regs[0] = static_cast<std::uint16_t>(op == OpClass::store ? of : number);
    return inst;
}

std::unique_ptr<Workload> probe_workload(std::string name, std::vector<Probe> kernels) {
    return std::make_unique<ProbeWorkload>(std::move(name), std::move(kernels));
}

}  // namespace mergelane::microbench
