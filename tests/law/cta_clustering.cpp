// SPDX-License-Identifier: MIT
// Invariants of CTA clustering: every task is executed once, on the SM whose cluster it belongs to, for all agents, orders and dispatchers;
// a placement that would lose tasks fails the run.
#include <gtest/gtest.h>

#include <map>

#include "cluster/icc_spec.hpp"
#include "clustering.hpp"
#include "core/error.hpp"
#include "dcl1_machines.hpp"

namespace mergelane::testing {
namespace {

using Order = TaskOrder::Kind;
using AgentId = ClusteringSpec::AgentId;

TEST(CtaClustering, AgentsDoEveryTaskOnceOnItsSm) {
    for (const std::uint32_t sms : {1u, 2u, 3u, 7u}) {
        for (const std::uint32_t agents : {0u, 1u, 3u, 9u}) {
            for (const Dim3& grid : {Dim3{1, 1, 1}, Dim3{5, 1, 1}, Dim3{6, 7, 1}, Dim3{29, 2, 1}}) {
                MachineSpec s = clustering_machine(sms, agents == 1 ? "random_per_turnaround" : "rr_then_demand", "agents");
                ClusteringSpec& clustering = s.section<ClusteringSpec>();
                clustering.agents = agents;
                clustering.agent_id = agents == 3 ? AgentId::atomic : AgentId::slot;
                clustering.order = agents == 9 ? Order::tiles : agents == 3 ? Order::columns : Order::rows;
                const Remembering kernel(meeting_warps(), grid);
                run_kernel(s, kernel);
                const std::string what =
                    std::to_string(sms) + " SMs, " + std::to_string(agents) + " agents, " + std::to_string(grid.count()) + " tasks";
                expect_each_once(kernel, what);
                const TaskOrder order = clustering.order_of(grid);
                const TaskClusters clusters(grid.count(), sms);
                std::map<std::uint64_t, std::uint32_t> home;
                for (std::uint64_t place = 0; place < grid.count(); ++place) home[order.cta(place)] = clusters.of(place).cluster;
                const auto by_sm = kernel.by_sm(sms);
                for (std::uint32_t sm = 0; sm < sms; ++sm) {
                    for (const std::uint64_t cta : by_sm[sm]) EXPECT_EQ(home.at(cta), sm) << what;
                }
            }
        }
    }
}

TEST(CtaClustering, RedirectedCtasDealtOutStrictlyAreWhereAgentsAre) {
    for (const Order order : {Order::rows, Order::columns, Order::tiles}) {
        MachineSpec redirected = clustering_machine(3, "rr_strict", "redirect");
        MachineSpec agents = clustering_machine(3, "rr_then_demand", "agents");
        redirected.section<ClusteringSpec>().order = agents.section<ClusteringSpec>().order = order;
        const Remembering first(meeting_warps(), {8, 9, 1}), second(meeting_warps(), {8, 9, 1});
        run_kernel(redirected, first);
        run_kernel(agents, second);
        expect_each_once(first, "redirected");
        auto by_redirection = first.by_sm(3), by_agents = second.by_sm(3);
        for (std::uint32_t sm = 0; sm < 3; ++sm) {
            std::sort(by_redirection[sm].begin(), by_redirection[sm].end());
            std::sort(by_agents[sm].begin(), by_agents[sm].end());
        }
        EXPECT_EQ(by_redirection, by_agents);
    }
}

TEST(CtaClustering, OnOneSmWithoutOverheadNothingChanges) {
    MachineSpec s = clustering_machine(1, "round_robin", "none");
    const Remembering plain(meeting_warps(), {30, 1, 1}), redirected(meeting_warps(), {30, 1, 1}), agents(meeting_warps(), {30, 1, 1});
    const RunResult as_it_is = run_kernel(s, plain);
    ClusteringSpec& clustering = s.section<ClusteringSpec>();
    clustering.cta_instructions = clustering.agent_instructions = 0;
    s.dispatch.transform = "redirect";
    EXPECT_EQ(run_kernel(s, redirected).cycles, as_it_is.cycles);
    EXPECT_EQ(redirected.opened, plain.opened);
    s.dispatch.transform = "agents";
    clustering.agents = 1;
    run_kernel(s, agents);
    for (std::uint64_t task = 0; task < 30; ++task) EXPECT_EQ(agents.opened[task].second, task) << "one after the other";
}

TEST(CtaClustering, UncutItChangesOnlyTheOrder) {
    MachineSpec s = clustering_machine(3, "rr_strict", "redirect");
    ClusteringSpec& clustering = s.section<ClusteringSpec>();
    clustering.order = Order::bands;
    clustering.clusters = 1;
    const Remembering kernel(meeting_warps(), {8, 9, 1});
    run_kernel(s, kernel);
    expect_each_once(kernel, "uncut");
    const TaskOrder order = clustering.order_of({8, 9, 1});
    const auto by_sm = kernel.by_sm(3);
    for (std::uint32_t sm = 0; sm < 3; ++sm) {
        for (std::size_t k = 0; k < by_sm[sm].size(); ++k) EXPECT_EQ(by_sm[sm][k], order.cta(3 * k + sm));
    }
}

/// Gives SM 1 nothing.
class Lopsided final : public CtaScheduler {
public:
    void start(const DispatchState& state) override {
        next_ = state.first_cta;
        end_ = state.end_cta;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        for (std::uint32_t sm = 0; sm < state.sms() && next_ < end_; ++sm) {
            if (sm != 1 && state.free_contexts[sm] != 0) out.push_back({next_++, sm});
        }
    }
    std::uint64_t remaining() const override { return end_ - next_; }

private:
    std::uint64_t next_ = 0, end_ = 0;
};

TEST(CtaClustering, AgentsThatAreMissingOnAnSmAreNoticed) {
    Registry registry = built_in_registry();
    registry.add<CtaScheduler>("lopsided", "SM 1 gets nothing",
                               [](const DispatchSpec&, const Sections&) { return std::make_unique<Lopsided>(); });
    const Remembering kernel(meeting_warps(), {40, 1, 1});
    try {
        run_kernel(clustering_machine(3, "lopsided", "agents", registry), kernel);
        FAIL() << "tasks of SM 1 were lost";
    } catch (const SimulationError& error) {
        EXPECT_NE(std::string(error.what()).find(" received 5 agents, but 4 fit"), std::string::npos) << error.what();
    }
}

TEST(CtaClustering, CostsWhatItIsSaidToCost) {
    const Remembering plain(meeting_warps(), {41, 1, 1}), redirected(meeting_warps(), {41, 1, 1}), agents(meeting_warps(), {41, 1, 1}),
        counting(meeting_warps(), {41, 1, 1});
    MachineSpec s = clustering_machine(3, "round_robin", "none");
    const std::uint64_t before = run_kernel(s, plain).warp_instructions;
    s.dispatch.transform = "redirect";
    EXPECT_EQ(run_kernel(s, redirected).warp_instructions, before + 41u * 3 * 12);
    s.dispatch.transform = "agents";
    const RunResult with_agents = run_kernel(s, agents);
    const std::uint64_t fixed = before + 3u * 4 * 3 * 10 + 41u * 3 * 8;  // the rest are the barriers at which warps wait for each other
    EXPECT_GE(with_agents.warp_instructions, fixed + (41u - 12) * 3);
    s.section<ClusteringSpec>().agent_id = AgentId::atomic;
    const RunResult with_counters = run_kernel(s, counting);
    EXPECT_EQ(with_counters.stat("l2.atomics"), 12u);
}

/// Scripts whose barriers are watched: nobody gets past one before all warps of the CTA have come to it or have ended.
class Meeting final : public KernelSource {
public:
    Meeting(std::vector<CtaScript> programs, std::uint32_t ctas) : kernel_(std::move(programs), ctas) {}
    const KernelInfo& info() const override { return kernel_.info(); }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }

