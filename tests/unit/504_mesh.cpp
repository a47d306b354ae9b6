// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "machines.hpp"
#include "mesh_bench.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

std::uint32_t apart(std::uint32_t a, std::uint32_t b) {
    return a > b ? a - b : b - a;
}

TEST(Mesh, IdleLatencyIsTheSumOfItsParts) {
    // One packet at a time between all pairs: every number of hops, every length, both routings, also with other stages.
    for (const bool yx : {false, true}) {
        for (const std::uint32_t router_latency : {2u, 4u, 7u}) {
            MeshSpec spec = mesh_of(2);
            spec.routing = yx ? MeshSpec::Routing::yx : MeshSpec::Routing::xy;
            spec.router_latency = router_latency;
            spec.link_latency = router_latency / 2;
            MeshBench bench(5, 4, spec);
            Cycle at = 0;
            for (std::uint32_t from = 0; from < 20; ++from) {
                for (std::uint32_t to = 0; to < 20; ++to) {
                    const std::uint32_t flits = 1 + (from + to) % 5;
                    bench.offer(from, to, flits, at);
                    bench.run(at + 200);
                    const std::uint32_t hops = 1 + apart(from % 5, to % 5) + apart(from / 5, to / 5);
                    ASSERT_FALSE(bench.takers[to]->taken.empty());
                    // A cycle on the link in, the routers and their wires, the tail after the head, a cycle on the link out.
                    EXPECT_EQ(bench.takers[to]->taken.back().at - at, 1 + hops * (router_latency + router_latency / 2) + flits - 1 + 1)
                        << from << " to " << to;
                    at += 200;
                }
            }
            EXPECT_EQ(stat_of(*bench.mesh, "wait"), 0u);
            EXPECT_EQ(stat_of(*bench.mesh, "hops"), stat_of(*bench.mesh, "shortest_hops"));
            EXPECT_EQ(bench.mesh->credits_out(), 0u);
        }
    }
}

TEST(Mesh, FiveStagesAndAWireMakeFiveCyclesPerHop) {
    MeshBench bench(6, 1, MeshSpec{});
    bench.offer(0, 5, 1);
    bench.run(100);
    EXPECT_EQ(bench.takers[5]->taken.at(0).at, 1u + 6 * 5 + 1);
}

/// Flits per cycle from one end of a row to the other.
double stream_rate(const MeshSpec& spec, std::uint32_t flits) {
    MeshBench bench(4, 1, spec);
    for (int n = 0; n < 4000; ++n) bench.offer(0, 3, flits);
    bench.run(1000);
    const std::uint64_t before = bench.delivered();
    bench.run(2000);
    return static_cast<double>((bench.delivered() - before) * flits) / 1000;
}

TEST(Mesh, BuffersOfARoundTripKeepAWireBusy) {
    // A place is free again 7 cycles after its flit got the switch before: 2 to the buffer, 3 stages there, 2 for the credit.
    EXPECT_NEAR(stream_rate(mesh_of(1, 8), 1), 1.0, 0.001);
    EXPECT_NEAR(stream_rate(mesh_of(1, 8), 5), 1.0, 0.001);
    EXPECT_NEAR(stream_rate(mesh_of(1, 7), 1), 1.0, 0.001);
    EXPECT_NEAR(stream_rate(mesh_of(1, 6), 1), 6.0 / 7, 0.002);
    EXPECT_NEAR(stream_rate(mesh_of(1, 1), 1), 1.0 / 7, 0.002);
    EXPECT_NEAR(stream_rate(mesh_of(2, 4), 1), 1.0, 0.002) << "two channels together have them";
    EXPECT_NEAR(stream_rate(mesh_of(8, 1), 1), 1.0, 0.002);
}

TEST(Mesh, AFreeChannelPassesABlockedOne) {
    // Packets to a sink that takes nothing fill channel after channel; the others of the row pass while one is free.
    const auto passed = [](std::uint32_t channels) {
        MeshBench bench(4, 1, mesh_of(channels, 2), {}, {}, 1);
        bench.takers[2]->per_cycle = 0;
        bench.offer(0, 2, 4);  // room for one at the sink
        bench.offer(0, 2, 4);  // fills a channel of the row
        for (int n = 0; n < 10; ++n) bench.offer(0, 3, 1);
        bench.run(500);
        return bench.takers[3]->taken.size();
    };
    EXPECT_EQ(passed(1), 0u) << "head-of-line blocking";
    EXPECT_GE(passed(4), 8u) << "only what entered behind the blocked one is held up";
}

