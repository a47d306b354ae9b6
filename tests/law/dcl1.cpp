// SPDX-License-Identifier: MIT
// Invariants of decoupled L1s: every request is answered once wherever the run is cut, every line is at its home, and one node per SM has
// the hits and misses of private L1s.
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/icc_spec.hpp"
#include "dcl1_machines.hpp"
#include "parts/replication_meter.hpp"
#include "random_scripts.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

std::vector<CtaScript> programs(std::uint64_t seed, const RandomMix& mix) {
    std::vector<CtaScript> list;
    for (std::uint32_t c = 0; c < 16; ++c) list.push_back(random_cta(seed * 1000 + c, mix));
    return list;
}

class DecoupledL1 : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Machines, DecoupledL1, ::testing::Range<std::size_t>(0, dcl1_machines().size()));

TEST_P(DecoupledL1, AnswersEveryRequestOnce) {
    const MachineSpec s = dcl1_machines().at(GetParam());
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        RandomMix mix;
        mix.lines = seed % 2 == 0 ? 24 : 400;
        const std::vector<CtaScript> ctas = programs(seed, mix);
        const ExpectedRequests expected = expected_requests(ctas, s.lsu.block_bytes);
        ScriptedWorkload workload(ctas);
        Simulation simulation(s, {});
        const RunResult result = simulation.run(workload);  // throws when a conservation law is broken
        const auto stat = [&](std::string_view name) { return result.stat(name); };
        // Counted from the programs, not by the machine:
        const std::uint64_t all = expected.direct + expected.through_l1 + expected.stores + expected.atomics;
        EXPECT_EQ(stat("l2.writes"), expected.stores) << s.name << " seed " << seed;
        EXPECT_EQ(stat("l2.atomics"), expected.atomics) << s.name << " seed " << seed;
        const bool caching = s.section<DcL1Spec>().caching;
        const std::uint64_t joined = result.has_stat("warp_pool.merged") ? stat("warp_pool.merged") : 0;  // went with another
        const std::uint64_t sent = caching ? all - joined : expected.direct + expected.stores + expected.atomics + stat("l1.fills");
        EXPECT_EQ(stat("dcl1.requests"), sent) << s.name << " seed " << seed;
        EXPECT_EQ(stat("sm.replies_received"), sent) << s.name << " seed " << seed;
        EXPECT_EQ(stat("dcl1.beside"), caching ? expected.direct + expected.atomics : sent) << s.name << " seed " << seed;
        EXPECT_EQ(stat("l1.line_requests"), expected.through_l1 + expected.stores - joined) << s.name << " seed " << seed;
        EXPECT_EQ(stat("l2.reads"), expected.direct + stat("l1.fills")) << s.name << " seed " << seed;
        EXPECT_EQ(stat("dcl1.misrouted"), 0u);
        EXPECT_GT(stat("l1.sector_hits"), 0u) << s.name << " seed " << seed;
    }
}

TEST_P(DecoupledL1, WhereverTheRunIsCut) {
    const MachineSpec s = dcl1_machines().at(GetParam());
    const RandomMix mix;
    std::uint64_t inside = 0;
    const auto run_to = [&](std::uint64_t max_cycles) {
        ScriptedWorkload workload(programs(77, mix));
        RunOptions options;
        options.max_cycles = max_cycles;
        Simulation simulation(s, options);
        const RunResult result = simulation.run(workload);
        EXPECT_EQ(broken_laws(simulation.machine(), result.stats, false), std::vector<std::string>{}) << s.name << " cut at " << max_cycles;
        inside = simulation.machine().held("node");
        return result;
    };
    const std::uint64_t whole = run_to(0).cycles;
    EXPECT_EQ(inside, 0u);
    std::uint64_t cuts_with_requests_inside = 0;
    for (std::uint64_t k = 0; k < 12; ++k) {
        run_to(1 + (whole - 1) * k / 12);
        cuts_with_requests_inside += inside != 0 ? 1 : 0;
    }
    EXPECT_GT(cuts_with_requests_inside, 4u) << "cuts that catch nothing prove nothing";
}

/// One warp, one access at a time: the order of lookups does not depend on latencies.
std::vector<CtaScript> serial_programs(std::uint64_t seed) {
    std::vector<CtaScript> list;
    Rng rng(seed);
    for (std::uint32_t c = 0; c < 8; ++c) {
        WarpScript warp;
        for (std::uint32_t k = 0; k < 200; ++k) {
            Access access;
            access.lanes = affine(rng.below(40) * 128);
            if (rng.below(8) == 0)
                warp.store(access);
            else
                warp.load(1, access).use(1);
        }
        list.push_back({warp});
    }
    return list;
}