    mutable std::uint64_t met = 0, missed = 0;

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const Meeting& kernel)
            : kernel_(kernel), inner_(kernel.kernel_.make_stream()), warps_(kernel.info().warps_per_cta()) {}
        void open(std::uint64_t cta) override {
            std::fill(warps_.begin(), warps_.end(), Warp());
            inner_->open(cta);
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            Warp& w = warps_[warp];
            if (std::exchange(w.waits, false)) {
                const bool together = std::all_of(warps_.begin(), warps_.end(),
                                                  [&](const Warp& other) { return other.ended || other.barriers >= w.barriers; });
                ++(together ? kernel_.met : kernel_.missed);
            }
            w.ended = !inner_->next_run(warp, run);
            w.waits = !w.ended && run.first->op == OpClass::barrier;
            if (w.waits) ++w.barriers;
            return !w.ended;
        }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            inner_->addresses(warp, inst, active, out);
        }

    private:
        struct Warp {
            std::uint32_t barriers = 0;  ///< it has come to
            bool waits = false;
            bool ended = false;
        };
        const Meeting& kernel_;
        std::unique_ptr<CtaStream> inner_;
        std::vector<Warp> warps_;
    };

    ScriptedKernel kernel_;
};

/// Warps that end with a barrier, the first one last: it is asked first what comes next when all are let go.
std::vector<CtaScript> warps_ending_at_a_barrier() {
    std::vector<CtaScript> ctas;
    for (std::uint32_t c = 0; c < 4; ++c) {
        CtaScript warps(4);
        for (std::uint32_t w = 0; w < 3; ++w) {
            for (std::uint32_t i = 0; i < 1 + 5 * ((w + c) % 3); ++i) warps[w].compute(OpClass::int_div, 1, {1});
            for (std::uint32_t i = w; i < 3; ++i) warps[w].barrier();
        }
        warps[3].compute(OpClass::int_add, 1);
        ctas.push_back(std::move(warps));
    }
    return ctas;
}

