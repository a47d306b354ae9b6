// SPDX-License-Identifier: MIT
// Invariants of prefetching agents: every task is still executed once, with its original loads and stores. The only additions are the
// prefetches, one per predictable load, and those loads then hit in the L1.
#include <map>

#include "clustering.hpp"
#include "dispatch/kernel_transform.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kAll = 0xFFFFFFFFu;

Access with(LaneAddresses lanes, Space space = Space::global, std::uint32_t active = kAll, bool bypass = false) {
    Access access{lanes, active, 4, space};
    access.bypass_l1 = bypass;
    return access;
}

/// Three warps with everything that matters: addresses that depend on loads, other spaces, lanes switched off, loads past the L1, barriers
/// within a run, atomics, a warp that ends early and one that has nothing to do.
std::vector<CtaScript> mixed_tasks() {
    std::vector<CtaScript> ctas;
    for (std::uint32_t c = 0; c < 5; ++c) {
        const Addr own = Addr{c} * 65536;
        CtaScript warps(3);
        warps[0]
            .compute(OpClass::int_add, 1)
            .load(2, with(affine(own)), {1})
            .load(3, with(affine(own + 128)), {2});  // needs the one before
        warps[0].load(4, with(affine(0), Space::shared)).compute(OpClass::int_add, 2, {1}).load(5, with(affine(own + 256)), {2});
        for (std::uint32_t i = 0; i < c; ++i) warps[0].load(6, with(affine(own + 512 + i * 128, 8)), {1});
        warps[0].barrier().load(7, with(affine(own + 4096))).store(with(affine(own + 8192)), {7});
        warps[1].load(1, with(scattered({own, own + 4096, own + 64}), Space::global, 7)).load(2, with(affine(own + 128), Space::global, 0));
        warps[1].load(3, with(affine(own + 640), Space::global, kAll, true)).load(4, with(affine(own + 16), Space::local));
        warps[1].compute(OpClass::int_add, 3, {1}).compute(OpClass::int_add, 3).load(5, with(affine(own + 768)), {3});
        warps[1].atomic(6, with(affine(own, 0))).load(8, with(affine(own + 900)), {6}).load(9, with(affine(own + 1024))).barrier();
        for (std::uint32_t i = 0; i < 3 * c; ++i) warps[1].compute(OpClass::int_div, 1, {1});
        if (c % 2 == 0) warps[2].load(1, with(affine(own + 2048)));
        ctas.push_back(std::move(warps));
    }
    return ctas;
}

/// Written down once more: the loads among the first ones of a warp, before a barrier, that use the L1 and whose addresses do not depend
/// on what others of them bring.
std::uint64_t fetchable(const WarpScript& script, std::uint32_t most) {
    std::uint64_t count = 0;
    std::map<std::uint16_t, bool> loaded;
    for (std::size_t i = 0; i < script.insts().size() && count < most; ++i) {
        const StaticInst& inst = script.insts()[i];
        const std::uint32_t active = script.accesses()[i].active;
        if (inst.op == OpClass::barrier) break;
        if (active == 0) continue;
        bool unknown = false;
        for (std::uint32_t r = inst.dst_count; r < inst.reg_count; ++r) unknown = unknown || loaded[inst.regs[r]];
        if (inst.op == OpClass::load && inst.space == Space::global && !inst.bypass_l1 && !unknown) ++count;
        const bool memory = inst.op == OpClass::load || inst.op == OpClass::atomic;
        for (std::uint32_t d = 0; d < inst.dst_count; ++d)
            loaded[inst.regs[d]] = memory || unknown || (loaded[inst.regs[d]] && active != kAll);
    }
    return count;
}

/// For all tasks but the first of each agent.
std::uint64_t expected_fetches(const std::vector<CtaScript>& programs, std::uint64_t tasks, std::uint32_t sms, std::uint32_t agents,
                               std::uint32_t most) {
    const TaskClusters clusters(tasks, sms);
    std::uint64_t count = 0;
    for (std::uint64_t task = 0; task < tasks; ++task) {
        if (clusters.of(task).within < agents) continue;
        for (const WarpScript& warp : programs[task % programs.size()]) count += fetchable(warp, most);
    }
    return count;
}

MachineSpec fetching_machine(std::uint32_t sms, std::uint32_t agents, std::uint32_t prefetch) {
    MachineSpec s = clustering_machine(sms, "round_robin", "agents");
    s.section<ClusteringSpec>().agents = agents;
    s.section<ClusteringSpec>().prefetch = prefetch;
    return s;
}

