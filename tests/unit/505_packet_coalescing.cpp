// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "coalescing_bench.hpp"
#include "core/error.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

using Policy = PacketCoalescingSpec::Policy;
using Delays = std::vector<std::uint32_t>;

Delays delays(const PacketCoalescingSpec& spec, std::uint32_t routers) {
    Delays list;
    for (std::uint32_t k = 1; k <= routers; ++k) list.push_back(spec.hold(routers, k));
    return list;
}

TEST(PacketCoalescing, SlackIsSpreadAsThePaperSays) {
    const PacketCoalescingSpec spec = holding(5);
    const std::vector<Delays> table = {{5},
                                       {3, 7},
                                       {2, 5, 8},
                                       {2, 4, 6, 8},
                                       {1, 4, 5, 6, 9},
                                       {1, 3, 4, 6, 7, 9},
                                       {1, 2, 4, 5, 6, 8, 9},
                                       {1, 2, 3, 5, 5, 7, 8, 9},
                                       {1, 2, 3, 4, 5, 6, 7, 8, 9},
                                       {0, 2, 3, 4, 4, 6, 6, 7, 8, 10}};
    for (std::uint32_t hops = 1; hops <= table.size(); ++hops) EXPECT_EQ(delays(spec, hops), table[hops - 1]) << hops;
}

TEST(PacketCoalescing, NothingOfTheSlackIsLostOrAdded) {
    for (const Policy policy : {Policy::dynamic, Policy::fixed}) {
        for (const auto hops : {PacketCoalescingSpec::Hops::routers, PacketCoalescingSpec::Hops::links}) {
            for (std::uint32_t delay = 0; delay <= 20; ++delay) {
                PacketCoalescingSpec spec = holding(delay, policy);
                spec.hops = hops;
                for (std::uint32_t routers = 1; routers <= 127; ++routers) {
                    const Delays list = delays(spec, routers);
                    const std::uint32_t counted = hops == PacketCoalescingSpec::Hops::routers ? routers : routers - 1;
                    EXPECT_EQ(std::accumulate(list.begin(), list.end(), 0u), delay * counted);
                    if (hops == PacketCoalescingSpec::Hops::links) {
                        EXPECT_EQ(list[0], 0u);
                    }
                }
            }
        }
    }
}

TEST(PacketCoalescing, IdleLatencyIsTheSumOfItsParts) {
    for (const Policy policy : {Policy::dynamic, Policy::fixed}) {
        for (const std::uint32_t delay : {0u, 1u, 5u, 10u}) {
            CoalescingBench bench(6, 6, mesh_of(1), holding(delay, policy));
            Cycle at = 0;
            for (std::uint32_t from = 0; from < 36; ++from) {
                for (std::uint32_t to = 0; to < 36; to += 5) {
                    bench.read(from, to, from, at);
                    bench.run(at + 300);
                    const auto apart = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
                    const std::uint32_t hops = 1 + apart(from % 6, to % 6) + apart(from / 6, to / 6);
                    ASSERT_FALSE(bench.takers[to]->taken.empty());
                    EXPECT_EQ(bench.takers[to]->taken.back().at - at, 1 + hops * (5 + delay) + 1) << from << " to " << to;
                    at += 300;
                }
            }
            EXPECT_EQ(bench.counted("held_cycles"), bench.counted("slack_cycles"));
            EXPECT_EQ(bench.counted("alone"), bench.counted("requests"));
        }
    }
}

TEST(PacketCoalescing, WritesNeverWait) {
    CoalescingBench bench(6, 1, mesh_of(1), holding(5));
    bench.put(0, 5, 5, PacketKind::write, 1);
    bench.run(200);
    EXPECT_EQ(bench.takers[5]->taken.at(0).at, 1u + 6 * 5 + 4 + 1);
    // Nor does one wait behind a read that is held.
    bench.read(0, 5, 1, 200);
    bench.put(0, 5, 5, PacketKind::write, 1, 201);
    bench.run(400);
    EXPECT_EQ(bench.takers[5]->taken.at(1).value.kind, PacketKind::write);
}

TEST(PacketCoalescing, RequestsForOneRowComeTogetherAndInOrder) {
    // Two neighbours of the memory's row: the first is held at router 1 when the second comes by.
    CoalescingBench bench(4, 1, mesh_of(1), holding(5));
    bench.read(0, 3, 7);
    bench.read(0, 3, 8, 1);  // another row
    bench.read(0, 3, 7, 2);
    bench.read(0, 3, 7, 3);
    bench.run(300);
    const auto& taken = bench.takers[3]->taken;
    ASSERT_EQ(taken.size(), 4u);
    std::vector<std::uint64_t> order;
    for (const auto& arrival : taken) order.push_back(arrival.value.read.wanted);
    // At the first router the first is held for 2 cycles, so the third still finds it there; the fourth meets them further on.
    EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 2, 3, 1}));
    EXPECT_EQ(taken[1].at, taken[0].at + 1) << "unpacked one per cycle";
    EXPECT_EQ(taken[2].at, taken[1].at + 1);
    EXPECT_EQ(bench.counted("merged"), 3u);
    EXPECT_EQ(bench.counted("big_packets"), 1u);
    EXPECT_EQ(bench.counted("hops"), bench.counted("shortest_hops")) << "all requests of a packet pass its routers";
}

