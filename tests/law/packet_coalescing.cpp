// SPDX-License-Identifier: MIT
// Laws of packet coalescing: every request comes once and to its memory, with nothing to wait for it is the plain mesh, nobody is held
// beyond its slack, a Big Packet is never interleaved, and nothing deadlocks.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "cluster/icc_spec.hpp"
#include "coalescing_bench.hpp"
#include "core/error.hpp"
#include "dcl1_machines.hpp"
#include "machines.hpp"
#include "mesh_machines.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

void expect_exactly_once(const CoalescingBench& bench) {
    std::vector<std::uint8_t> seen(bench.meant_for.size(), 0);
    for (std::uint32_t r = 0; r < bench.takers.size(); ++r) {
        for (const auto& arrival : bench.takers[r]->taken) {
            const std::uint64_t number = arrival.value.read.wanted;
            ASSERT_LT(number, seen.size());
            ASSERT_EQ(bench.meant_for[number], r);
            ++seen[number];
        }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
    EXPECT_EQ(bench.mesh->credits_out(), 0u) << "all credits are back";
    EXPECT_EQ(bench.counted("hops"), bench.counted("shortest_hops"));
    EXPECT_EQ(bench.counted("overdrawn"), 0u);
    EXPECT_EQ(bench.counted("interleaved"), 0u);
    EXPECT_EQ(bench.counted("alone") + bench.counted("merged"), bench.counted("requests"));
    EXPECT_LE(bench.counted("held_cycles"), bench.counted("slack_cycles"));
}

std::string why(const CoalescingBench& bench) {
    std::vector<Wait> waits;
    bench.mesh->explain(waits);
    std::string text = "deadlock: " + std::to_string(bench.delivered()) + " of " + std::to_string(bench.offered) + " delivered, " +
                       std::to_string(bench.mesh->held()) + " inside";
    for (const Wait& wait : waits) text += "; " + wait.why;
    return text;
}

/// Mostly reads of few rows, and some long packets that never wait.
void offer_random(CoalescingBench& bench, Rng& rng, std::uint32_t packets, std::uint32_t memories, std::uint32_t rows,
                  std::uint32_t pause) {
    const auto routers = static_cast<std::uint32_t>(bench.takers.size());
    for (std::uint32_t n = 0; n < packets; ++n) {
        const std::uint32_t to = rng.below(memories) * routers / memories;
        const Cycle at = Cycle{n / routers} * pause;
        if (rng.below(4) == 0)
            bench.put(rng.below(routers), to, 1 + rng.below(6), PacketKind::write, rng.below(rows), at);
        else
            bench.read(rng.below(routers), to, rng.below(rows), at);
    }
}

TEST(PacketCoalescingLaw, AMillionRandomPacketsComeOnceAndWhereTheyShould) {
    CoalescingBench bench(6, 6, mesh_of(1), holding(5), {}, Gate{3, 80}, 4);
    Rng rng(5);
    offer_random(bench, rng, 1'000'000, 8, 12, 6);
    ASSERT_TRUE(bench.drain()) << why(bench);
    expect_exactly_once(bench);
    EXPECT_GT(bench.counted("merged"), 100'000u) << "it was put to use";
}

TEST(PacketCoalescingLaw, WithoutDelayItIsThePlainMesh) {
    for (const std::uint32_t channels : {1u, 4u}) {
        MeshBench plain(6, 6, mesh_of(channels), {}, Gate{9, 60}, 2);
        CoalescingBench merging(6, 6, mesh_of(channels), holding(0), {}, Gate{9, 60}, 2);
        Rng rng(channels);
        offer_random(merging, rng, 50'000, 8, 4, 5);
        for (std::uint32_t r = 0; r < 36; ++r) {
            plain.feeders[r]->items = merging.feeders[r]->items;
            plain.feeders[r]->wake(0);
        }
        plain.run(60'000);
        merging.run(60'000);
        ASSERT_EQ(plain.delivered(), 50'000u);
        for (std::uint32_t r = 0; r < 36; ++r) {
            ASSERT_EQ(plain.takers[r]->taken.size(), merging.takers[r]->taken.size());
            for (std::size_t i = 0; i < plain.takers[r]->taken.size(); ++i) {
                ASSERT_EQ(plain.takers[r]->taken[i].at, merging.takers[r]->taken[i].at);
                ASSERT_EQ(plain.takers[r]->taken[i].value.read.wanted, merging.takers[r]->taken[i].value.read.wanted);
            }
        }
    }
}

/// One mesh of random shape, policy, table and sinks.
void stress(std::uint64_t seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    MeshSpec mesh = mesh_of(1 + rng.below(8), 1 + rng.below(9));
    mesh.routing = rng.below(2) == 0 ? MeshSpec::Routing::xy : MeshSpec::Routing::yx;
    mesh.router_latency = 2 + rng.below(4);
    mesh.credit_latency = 2 + rng.below(3);
    PacketCoalescingSpec spec =
        holding(rng.below(12), rng.below(2) == 0 ? PacketCoalescingSpec::Policy::dynamic : PacketCoalescingSpec::Policy::fixed);
    spec.table_entries = rng.below(20);
    spec.most_requests = rng.below(3) == 0 ? 0 : 1 + rng.below(12);
    spec.hops = rng.below(2) == 0 ? PacketCoalescingSpec::Hops::routers : PacketCoalescingSpec::Hops::links;
    spec.merge = rng.below(8) != 0;
    const std::uint32_t width = 1 + rng.below(7), height = 1 + rng.below(7), routers = width * height;
    const std::uint32_t flit_bytes = 8u << rng.below(3);
    CoalescingBench bench(width, height, mesh, spec, Gate{seed, 20 + rng.below(81)}, Gate{seed + 1, 20 + rng.below(81)}, 1 + rng.below(4),
                          1 + rng.below(5), flit_bytes);
    for (auto* feeder : bench.feeders) feeder->one_per_cycle = rng.below(2) == 0;
    offer_random(bench, rng, 200 * routers, 1 + rng.below(routers), 1 + rng.below(20), rng.below(40));
    ASSERT_TRUE(bench.drain()) << why(bench);
    expect_exactly_once(bench);
}

TEST(PacketCoalescingLaw, NeverDeadlocksUnderRandomStress) {
    const char* const wanted = std::getenv("MERGELANE_STRESS_SECONDS");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wanted != nullptr ? std::atoi(wanted) : 0);
    std::uint64_t seed = 1;
    for (; seed <= 60 || std::chrono::steady_clock::now() < end; ++seed) {
        stress(seed);
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
    RecordProperty("meshes", static_cast<int>(seed - 1));
}

// --- in a machine

MachineSpec merging(MachineSpec s, bool shared = false) {
    s = on_mesh(std::move(s), shared);
    s.section<PacketCoalescingSpec>() = holding(5);
    return valid(s);
}

TEST(PacketCoalescingMachine, EveryPresetAndMechanismRunsWithIt) {
    for (const MachineSpec& s : {icc60_like(), gtx480_like(), v100_like(), decoupled(4, 2, 1400)}) {
        const RunResult result = stream_on(merging(s));
        EXPECT_GT(result.stat("noc.coalescing.merged"), 0u) << s.name;
        EXPECT_EQ(result.stat("noc.request.packets"), result.stat("l2.requests")) << s.name;
    }
    for (const MachineSpec& s : {icc60_like(), v100_like()}) EXPECT_GT(stream_on(merging(s, true)).stat("noc.coalescing.merged"), 0u);
    MachineSpec icc = icc60_like();
    icc.section<IccSpec>().on = true;
    EXPECT_GT(stream_on(merging(icc)).stat("noc.coalescing.merged"), 0u);
    MachineSpec pool = gtx480_like();
    pool.lsu.front = "warp_pool";
    pool.sm.shared_path = SmSpec::SharedPath::own;
    EXPECT_GT(stream_on(merging(pool)).stat("noc.coalescing.merged"), 0u);
}

TEST(PacketCoalescingMachine, ALostCreditIsReportedAsDeadlockWithItsChain) {
    MachineSpec s = icc60_like(3);
    s.dram.channels = 1;
    s.section<MeshSpec>().width = 4;
    s.section<MeshSpec>().virtual_channels = 1;
    Simulation simulation(merging(s), {});
    for (const Wiring::Part& part : simulation.machine().parts()) {
        if (part.component->name() == "request_mesh") dynamic_cast<Mesh&>(*part.component).plant_credit_leak(1, Mesh::east, 0, 8);
    }
    const auto workload = make_synthetic("stream", short_stream());
    try {
        simulation.run(*workload);
        FAIL() << "the run ended as if nothing were wrong";
    } catch (const SimulationError& error) {
        const std::string message = error.what();
        EXPECT_EQ(message.rfind("deadlock at cycle ", 0), 0u) << message;
        EXPECT_NE(message.find("router 1 (1,0) has no credit for virtual channel 0 to the east"), std::string::npos) << message;
        EXPECT_NE(message.find("credits were lost"), std::string::npos) << message;
    }
}

}  // namespace
}  // namespace mergelane::testing