TEST(ClusteringPrefetch, EveryTaskIsDoneOnceOnItsSm) {
    for (const std::uint32_t sms : {1u, 3u}) {
        for (const std::uint32_t agents : {0u, 1u, 3u}) {
            for (const std::uint32_t tasks : {1u, 5u, 43u}) {
                const Remembering kernel(meeting_warps(), {tasks, 1, 1});
                run_kernel(fetching_machine(sms, agents, 2), kernel);
                expect_each_once(kernel, std::to_string(sms) + " SMs, " + std::to_string(agents) + " agents");
                const TaskClusters clusters(tasks, sms);
                const auto by_sm = kernel.by_sm(sms);
                for (std::uint32_t sm = 0; sm < sms; ++sm) {
                    for (const std::uint64_t cta : by_sm[sm]) EXPECT_EQ(clusters.of(cta).cluster, sm);
                }
            }
        }
    }
}

TEST(ClusteringPrefetch, AddsItsFetchesAndNothingElse) {
    constexpr std::uint32_t kTasks = 46;
    const std::vector<CtaScript> programs = mixed_tasks();
    for (const std::uint32_t length : {1u, 3u, 16u}) {
        const StrictKernel kernel(programs, kTasks, length);
        const RunResult plain = run_kernel(fetching_machine(2, 3, 0), kernel);
        for (const std::uint32_t most : {1u, 2u, 3u, 5u, 32u}) {
            const RunResult fetched = run_kernel(fetching_machine(2, 3, most), kernel);
            const std::uint64_t fetches = expected_fetches(programs, kTasks, 2, 3, most);
            EXPECT_GT(fetches, kTasks * 2u);
            for (const char* more : {"sm.loads", "sm.memory_instructions"})
                EXPECT_EQ(fetched.stat(more), plain.stat(more) + fetches) << more << ", " << most << " loads, runs of " << length;
            for (const char* same : {"sm.shared_instructions", "l2.writes", "l2.atomics", "lanes.store", "lanes.int_add", "lanes.int_div"})
                EXPECT_EQ(fetched.stat(same), plain.stat(same)) << same << ", " << most << " loads, runs of " << length;
        }
    }
}

/// Every line is read once; of the two warps the first has always long ended when the other does.
std::vector<CtaScript> streaming(std::uint32_t ctas) {
    std::vector<CtaScript> list;
    for (std::uint32_t c = 0; c < ctas; ++c) {
        CtaScript warps(2);
        for (std::uint32_t w = 0; w < 2; ++w) {
            for (std::uint32_t i = 0; i < 4; ++i)
                warps[w].load(static_cast<std::uint16_t>(i + 1), {affine((Addr{c} * 8 + w * 4 + i) * 128)});
            warps[w].compute(OpClass::int_add, 5, {1, 2, 3, 4});
        }
        for (std::uint32_t i = 0; i < 8; ++i) warps[1].compute(OpClass::int_div, 5, {5});
        list.push_back(std::move(warps));
    }
    return list;
}

TEST(ClusteringPrefetch, TheFirstLoadsOfTheNextTaskFindTheirData) {
    constexpr std::uint32_t kTasks = 40, kFirst = 4;  // two agents on each of two SMs
    constexpr std::uint64_t kSectors = 4;
    const StrictKernel kernel(streaming(kTasks), kTasks, 4);
    const RunResult plain = run_kernel(fetching_machine(2, 2, 0), kernel);
    EXPECT_EQ(plain.stat("l1.sector_hits") + plain.stat("l1.sector_pending_hits"), 0u);
    Cycle before = plain.cycles;
    for (const std::uint64_t loads : {1u, 2u, 4u}) {
        const RunResult fetched = run_kernel(fetching_machine(2, 2, static_cast<std::uint32_t>(loads)), kernel);
        const std::uint64_t hits = fetched.stat("l1.sector_hits");
        EXPECT_EQ(hits + fetched.stat("l1.sector_pending_hits"), (kTasks - kFirst) * 2 * loads * kSectors);
        EXPECT_GE(hits, (kTasks - kFirst) * loads * kSectors) << "those of the first warp are there in time";
        EXPECT_EQ(fetched.stat("l1.fills"), plain.stat("l1.fills")) << "nothing comes twice";
        EXPECT_LT(fetched.cycles, before);
        before = fetched.cycles;
    }
}