TEST(DecoupledL1s, ANodeForEverySmHitsAsItsL1Did) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        ScriptedWorkload here(serial_programs(seed)), there(serial_programs(seed));
        const RunResult own = run_on(private_l1s(), here);
        const RunResult node = run_on(decoupled(8, 8), there);
        for (const char* name : {"l1.sector_hits", "l1.sector_misses", "l1.sector_write_misses", "l1.fills", "l1.evictions", "l2.requests"})
            EXPECT_EQ(own.stat(name), node.stat(name)) << name << ", seed " << seed;
        EXPECT_GT(own.stat("l1.sector_hits"), 0u);
        EXPECT_GT(own.stat("l1.evictions"), 0u);
    }
}

/// A line has as many copies as clusters at most, and with the traffic below nearly as many; a meter that counts further ends the run.
TEST(DecoupledL1s, HaveNoMoreCopiesThanClusters) {
    for (const auto& [nodes, clusters] : {std::pair{8u, 8u}, {4u, 4u}, {4u, 2u}, {4u, 1u}, {1u, 1u}}) {
        MachineSpec s = decoupled(nodes, clusters);
        s.section<L1MeterSpec>().on = true;
        RandomMix mix;
        mix.lines = 12;
        ScriptedWorkload workload(programs(3, mix));
        const RunResult result = run_on(s, workload);
        EXPECT_LE(result.stat("replication.most_copies"), clusters) << nodes << " nodes";
        EXPECT_GE(result.stat("replication.most_copies"), std::min(clusters, 4u)) << nodes << " nodes";
        EXPECT_EQ(result.stat("replication.replicated") == 0, clusters == 1) << nodes << " nodes";
    }
}

TEST(DecoupledL1s, AsManyClustersAsNodesArePrivateNodes) {
    // There is nothing else that could say "private": both are the same machine.
    const DcL1Layout layout(decoupled(4, 4).section<DcL1Spec>(), 8, 8);
    EXPECT_EQ(layout.nodes_per_cluster(), 1u);
    EXPECT_EQ(layout.far_networks(), 1u);
    EXPECT_EQ(layout.cores_per_cluster(), 2u);
}

/// What the SM clusters merge does not reach a node; whoever joined an entry is answered with the whole line.
TEST(DecoupledL1s, StandBehindClustersThatMerge) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        MachineSpec s = behind_shared_ports(4, 2, 4);
        s.section<IccSpec>().on = true;
        s.section<CoalescedCacheSpec>().on = true;
        RandomMix mix;
        mix.lines = 24;
        const std::vector<CtaScript> ctas = programs(seed, mix);
        const ExpectedRequests expected = expected_requests(ctas, s.lsu.block_bytes);
        ScriptedWorkload workload(ctas);
        const RunResult result = run_on(valid(s), workload);
        const std::uint64_t kept = result.stat("icc.merged") + result.stat("cc.hits");
        const std::uint64_t all = expected.direct + expected.through_l1 + expected.stores + expected.atomics;
        EXPECT_GT(kept, 0u);
        EXPECT_EQ(result.stat("sm.replies_received"), all);
        EXPECT_EQ(result.stat("dcl1.requests") + kept, all);
        EXPECT_EQ(result.stat("dcl1.misrouted"), 0u);
    }
}

TEST(DecoupledL1s, AreNamedInADeadlockReport) {
    MachineSpec s = decoupled(4, 2);
    s.l2.size_kib = 64;
    s.l2.ways = 8;
    expect_deadlock_at(valid(s),
                       {"cluster0.port -> cluster0.local_request_crossbar", "cluster0.local_request_crossbar -> node0",
                        "node0 -> cluster0.local_reply_crossbar", "node1 -> part1.request_crossbar", "part1.reply_crossbar -> node1"},
                       64);
}

/// Nodes that only pass on are a network of two stages: what leaves one is as long on the other.
TEST(DecoupledL1s, PacketsKeepTheirLengthThroughBothNetworks) {
    MachineSpec s = decoupled(4, 2);
    s.section<DcL1Spec>().caching = false;
    ScriptedWorkload workload(programs(5, {}));
    const RunResult result = run_on(s, workload);
    EXPECT_EQ(result.stat("noc.local_request.flits"), result.stat("noc.request.flits"));
    EXPECT_EQ(result.stat("noc.local_reply.flits"), result.stat("noc.reply.flits"));
    EXPECT_GT(result.stat("noc.reply.flits"), 2 * result.stat("noc.reply.packets"));
}

}  // namespace
}  // namespace mergelane::testing
