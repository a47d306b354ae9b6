// SPDX-License-Identifier: MIT
// Laws of the mesh: every packet comes once and to where it should, credits come back, nothing deadlocks, and no wire carries more than a
// flit per cycle.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <tuple>

#include "cluster/icc_spec.hpp"
#include "core/error.hpp"
#include "costing/energy_of_run.hpp"
#include "dcl1_machines.hpp"
#include "machines.hpp"
#include "mesh_bench.hpp"
#include "mesh_machines.hpp"
#include "noc/traffic.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

/// Runs until all that was offered has been delivered, or nothing moves any more.
void drain(MeshBench& bench) {
    std::uint64_t before = ~std::uint64_t{0};
    for (std::uint64_t done = 0; done != before || bench.mesh->held() != 0; done = bench.delivered()) {
        ASSERT_FALSE(done == before && bench.mesh->held() != 0) << "deadlock: " << done << " of " << bench.offered << " delivered";
        before = done;
        bench.run(bench.now() + 20'000);
    }
    bench.run(bench.now() + 100);
}

/// What came where, without time: each number once, at the router it was meant for.
void expect_exactly_once(const MeshBench& bench, const std::vector<std::uint16_t>& meant_for) {
    std::vector<std::uint8_t> seen(meant_for.size(), 0);
    for (std::uint32_t r = 0; r < bench.takers.size(); ++r) {
        for (const auto& arrival : bench.takers[r]->taken) {
            const Addr number = arrival.value.address;
            ASSERT_LT(number, meant_for.size());
            ASSERT_EQ(meant_for[number], r);
            ++seen[number];
        }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
}

TEST(MeshLaw, AMillionRandomPacketsComeOnceAndWhereTheyShould) {
    MeshSpec spec = mesh_of(3, 4);
    MeshBench bench(6, 5, spec, {}, Gate{3, 70}, 4);
    Rng rng(11);
    std::vector<std::uint16_t> meant_for;
    for (std::uint32_t n = 0; n < 1'000'000; ++n) {
        meant_for.push_back(static_cast<std::uint16_t>(rng.below(30)));
        bench.offer(n % 30, meant_for.back(), 1 + (rng.below(4) == 0 ? rng.below(6) : 0));
    }
    drain(bench);
    expect_exactly_once(bench, meant_for);
    EXPECT_EQ(stat_of(*bench.mesh, "packets"), 1'000'000u);
    EXPECT_EQ(stat_of(*bench.mesh, "hops"), stat_of(*bench.mesh, "shortest_hops"));
    EXPECT_EQ(bench.mesh->credits_out(), 0u) << "all credits are back";
}

/// One mesh of random shape under random packets and sinks that take when they like.
void stress(std::uint64_t seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    MeshSpec spec = mesh_of(1 + rng.below(8), 1 + rng.below(9));
    spec.routing = rng.below(2) == 0 ? MeshSpec::Routing::xy : MeshSpec::Routing::yx;
    spec.router_latency = 2 + rng.below(4);
    spec.credit_latency = 2 + rng.below(3);
    const std::uint32_t width = 1 + rng.below(7), height = 1 + rng.below(7);
    MeshBench bench(width, height, spec, Gate{seed, 20 + rng.below(81)}, Gate{seed + 1, 20 + rng.below(81)}, 1 + rng.below(4),
                    1 + rng.below(5));
    const std::uint32_t routers = width * height, longest = 1 + rng.below(12);
    const std::uint32_t hot = rng.below(3) == 0 ? rng.below(routers) : routers;
    // All at once, or in bursts with pauses between them.
    const std::uint32_t pause = rng.below(3) * rng.below(60);
    for (auto* feeder : bench.feeders) feeder->one_per_cycle = rng.below(2) == 0;
    std::vector<std::uint16_t> meant_for;
    for (std::uint32_t n = 0; n < 300 * routers; ++n) {
        const bool to_hot = hot != routers && rng.below(4) == 0;
        meant_for.push_back(static_cast<std::uint16_t>(to_hot ? hot : rng.below(routers)));
        bench.offer(rng.below(routers), meant_for.back(), 1 + rng.below(longest), Cycle{n / (4 * routers)} * pause);
    }
    drain(bench);
    if (::testing::Test::HasFatalFailure()) return;
    expect_exactly_once(bench, meant_for);
    EXPECT_EQ(bench.mesh->credits_out(), 0u);
}

TEST(MeshLaw, NeverDeadlocksUnderRandomStress) {
    // A few seconds' worth here; MERGELANE_STRESS_SECONDS=600 goes on for ten minutes (ctest -L long).
    const char* const wanted = std::getenv("MERGELANE_STRESS_SECONDS");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wanted != nullptr ? std::atoi(wanted) : 0);
    std::uint64_t seed = 1;
    for (; seed <= 40 || std::chrono::steady_clock::now() < end; ++seed) {
        stress(seed);
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
    RecordProperty("meshes", static_cast<int>(seed - 1));
}

// --- throughput

TrafficBench eight_by_eight(std::uint32_t virtual_channels) {
    TrafficBench bench;
    bench.shape.kind = "mesh";
    bench.sections.get<MeshSpec>().virtual_channels = virtual_channels;
    return bench;
}

TEST(MeshThroughput, BoundsAreTheTextbooks) {
    const TrafficBench bench = eight_by_eight(8);
    EXPECT_NEAR(bench.bound(TrafficPattern::uniform), 0.5, 1e-9) << "half of all cross the middle, over 8 wires each way: 4 / k";
    EXPECT_NEAR(bench.bound(TrafficPattern::bit_complement), 0.25, 1e-9) << "all of them do";
    EXPECT_NEAR(bench.bound(TrafficPattern::transpose), 1.0 / 7, 1e-9) << "seven of a row turn at its corner";
    EXPECT_NEAR(bench.bound(TrafficPattern::hotspot), 1.0 / 64, 1e-9) << "one sink";
    EXPECT_NEAR(bench.bound(TrafficPattern::tornado), 1.0 / 3, 1e-9) << "three to the next half in a row, and round the end";
}

TEST(MeshThroughput, NeverExceedsTheBound) {
    for (const TrafficPattern pattern : {TrafficPattern::uniform, TrafficPattern::transpose, TrafficPattern::bit_complement,
                                         TrafficPattern::tornado, TrafficPattern::hotspot}) {
        for (const std::uint32_t channels : {1u, 8u}) {
            for (const std::uint32_t flits : {1u, 4u}) {
                const TrafficBench bench = eight_by_eight(channels);
                const double bound = bench.bound(pattern);
                TrafficLoad load;
                load.pattern = pattern;
                load.flits = flits;
                load.warm_up = 1000;
                load.measured = 2000;
                for (const double share : {0.1, 0.5, 0.9, 1.3}) {
                    load.rate = share * bound;
                    const TrafficResult result = bench.run(load);
                    // All nodes alike cannot have more than the fullest wire allows; a short run may be lucky by a little.
                    EXPECT_LE(result.lowest, bound * 1.01) << kTrafficPatterns[static_cast<std::size_t>(pattern)];
                    EXPECT_GE(result.latency, result.zero_load - 1e-9);
                    if (share == 0.1) {
                        EXPECT_TRUE(result.drained);
                        EXPECT_LT(result.latency, result.zero_load * 1.3) << "hardly anybody waits";
                    }
                    EXPECT_GE(result.accepted, 0.3 * std::min(load.rate, bound)) << "more than fits does not break it";
                }
            }
        }
    }
}

TEST(MeshThroughput, UniformTrafficReachesSeventyPercentOfTheBound) {
    const TrafficBench bench = eight_by_eight(8);
    TrafficLoad load;
    load.rate = 0.8 * bench.bound(TrafficPattern::uniform);
    const TrafficResult result = bench.run(load);
    EXPECT_GE(result.accepted, 0.78 * bench.bound(TrafficPattern::uniform));
    EXPECT_LT(result.latency, 2 * result.zero_load) << "not saturated there";
    EXPECT_TRUE(result.drained);
}

TEST(MeshThroughput, OneEjectionLinkIsFilled) {
    TrafficBench bench = eight_by_eight(8);
    TrafficLoad load;
    load.pattern = TrafficPattern::hotspot;
    for (const std::uint32_t flits : {1u, 5u}) {
        load.flits = flits;
        load.rate = 1.5 * bench.bound(load.pattern);
        EXPECT_GE(bench.run(load).accepted, 0.99 * bench.bound(load.pattern));
    }
}

TEST(MeshThroughput, MoreChannelsCarryMore) {
    TrafficLoad load;
    load.flits = 4;
    load.rate = 0.6;
    const double one = eight_by_eight(1).run(load).accepted;
    const double two = eight_by_eight(2).run(load).accepted;
    const double eight = eight_by_eight(8).run(load).accepted;
    EXPECT_GT(two, one * 1.1);
    EXPECT_GT(eight, two * 1.02);
}

TEST(MeshThroughput, SixteenBySixteenRuns) {
    TrafficBench bench = eight_by_eight(8);
    bench.width = bench.height = 16;
    TrafficLoad load;
    load.rate = 0.7 * bench.bound(load.pattern);
    load.warm_up = 1000;
    load.measured = 3000;
    const TrafficResult result = bench.run(load);
    EXPECT_NEAR(result.accepted, load.rate, 0.03 * load.rate);
}

// --- in a machine

TEST(MeshMachine, EveryPresetRunsOnIt) {
    for (const MachineSpec& s : {icc60_like(), gtx480_like(), v100_like()}) {
        for (const bool shared : {false, true}) {
            const RunResult result = stream_on(on_mesh(s, shared));
            EXPECT_EQ(result.stat("noc.request.packets"), result.stat("l2.requests")) << s.name;
            EXPECT_EQ(result.stat("noc.request.hops"), result.stat("noc.request.shortest_hops"));
        }
    }
    const RunResult nodes = stream_on(on_mesh(decoupled(4, 2, 1400)));
    EXPECT_GT(nodes.stat("noc.request.hops"), 0u);
}

/// Four nodes and eight slices: two networks of four slices and two nodes, 2 x 3 routers each. Local networks stay crossbars.
TEST(MeshMachine, HasRoutersBehindNodesAsWell) {
    const MachineSpec s = on_mesh(decoupled(4, 2, 1400));
    std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> sets;  // instances and inputs
    for (const CrossbarSet& set : energy_shape(s).networks) sets[set.statistics] = {set.instances, set.inputs};
    EXPECT_EQ(sets.at("noc.request.routers"), std::pair(2 * 6u, Mesh::kPorts));
    EXPECT_EQ(sets.at("noc.reply.routers"), std::pair(2 * 6u, Mesh::kPorts));
    EXPECT_EQ(sets.at("noc.local_request"), std::pair(2u, 4u));
    EXPECT_GT(stream_on(s).stat("noc.request.routers.flits"), 0u);
}

TEST(MeshMachine, ALostCreditIsReportedAsDeadlockWithItsChain) {
    MachineSpec s = icc60_like(3);
    s.dram.channels = 1;
    s = on_mesh(s);
    s.section<MeshSpec>().width = 4;  // one row: clusters 0 and 1, the memory, cluster 2
    s.section<MeshSpec>().virtual_channels = 1;
    for (const bool sleep : {true, false}) {
        RunOptions options;
        options.sleep = sleep;
        Simulation simulation(valid(s), options);
        Mesh* mesh = nullptr;
        for (const Wiring::Part& part : simulation.machine().parts()) {
            if (part.component->name() == "request_mesh") mesh = dynamic_cast<Mesh*>(part.component);
        }
        ASSERT_NE(mesh, nullptr);
        mesh->plant_credit_leak(1, Mesh::east, 0, 8);
        const auto workload = make_synthetic("stream", short_stream());
        try {
            simulation.run(*workload);
            FAIL() << "the run ended as if nothing were wrong";
        } catch (const SimulationError& error) {
            const std::string message = error.what();
            EXPECT_EQ(message.rfind("deadlock at cycle ", 0), 0u) << message;
            EXPECT_NE(message.find("router 0 (0,0) has no credit for virtual channel 0 to the east; router 1 (1,0) has no"),
                      std::string::npos)
                << message;
            EXPECT_NE(message.find("the buffer there is empty: credits were lost"), std::string::npos) << message;
            EXPECT_NE(message.find("dispatcher:"), std::string::npos) << message;
        }
    }
}

TEST(MeshMachine, PartOfTheCreditsLostOnlySlowsDownAndIsFoundAtTheEnd) {
    MachineSpec s = icc60_like(3);
    s.dram.channels = 1;
    Simulation simulation(on_mesh(s), {});
    for (const Wiring::Part& part : simulation.machine().parts()) {
        if (auto* const mesh = dynamic_cast<Mesh*>(part.component)) mesh->plant_credit_leak(0, Mesh::east, 0, 3);
    }
    SyntheticParams p = synthetic_defaults("stream");
    p.ctas = 6;
    p.iterations = 2;
    const auto workload = make_synthetic("stream", p);
    try {
        simulation.run(*workload);
        FAIL() << "the law of credits was broken";
    } catch (const SimulationError& error) {
        EXPECT_NE(std::string(error.what()).find("credits_out"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace mergelane::testing