TEST(ClusteringPrefetch, LeavesOutWhatGoesPastTheL1) {
    const StrictKernel kernel(streaming(40), 40, 4);
    MachineSpec s = fetching_machine(2, 2, 2);
    s.section<ClusteringSpec>().bypass = "0,1";
    const RunResult result = run_kernel(s, kernel);
    EXPECT_EQ(result.stat("l1.fills"), 40u * 2 * 2);
    EXPECT_EQ(result.stat("l1.sector_accesses"), (40u * 2 * 2 + 36u * 2 * 2) * 4) << "loads 2 and 3, and what was fetched for them";
}

/// One word for each instruction of an agent that is not arithmetic: for which task, and what.
std::string story(const KernelSource& agents) {
    const std::unique_ptr<CtaStream> stream = agents.make_stream();
    stream->open(0);
    std::string text;
    Run run;
    while (stream->next_run(0, run)) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            const StaticInst& inst = run.first[i];
            if (inst.op < OpClass::load) continue;
            if (inst.op == OpClass::barrier) {
                text += "| ";
                continue;
            }
            LaneAddresses lanes;
            stream->addresses(0, inst, run.active, lanes);
            const char* const what = inst.op == OpClass::store ? "store" : inst.dst_count == 0 ? "fetch" : "load";
            text += std::to_string(stream->task(0, 0)) + ":" + what + std::to_string(lanes.base) + " ";
        }
    }
    return text;
}

TEST(ClusteringPrefetch, ComesBetweenTasksAndCountsForTheNext) {
    std::vector<CtaScript> programs;
    for (std::uint32_t c = 0; c < 3; ++c) {
        WarpScript warp;
        for (std::uint32_t i = 0; i < 3; ++i) warp.load(static_cast<std::uint16_t>(i), {affine(Addr{c} * 1000 + i)});
        programs.push_back({warp.store({affine(Addr{c} * 1000 + 9)}, {0})});
    }
    const StrictKernel kernel(programs, 3, 2);
    const auto told = [&](std::uint32_t prefetch) {
        const MachineSpec s = fetching_machine(1, 1, prefetch);
        const auto agents = s.policies().make<KernelTransform>("agents", s.dispatch)->wrap(kernel, {1, 1});
        agents->place(0, {});
        const std::string text = story(*agents);
        agents->finish();
        return text;
    };
    EXPECT_EQ(told(0),
              "0:load0 0:load1 0:load2 0:store9 | 1:load1000 1:load1001 1:load1002 1:store1009 | "
              "2:load2000 2:load2001 2:load2002 2:store2009 ");
    EXPECT_EQ(told(2),
              "0:load0 0:load1 0:load2 0:store9 1:fetch1000 1:fetch1001 | 1:load1000 1:load1001 1:load1002 1:store1009 "
              "2:fetch2000 2:fetch2001 | 2:load2000 2:load2001 2:load2002 2:store2009 ");
}

/// Warps stop reading ahead when there is nothing to fetch for long, and do all of their task nevertheless.
TEST(ClusteringPrefetch, DoesNotReadOnForEver) {
    WarpScript warp;
    warp.load(1, {affine(0)});
    for (std::uint32_t i = 0; i < 500; ++i) warp.load(1, {affine(Addr{i % 7} * 128)}, {1});
    for (std::uint32_t i = 0; i < 3000; ++i) warp.compute(OpClass::int_add, 1, {1});
    warp.load(2, {affine(0)});
    const StrictKernel kernel({{warp}}, 5, 3);
    const RunResult result = run_kernel(fetching_machine(1, 1, 2), kernel);
    EXPECT_EQ(result.stat("sm.loads"), 5u * 502 + 4u) << "the last load is too far away";
}

TEST(ClusteringPrefetch, BelongsToAgentsAndNeedsAnL1) {
    MachineSpec s = clustering_machine(2, "round_robin", "agents");
    const std::string hash = config_hash(s);
    s.section<ClusteringSpec>().prefetch = 4;
    EXPECT_NE(config_hash(s), hash);
    EXPECT_TRUE(check(s).empty());
    for (const char* transform : {"none", "redirect"}) {
        s.dispatch.transform = transform;
        MachineSpec without = s;
        without.section<ClusteringSpec>().prefetch = 0;
        EXPECT_EQ(config_hash(s), config_hash(without)) << transform;
        without = s;
        without.l1.enabled = false;
        EXPECT_TRUE(check(without).empty()) << transform;
    }
    s.dispatch.transform = "agents";
    s.l1.enabled = false;
    ASSERT_EQ(check(s).size(), 1u);
    EXPECT_NE(check(s).front().text.find("requires l1.enabled = true"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
