// SPDX-License-Identifier: MIT
// Hand-written kernels: every warp runs the instructions and addresses that a test specifies.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane::testing {

inline LaneAddresses affine(Addr base, std::int64_t stride = 4) {
    LaneAddresses lanes{};
    lanes.base = base;
    lanes.stride = stride;
    return lanes;
}

inline LaneAddresses scattered(const std::vector<Addr>& addresses) {
    LaneAddresses lanes{};
    lanes.affine = false;
    lanes.lane.fill(0);
    for (std::size_t i = 0; i < addresses.size() && i < kWarpLanes; ++i) lanes.lane[i] = addresses[i];
    return lanes;
}

struct Access {
    LaneAddresses lanes = affine(0);
    std::uint32_t active = 0xFFFFFFFFu;
    std::uint8_t lane_bytes = 4;
    Space space = Space::global;
    bool bypass_l1 = false;
    L2Hint l2_hint = {};
};

/// The program of one warp, built instruction by instruction.
class WarpScript {
public:
    using Regs = std::initializer_list<std::uint16_t>;

    /// Writes `dst` from `sources`.
    WarpScript& compute(OpClass op, std::uint16_t dst, Regs sources = {}) { return add(op, {dst}, sources, {}); }
    WarpScript& load(std::uint16_t dst, const Access& access, Regs sources = {}) { return add(OpClass::load, {dst}, sources, access); }
    WarpScript& atomic(std::uint16_t dst, const Access& access, Regs sources = {}) { return add(OpClass::atomic, {dst}, sources, access); }
    WarpScript& store(const Access& access, Regs sources = {}) { return add(OpClass::store, {}, sources, access); }
    WarpScript& fence() { return add(OpClass::fence, {}, {}, {}); }
    WarpScript& barrier(std::uint8_t number = 0) {
        Access access;
        access.lane_bytes = number;  // a barrier instruction carries its number there
        return add(OpClass::barrier, {}, {}, access);
    }
    /// Issues as soon as `source` is ready; its issue time is when a loaded value could be used.
    WarpScript& use(std::uint16_t source) { return compute(OpClass::int_add, 31, {source}); }

    const std::vector<StaticInst>& insts() const { return insts_; }
    const std::vector<Access>& accesses() const { return accesses_; }

private:
    WarpScript& add(OpClass op, Regs writes, Regs reads, const Access& access) {
        StaticInst inst;
        inst.pc = static_cast<std::uint32_t>(insts_.size());
        inst.op = op;
        inst.space = access.space;
        inst.lane_bytes = access.lane_bytes;
        inst.bypass_l1 = access.bypass_l1;
        inst.l2_hint = access.l2_hint;
        for (const std::uint16_t r : writes) inst.regs[inst.reg_count++] = r;
        inst.dst_count = inst.reg_count;
        for (const std::uint16_t r : reads) inst.regs[inst.reg_count++] = r;
        insts_.push_back(inst);
        accesses_.push_back(access);
        return *this;
    }

    std::vector<StaticInst> insts_;
    std::vector<Access> accesses_;
};

/// One script per warp; CTAs take the entries of `ctas` in turn.
using CtaScript = std::vector<WarpScript>;

class ScriptedKernel final : public KernelSource {
public:
    ScriptedKernel(std::vector<CtaScript> programs, std::uint32_t ctas) : programs_(std::move(programs)) {
        info_.name = "scripted";
        info_.grid = {ctas, 1, 1};
        info_.block = {static_cast<std::uint32_t>(programs_.front().size()) * kWarpLanes, 1, 1};
        info_.registers_per_thread = 16;
    }
    const KernelInfo& info() const override { return info_; }
    KernelInfo& info() { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const ScriptedKernel& kernel) : kernel_(kernel) {}
        void open(std::uint64_t cta) override {
            program_ = &kernel_.programs_[cta % kernel_.programs_.size()];
            next_.assign(program_->size(), 0);
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            const WarpScript& script = (*program_)[warp];
            const std::size_t at = next_[warp]++;
            if (at >= script.insts().size()) return false;
            run = {&script.insts()[at], 1, script.accesses()[at].active};
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t, LaneAddresses& out) override {
            const WarpScript& script = (*program_)[warp];
            out = script.accesses()[static_cast<std::size_t>(&inst - script.insts().data())].lanes;
        }

    private:
        const ScriptedKernel& kernel_;
        const CtaScript* program_ = nullptr;
        std::vector<std::size_t> next_;
    };

    std::vector<CtaScript> programs_;
    KernelInfo info_;
};

class ScriptedWorkload final : public Workload {
public:
    explicit ScriptedWorkload(std::vector<CtaScript> programs, std::uint32_t ctas = 0) {
        const auto count = ctas != 0 ? ctas : static_cast<std::uint32_t>(programs.size());
        kernels_.push_back(std::make_unique<ScriptedKernel>(std::move(programs), count));
    }
    explicit ScriptedWorkload(WarpScript script) : ScriptedWorkload(std::vector<CtaScript>{CtaScript{std::move(script)}}) {}

    void then(std::vector<CtaScript> programs, std::uint32_t ctas) {
        kernels_.push_back(std::make_unique<ScriptedKernel>(std::move(programs), ctas));
    }
    KernelInfo& info(std::size_t kernel = 0) { return kernels_[kernel]->info(); }
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return next_ < kernels_.size() ? kernels_[next_++].get() : nullptr; }

private:
    std::string name_ = "scripted";
    std::vector<std::unique_ptr<ScriptedKernel>> kernels_;
    std::size_t next_ = 0;
};

/// A workload of one kernel that somebody else owns.
class OneKernel final : public Workload {
public:
    explicit OneKernel(const KernelSource& kernel) : kernel_(&kernel) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return std::exchange(kernel_, nullptr); }

private:
    std::string name_ = "one kernel";
    const KernelSource* kernel_;
};

}  // namespace mergelane::testing