TEST(Mesh, WiresAreSharedFlitByFlit) {
    // Two long packets on two channels of one wire: each takes twice as long, neither waits for the other's tail.
    MeshBench bench(3, 1, mesh_of(2));
    bench.offer(0, 2, 40);
    bench.offer(1, 2, 40);
    bench.run(400);
    ASSERT_EQ(bench.takers[2]->taken.size(), 2u);
    EXPECT_LE(bench.takers[2]->taken[1].at - bench.takers[2]->taken[0].at, 8u);
}

TEST(MeshLayout, IsTheSmallestNearlySquareOne) {
    const auto shape = [](std::uint32_t clusters, std::uint32_t memories) {
        const MeshLayout layout = mesh_layout(MeshSpec{}, clusters, memories);
        return std::pair{layout.width, layout.height};
    };
    EXPECT_EQ(shape(28, 8), (std::pair{6u, 6u}));
    EXPECT_EQ(shape(12, 8), (std::pair{5u, 4u}));
    EXPECT_EQ(shape(15, 12), (std::pair{6u, 5u}));
    EXPECT_EQ(shape(1, 1), (std::pair{2u, 1u}));
    EXPECT_EQ(shape(80, 32), (std::pair{11u, 11u}));
}

TEST(MeshLayout, SpreadsMemoryEvenlyAndGivesEveryNodeARouter) {
    for (const auto& [clusters, memories] :
         {std::pair{28u, 8u}, std::pair{12u, 8u}, std::pair{80u, 32u}, std::pair{3u, 16u}, std::pair{1u, 1u}}) {
        const MeshLayout layout = mesh_layout(MeshSpec{}, clusters, memories);
        std::vector<std::uint32_t> nodes(layout.routers(), 0);
        for (const std::uint16_t r : layout.clusters) ++nodes.at(r);
        for (const std::uint16_t r : layout.memories) ++nodes.at(r);
        EXPECT_LE(*std::max_element(nodes.begin(), nodes.end()), 1u);
        EXPECT_EQ(std::accumulate(nodes.begin(), nodes.end(), 0u), clusters + memories);
        const double stretch = static_cast<double>(layout.routers()) / memories;
        for (std::size_t m = 1; m < layout.memories.size(); ++m) EXPECT_NEAR(layout.memories[m] - layout.memories[m - 1], stretch, 1.0);
    }
}

TEST(MeshLayout, TakesAnyPlacement) {
    MeshSpec spec;
    spec.memory_nodes = "3,7,10,12,23,25,28,32";
    const MeshLayout layout = mesh_layout(spec, 28, 8);
    EXPECT_EQ(layout.memories, (std::vector<std::uint16_t>{3, 7, 10, 12, 23, 25, 28, 32}));
    EXPECT_EQ(layout.clusters[3], 4) << "the rest, in order";
    spec.cluster_nodes = "0, 2";
    spec.memory_nodes = "1";
    spec.width = 3;
    spec.height = 1;
    EXPECT_EQ(mesh_layout(spec, 2, 1).clusters, (std::vector<std::uint16_t>{0, 2}));
}

TEST(MeshLayout, SaysWhyNot) {
    const auto message = [](const MeshSpec& spec) -> std::string {
        try {
            mesh_layout(spec, 4, 2);
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    MeshSpec spec;
    spec.width = 2;
    spec.height = 2;
    EXPECT_NE(message(spec).find("no space for 6 nodes; raise noc.mesh.width"), std::string::npos);
    spec = {};
    spec.memory_nodes = "1,x";
    EXPECT_NE(message(spec).find("is not a list of routers"), std::string::npos);
    spec.memory_nodes = "1,6";
    EXPECT_NE(message(spec).find("routers 0 to 5"), std::string::npos);
    spec.memory_nodes = "1";
    EXPECT_NE(message(spec).find("lists 1 routers for 2 nodes"), std::string::npos);
    spec.memory_nodes = "1,1";
    EXPECT_NE(message(spec).find("already has a node"), std::string::npos);
}

TEST(MeshSpecCheck, RefusesOneChannelForTwoDirections) {
    MachineSpec s = icc60_like();
    s.noc.kind = "mesh";
    s.section<MeshSpec>().shared = true;
    s.section<MeshSpec>().virtual_channels = 1;
    const std::vector<SpecProblem> problems = check(s);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].keys[0], "noc.mesh.virtual_channels");
    EXPECT_NE(problems[0].text.find("deadlock"), std::string::npos);
    EXPECT_NE(problems[0].text.find("requires noc.mesh.virtual_channels of at least 2"), std::string::npos);
    s.section<MeshSpec>().virtual_channels = 2;
    EXPECT_TRUE(check(s).empty());
}

}  // namespace
}  // namespace mergelane::testing
