// SPDX-License-Identifier: MIT
// Invariants of kernel transforms: every task runs exactly once, a transform sees its target machine, locality is counted by task, and
// querying the placement of CTAs differs from executing at placement.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cluster/locality_meter.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

/// What a test wants to know; kernels are const.
struct Journal {
    std::vector<std::uint64_t> opened;             ///< CTAs of the original kernel
    std::map<std::uint64_t, std::uint32_t> sm_of;  ///< CTA of the changed kernel: where it was placed
    TransformTarget target;
    bool one_task = false;  ///< every CTA says that it works on task 0
};

/// CTA i does what CTA n-1-i did, with so much shared memory that only `resident` fit on an SM.
class Reversed final : public KernelSource {
public:
    Reversed(const KernelSource& kernel, Journal& journal, std::uint32_t shared_bytes)
        : kernel_(kernel), journal_(journal), info_(kernel.info()) {
        info_.shared_bytes = std::max(info_.shared_bytes, shared_bytes);
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    bool wants_places() const override { return true; }
    void place(std::uint64_t cta, const CtaPlace& place) const override { journal_.sm_of[cta] = place.sm; }

private:
    std::uint64_t other(std::uint64_t cta) const { return info_.ctas() - 1 - cta; }

    class Stream final : public CtaStream {
    public:
        explicit Stream(const Reversed& kernel) : kernel_(kernel), inner_(kernel.kernel_.make_stream()) {}
        void open(std::uint64_t cta) override {
            kernel_.journal_.opened.push_back(kernel_.other(cta));
            inner_->open(kernel_.other(cta));
        }
        bool next_run(std::uint32_t warp, Run& run) override { return inner_->next_run(warp, run); }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            inner_->addresses(warp, inst, active, out);
        }
        std::uint64_t task(std::uint32_t, std::uint64_t opened) const override {
            return kernel_.journal_.one_task ? 0 : kernel_.other(opened);
        }

    private:
        const Reversed& kernel_;
        std::unique_ptr<CtaStream> inner_;
    };

    const KernelSource& kernel_;
    Journal& journal_;
    KernelInfo info_;
};

class Reverse final : public KernelTransform {
public:
    Reverse(Journal& journal, std::uint32_t shared_bytes) : journal_(journal), shared_bytes_(shared_bytes) {}
    std::unique_ptr<KernelSource> wrap(const KernelSource& kernel, const TransformTarget& target) const override {
        journal_.target = target;
        return std::make_unique<Reversed>(kernel, journal_, shared_bytes_);
    }

private:
    Journal& journal_;
    std::uint32_t shared_bytes_;
};

Registry with_reverse(Journal& journal, std::uint32_t shared_bytes = 0) {
    Registry registry = built_in_registry();
    registry.add<KernelTransform>(
        "reverse", "the last CTA first", {.persistent_ctas = false},
        [&journal, shared_bytes](const DispatchSpec&, const Sections&) { return std::make_unique<Reverse>(journal, shared_bytes); });
    return registry;
}

MachineSpec small(const Registry& registry) {
    MachineSpec s(registry);
    const MachineSpec like = icc60_like(2);
    s.gpu = like.gpu;
    s.gpu.sms_per_cluster = 2;
    s.sm = like.sm;
    s.l1 = like.l1;
    s.noc = like.noc;
    s.dram = like.dram;
    return s;
}

WarpScript some_loads() {
    WarpScript script;
    for (std::uint32_t i = 0; i < 6; ++i) script.load(1, {affine(Addr{i} * 4096)}, {1});
    return script;
}

TEST(KernelTransform, EveryTaskRunsExactlyOnce) {
    Journal journal;
    const Registry registry = with_reverse(journal);
    MachineSpec s = small(registry);
    s.dispatch.transform = "reverse";
    ScriptedWorkload workload({{some_loads()}}, 50);
    const RunResult result = run_on(valid(s), workload);
    EXPECT_EQ(result.stat("dispatch.ctas_completed"), 50u);
    EXPECT_EQ(std::set<std::uint64_t>(journal.opened.begin(), journal.opened.end()).size(), 50u);
    EXPECT_EQ(journal.opened.size(), 50u);
    EXPECT_EQ(journal.opened.front(), 49u);
    EXPECT_EQ(journal.target.sms, 4u);
    EXPECT_EQ(journal.sm_of.size(), 50u) << "it was told where each CTA runs";
}

TEST(KernelTransform, NoneIsTheKernelAsItIs) {
    Journal journal;
    const Registry registry = with_reverse(journal);
    ScriptedWorkload first({{some_loads()}}, 50), second({{some_loads()}}, 50);
    EXPECT_EQ(run_on(valid(small(registry)), first).digest, run_on(valid(small(built_in())), second).digest);
    EXPECT_TRUE(journal.opened.empty());
}

TEST(KernelTransform, MayChangeHowManyFit) {
    Journal journal;
    const Registry registry = with_reverse(journal, 40'000);
    MachineSpec s = small(registry);
    s.dispatch.transform = "reverse";
    ScriptedWorkload throttled({{some_loads()}}, 50);
    const RunResult result = run_on(valid(s), throttled);
    EXPECT_GT(journal.target.ctas_per_sm, 1u) << "of the kernel as it was";
    s.dispatch.transform = "none";
    ScriptedWorkload plain({{some_loads()}}, 50);
    EXPECT_GT(result.cycles, run_on(valid(s), plain).cycles) << "one CTA at a time takes longer";
}

TEST(KernelTransform, AsksForPlacesOnSeveralDispatchers) {
    Journal journal;
    const Registry registry = with_reverse(journal);
    MachineSpec s = small(registry);
    s.gpu.groups = 2;
    s.dispatch.transform = "reverse";
    ScriptedWorkload workload({{some_loads()}}, 40);
    run_on(valid(s), workload);
    std::set<std::uint32_t> sms;
    for (const auto& [cta, sm] : journal.sm_of) {
        sms.insert(sm);
        EXPECT_EQ(sm / 4, cta / 20) << "the second half of the grid is the second group's";
    }
    EXPECT_EQ(sms.size(), 8u) << "numbered over the whole machine";
}

TEST(KernelTransform, LocalitySpeaksOfTasks) {
    // CTAs that read the same words share data, whatever a transform renamed them to; what works on one task shares it with nobody.
    Journal journal;
    const Registry registry = with_reverse(journal);
    MachineSpec s = small(registry);
    s.section<LocalitySpec>().on = true;
    s.l1.enabled = false;
    ScriptedWorkload plain({{some_loads()}}, 8), reversed({{some_loads()}}, 8);
    const RunResult before = run_on(valid(s), plain);
    s.dispatch.transform = "reverse";
    const RunResult after = run_on(valid(s), reversed);
    EXPECT_GT(before.stat("locality.data_sharing_2000"), 0u);
    EXPECT_EQ(after.stat("locality.data_sharing_2000"), before.stat("locality.data_sharing_2000"));
    journal.one_task = true;
    ScriptedWorkload agents({{some_loads()}}, 8);
    const RunResult as_one = run_on(valid(s), agents);
    EXPECT_EQ(as_one.stat("locality.data_sharing_2000"), 0u);
    EXPECT_GT(as_one.stat("locality.line_sharing_2000"), 0u) << "the lines are still asked for again";
}

}  // namespace
}  // namespace mergelane::testing