TEST(PacketCoalescing, BanksRowsAndMemoriesAreKeptApart) {
    CoalescingBench bench(5, 1, mesh_of(2), holding(10));
    bench.read(0, 4, 0);
    bench.read(0, 3, 0, 1);  // the same row of another memory
    bench.read(0, 4, 1, 2);  // another row
    bench.put(0, 4, 1, PacketKind::atomic, 0, 3);
    bench.feeders[0]->items[2].value.address = 1 << 11;  // another bank
    bench.run(500);
    EXPECT_EQ(bench.counted("merged"), 0u);
    EXPECT_EQ(bench.delivered(), 4u);
}

TEST(PacketCoalescing, AFullTableForfeitsTheDelay) {
    PacketCoalescingSpec spec = holding(50, Policy::fixed);
    spec.table_entries = 2;
    CoalescingBench bench(1, 1, mesh_of(4), spec);
    for (std::uint32_t n = 0; n < 3; ++n) bench.read(0, 0, n);
    bench.run(30);
    ASSERT_EQ(bench.delivered(), 1u);
    EXPECT_EQ(bench.takers[0]->taken[0].value.read.wanted, 2u) << "the others are held";
    EXPECT_EQ(bench.counted("table_full"), 1u);
    bench.run(500);
    EXPECT_EQ(bench.delivered(), 3u);
}

TEST(PacketCoalescing, BigPacketsTakeTheFlitsTheyNeed) {
    // 8 bytes of header and 8 for each request, in flits of 32: three fit into one, seven into two, 31 into a buffer of eight.
    for (const auto& [requests, flits] : {std::pair{2u, 1u}, std::pair{3u, 1u}, std::pair{4u, 2u}, std::pair{7u, 2u}, std::pair{31u, 8u}}) {
        CoalescingBench bench(2, 1, mesh_of(1), holding(100, Policy::fixed));
        for (std::uint32_t n = 0; n < requests; ++n) bench.read(0, 1, 1);
        bench.run(600);
        EXPECT_EQ(bench.delivered(), requests);
        EXPECT_EQ(bench.counted("big_packets"), 1u);
        EXPECT_EQ(bench.counted("flits"), flits + 0u) << "at the sink";
    }
    CoalescingBench bench(2, 1, mesh_of(1), holding(100, Policy::fixed));
    for (std::uint32_t n = 0; n < 32; ++n) bench.read(0, 1, 1);
    bench.run(600);
    EXPECT_EQ(bench.counted("merged"), 31u) << "one more does not fit";
    EXPECT_EQ(bench.delivered(), 32u);
}

TEST(PacketCoalescing, ASlowMemoryBlocksItsInterface) {
    // While a Big Packet is unpacked into a full queue nobody else enters, whatever it is about.
    CoalescingBench bench(2, 1, mesh_of(2), holding(20, Policy::fixed), {}, {}, 1);
    bench.takers[1]->per_cycle = 0;
    for (std::uint32_t n = 0; n < 4; ++n) bench.read(0, 1, 1);
    bench.put(0, 1, 1, PacketKind::write, 2, 60);
    bench.run(400);
    EXPECT_EQ(bench.delivered(), 0u);
    bench.takers[1]->per_cycle = 1;
    bench.takers[1]->wake(bench.now());
    bench.run(800);
    ASSERT_EQ(bench.delivered(), 5u);
    EXPECT_EQ(bench.takers[1]->taken[4].value.kind, PacketKind::write);
}

TEST(PacketCoalescing, WithoutMergingItOnlyHolds) {
    PacketCoalescingSpec spec = holding(5);
    spec.merge = false;
    CoalescingBench bench(4, 1, mesh_of(1), spec);
    for (std::uint32_t n = 0; n < 8; ++n) bench.read(0, 3, 1);
    bench.run(400);
    EXPECT_EQ(bench.delivered(), 8u);
    EXPECT_EQ(bench.counted("merged"), 0u);
    EXPECT_EQ(bench.takers[3]->taken[0].at, 1u + 4 * 10 + 1);
}

TEST(PacketCoalescing, NeedsAMesh) {
    MachineSpec s = icc60_like();
    s.section<PacketCoalescingSpec>().on = true;
    const std::vector<SpecProblem> problems = check(s);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].text.find("requires noc.kind = \"mesh\""), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