TEST(CtaClustering, WarpsOfATaskMeetAtItsBarriers) {
    for (const auto& [instructions, prefetch] : {std::pair{1u, 0u}, {8u, 0u}, {1u, 2u}, {8u, 1u}}) {
        MachineSpec s = clustering_machine(2, "round_robin", "agents");
        s.section<ClusteringSpec>().task_instructions = instructions;
        s.section<ClusteringSpec>().prefetch = prefetch;
        const Meeting twice(meeting_warps(), 41), last(warps_ending_at_a_barrier(), 41);
        run_kernel(s, twice);
        EXPECT_EQ(twice.met, 41u * 2 * 2) << "two warps, twice in every task";
        EXPECT_EQ(twice.missed, 0u);
        run_kernel(s, last);
        EXPECT_EQ(last.met, 41u * (1 + 2 + 3));
        EXPECT_EQ(last.missed, 0u);
    }
}

/// Warps that have nothing to do with each other work at the same time in every task, not one after the other.
TEST(CtaClustering, WarpsOfATaskWorkSideBySide) {
    CtaScript warps(4);
    for (WarpScript& warp : warps) {
        for (std::uint32_t i = 0; i < 40; ++i) warp.compute(OpClass::int_add, 1, {1});
    }
    MachineSpec s = clustering_machine(1, "round_robin", "agents");
    s.section<ClusteringSpec>().agents = 1;
    const Remembering four({warps}, {20, 1, 1}), alone({CtaScript(1, warps[0])}, {20, 1, 1});
    const Cycle together = run_kernel(s, four).cycles;
    EXPECT_LT(together, run_kernel(s, alone).cycles * 3 / 2) << "an SM has work for four warps";
}

TEST(CtaClustering, RunsWithOtherMechanisms) {
    const auto runs = [](MachineSpec s, const std::string& what) {
        for (const char* transform : {"redirect", "agents"}) {
            s.dispatch.transform = transform;
            s.section<ClusteringSpec>().bypass = "0,3";
            s.section<ClusteringSpec>().prefetch = s.dispatch.transform == "agents" ? 2 : 0;
            const Remembering kernel(meeting_warps(), {37, 1, 1});
            run_kernel(s, kernel);
            expect_each_once(kernel, what + ", " + transform);
        }
    };
    MachineSpec icc = icc60_like(2);
    icc.gpu.sms_per_cluster = 3;
    icc.section<IccSpec>().on = true;
    runs(icc, "ICC");
    MachineSpec pool = clustering_machine(3, "round_robin", "none");
    pool.lsu.front = "warp_pool";
    pool.sm.shared_path = SmSpec::SharedPath::own;
    runs(pool, "WarpPool");
    runs(decoupled(4, 2), "decoupled L1s");
}

}  // namespace
}  // namespace mergelane::testing
