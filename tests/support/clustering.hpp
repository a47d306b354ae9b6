// SPDX-License-Identifier: MIT
// Kernels, machines and queries for the tests of CTA clustering.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/clustering_spec.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "scripted.hpp"

namespace mergelane::testing {

/// A kernel that remembers by which of its streams each CTA was opened; an SM makes its streams one after the other.
class Remembering final : public KernelSource {
public:
    Remembering(std::vector<CtaScript> programs, const Dim3& grid)
        : kernel_(std::move(programs), static_cast<std::uint32_t>(grid.count())) {
        kernel_.info().grid = grid;
    }
    const KernelInfo& info() const override { return kernel_.info(); }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this, streams++); }

    /// The CTAs that each of `sms` has opened, in order.
    std::vector<std::vector<std::uint64_t>> by_sm(std::uint32_t sms) const {
        std::vector<std::vector<std::uint64_t>> list(sms);
        for (const auto& [stream, cta] : opened) list[stream / (streams / sms)].push_back(cta);
        return list;
    }

    mutable std::size_t streams = 0;
    mutable std::vector<std::pair<std::size_t, std::uint64_t>> opened;  ///< stream, CTA

private:
    class Stream final : public CtaStream {
    public:
        Stream(const Remembering& kernel, std::size_t number) : kernel_(kernel), number_(number), inner_(kernel.kernel_.make_stream()) {}
        void open(std::uint64_t cta) override {
            kernel_.opened.emplace_back(number_, cta);
            inner_->open(cta);
        }
        bool next_run(std::uint32_t warp, Run& run) override { return inner_->next_run(warp, run); }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            inner_->addresses(warp, inst, active, out);
        }

    private:
        const Remembering& kernel_;
        const std::size_t number_;
        std::unique_ptr<CtaStream> inner_;
    };

    ScriptedKernel kernel_;
};

/// Scripts in runs of several instructions, as strict as a kernel may be: it is asked for the addresses of a run's memory instructions
/// once, in program order, with its own instructions, before it is asked for the next run, and is opened again when all warps have ended.
class StrictKernel final : public KernelSource {
public:
    StrictKernel(std::vector<CtaScript> programs, std::uint32_t ctas, std::uint32_t run_length)
        : programs_(std::move(programs)), run_length_(run_length) {
        info_.name = "strict";
        info_.grid = {ctas, 1, 1};
        info_.block = {static_cast<std::uint32_t>(programs_.front().size()) * kWarpLanes, 1, 1};
        info_.registers_per_thread = 16;
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const StrictKernel& kernel) : kernel_(kernel) {}
        void open(std::uint64_t cta) override {
            for (const Warp& w : warps_) EXPECT_TRUE(w.ended) << "CTA " << cta << " is opened before the one before it has ended";
            program_ = &kernel_.programs_[cta % kernel_.programs_.size()];
            warps_.assign(program_->size(), Warp());
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            const WarpScript& script = (*program_)[warp];
            Warp& w = warps_[warp];
            EXPECT_EQ(next_access(script, w), w.next) << "a memory instruction was not asked for its addresses";
            w.asked = w.next;
            w.ended = w.next == script.insts().size();
            if (w.ended) return false;
            run = {&script.insts()[w.next], 0, script.accesses()[w.next].active};
            while (run.count < kernel_.run_length_ && w.next < script.insts().size() && script.accesses()[w.next].active == run.active) {
                ++run.count;
                ++w.next;
            }
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t, LaneAddresses& out) override {
            const WarpScript& script = (*program_)[warp];
            Warp& w = warps_[warp];
            w.asked = next_access(script, w);
            ASSERT_LT(w.asked, w.next);
            EXPECT_EQ(&inst, &script.insts()[w.asked]);
            out = script.accesses()[w.asked++].lanes;
        }

    private:
        struct Warp {
            std::size_t next = 0;   ///< instruction of the next run
            std::size_t asked = 0;  ///< behind the last instruction whose addresses it was asked for
            bool ended = false;
        };
        static std::size_t next_access(const WarpScript& script, const Warp& w) {
            std::size_t at = w.asked;
            for (; at < w.next; ++at) {
                if (is_memory(script.insts()[at]) && script.accesses()[at].active != 0) break;
            }
            return at;
        }
        const StrictKernel& kernel_;
        const CtaScript* program_ = nullptr;
        std::vector<Warp> warps_;
    };

    std::vector<CtaScript> programs_;
    KernelInfo info_;
    std::uint32_t run_length_;
};

/// Three warps that meet twice; the last one has ended by then.
inline std::vector<CtaScript> meeting_warps() {
    std::vector<CtaScript> ctas;
    for (std::uint32_t c = 0; c < 5; ++c) {
        CtaScript warps(3);
        for (std::uint32_t w = 0; w < 2; ++w) {
            for (std::uint32_t i = 0; i <= w + c; ++i) warps[w].load(1, {affine(Addr{c * 7 + i} * 128)}, {1});
            warps[w].barrier().load(2, {affine(Addr{c} * 4096)}, {1}).barrier().store({affine(Addr{w} * 128 + 65536)}, {2});
        }
        warps[2].compute(OpClass::int_add, 1);
        ctas.push_back(std::move(warps));
    }
    return ctas;
}

inline MachineSpec clustering_machine(std::uint32_t sms, std::string_view scheduler, std::string_view transform,
                                      const Registry& registry = built_in()) {
    MachineSpec s(registry);
    const MachineSpec like = icc60_like(1);
    s.gpu = like.gpu;
    s.gpu.clusters = sms;
    s.gpu.sms_per_cluster = 1;
    s.sm = like.sm;
    s.sm.cta_slots = 4;
    s.l1 = like.l1;
    s.noc = like.noc;
    s.dram = like.dram;
    s.dispatch.scheduler = scheduler;
    s.dispatch.transform = transform;
    return s;
}

inline RunResult run_kernel(const MachineSpec& s, const KernelSource& kernel) {
    OneKernel workload(kernel);
    return run_on(valid(s), workload);
}

inline void expect_each_once(const Remembering& kernel, std::string_view what) {
    std::set<std::uint64_t> tasks;
    for (const auto& [stream, cta] : kernel.opened) EXPECT_TRUE(tasks.insert(cta).second) << what << ": task " << cta << " twice";
    EXPECT_EQ(tasks.size(), kernel.info().ctas()) << what;
}

}  // namespace mergelane::testing
