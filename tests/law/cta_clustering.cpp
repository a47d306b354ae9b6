// SPDX-License-Identifier: MIT
// Laws of CTA clustering: every task is done once, on the SM whose cluster it belongs to, whatever the agents, orders and dispatchers are;
// and a placement that would lose tasks ends the run.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include "cluster/icc_spec.hpp"
#include "core/error.hpp"
#include "dcl1_machines.hpp"
#include "dispatch/clustering_spec.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

using Order = TaskOrder::Kind;
using AgentId = ClusteringSpec::AgentId;

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

class OneKernel final : public Workload {
public:
    explicit OneKernel(const KernelSource& kernel) : kernel_(&kernel) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return std::exchange(kernel_, nullptr); }

private:
    std::string name_ = "one kernel";
    const KernelSource* kernel_;
};

/// Three warps that meet twice; the last one has ended by then.
std::vector<CtaScript> meeting_warps() {
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

MachineSpec machine(std::uint32_t sms, std::string_view scheduler, std::string_view transform, const Registry& registry = built_in()) {
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

RunResult run_kernel(const MachineSpec& s, const KernelSource& kernel, std::uint32_t threads = 1) {
    OneKernel workload(kernel);
    RunOptions options;
    options.threads = threads;
    Simulation simulation(valid(s), options);
    return simulation.run(workload);
}

void expect_each_once(const Remembering& kernel, std::string_view what) {
    std::set<std::uint64_t> tasks;
    for (const auto& [stream, cta] : kernel.opened) EXPECT_TRUE(tasks.insert(cta).second) << what << ": task " << cta << " twice";
    EXPECT_EQ(tasks.size(), kernel.info().ctas()) << what;
}

TEST(CtaClustering, AgentsDoEveryTaskOnceOnItsSm) {
    for (const std::uint32_t sms : {1u, 2u, 3u, 7u}) {
        for (const std::uint32_t agents : {0u, 1u, 3u, 9u}) {
            for (const Dim3& grid : {Dim3{1, 1, 1}, Dim3{5, 1, 1}, Dim3{6, 7, 1}, Dim3{29, 2, 1}}) {
                MachineSpec s = machine(sms, agents == 1 ? "random_per_turnaround" : "rr_then_demand", "agents");
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
        MachineSpec redirected = machine(3, "rr_strict", "redirect");
        MachineSpec agents = machine(3, "rr_then_demand", "agents");
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
    MachineSpec s = machine(1, "round_robin", "none");
    const Remembering plain(meeting_warps(), {30, 1, 1}), redirected(meeting_warps(), {30, 1, 1}), agents(meeting_warps(), {30, 1, 1});
    const RunResult as_it_is = run_kernel(s, plain);
    ClusteringSpec& clustering = s.section<ClusteringSpec>();
    clustering.cta_instructions = clustering.agent_instructions = clustering.task_instructions = 0;
    s.dispatch.transform = "redirect";
    EXPECT_EQ(run_kernel(s, redirected).cycles, as_it_is.cycles);
    EXPECT_EQ(redirected.opened, plain.opened);
    s.dispatch.transform = "agents";
    clustering.agents = 1;
    run_kernel(s, agents);
    for (std::uint64_t task = 0; task < 30; ++task) EXPECT_EQ(agents.opened[task].second, task) << "one after the other";
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
        run_kernel(machine(3, "lopsided", "agents", registry), kernel);
        FAIL() << "tasks of SM 1 were lost";
    } catch (const SimulationError& error) {
        EXPECT_NE(std::string(error.what()).find("SM 0 got 5 agents, but 4 fit"), std::string::npos) << error.what();
    }
}

TEST(CtaClustering, CostsWhatItIsSaidToCost) {
    const Remembering plain(meeting_warps(), {41, 1, 1}), redirected(meeting_warps(), {41, 1, 1}), agents(meeting_warps(), {41, 1, 1}),
        counting(meeting_warps(), {41, 1, 1});
    MachineSpec s = machine(3, "round_robin", "none");
    const std::uint64_t before = run_kernel(s, plain).warp_instructions;
    s.dispatch.transform = "redirect";
    EXPECT_EQ(run_kernel(s, redirected).warp_instructions, before + 41u * 3 * 12);
    s.dispatch.transform = "agents";
    const RunResult with_agents = run_kernel(s, agents);
    const std::uint64_t fixed = before + 3u * 4 * 3 * 10 + 41u * 3 * 8;  // the rest are the barriers at which warps wait for each other
    EXPECT_GE(with_agents.warp_instructions, fixed + (41u - 12) * 2);
    s.section<ClusteringSpec>().agent_id = AgentId::atomic;
    const RunResult with_counters = run_kernel(s, counting);
    EXPECT_EQ(with_counters.stat("l2.atomics"), 12u);
}

TEST(CtaClustering, RunsWithOtherMechanisms) {
    const auto runs = [](MachineSpec s, const std::string& what) {
        for (const char* transform : {"redirect", "agents"}) {
            s.dispatch.transform = transform;
            const Remembering kernel(meeting_warps(), {37, 1, 1});
            run_kernel(s, kernel);
            expect_each_once(kernel, what + ", " + transform);
        }
    };
    MachineSpec icc = icc60_like(2);
    icc.gpu.sms_per_cluster = 3;
    icc.section<IccSpec>().on = true;
    runs(icc, "ICC");
    MachineSpec pool = machine(3, "round_robin", "none");
    pool.lsu.front = "warp_pool";
    pool.sm.shared_path = "own";
    runs(pool, "WarpPool");
    runs(decoupled(4, 2), "decoupled L1s");
}

TEST(CtaClustering, IsTheSameForAnyNumberOfThreads) {
    for (const char* transform : {"redirect", "agents"}) {
        MachineSpec s = machine(4, "random_per_turnaround", transform);
        s.gpu.groups = 2;
        const ScriptedKernel one(meeting_warps(), 77), two(meeting_warps(), 77);
        EXPECT_EQ(run_kernel(s, one).digest, run_kernel(s, two, 4).digest) << transform;
    }
}

}  // namespace
}  // namespace mergelane::testing
