// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "cluster/port.hpp"
#include "mocks.hpp"

namespace mergelane::testing {
namespace {

struct PortBench : TestBench {
    explicit PortBench(std::uint32_t sms, std::uint32_t injection = 4, Gate network = {}, Gate sm_side = {}, std::uint32_t width = 1) {
        spec.injection_buffer = injection;
        port = &add<ClusterPort>("port", spec, map, sizes, ClusterPort::Units{}, width);
        ClusterPort::Links links;
        for (std::uint32_t s = 0; s < sms; ++s) {
            links.from_sms.push_back(&loose_link<Packet>("up", 4));
            links.to_sms.push_back(&loose_link<Packet>("down", 2));
            feeders.push_back(&add<Feeder<Packet>>("sm", *links.from_sms[s]));
            takers.push_back(&add<Taker<Packet>>("sm", *links.to_sms[s], Gate{sm_side.seed + s, sm_side.open_percent}));
            links.from_sms[s]->connect(*feeders[s], *port);
            links.to_sms[s]->connect(*port, *takers[s]);
        }
        links.to_network = &loose_link<Packet>("out", 16);
        links.from_network = &loose_link<Packet>("in", 16);
        network_taker = &add<Taker<Packet>>("network", *links.to_network, network);
        network_feeder = &add<Feeder<Packet>>("network", *links.from_network);
        links.to_network->connect(*port, *network_taker);
        links.from_network->connect(*network_feeder, *port);
        port->connect(links);
    }
    ClusterSpec spec;
    AddressMap map{4, 1, 256, "plain"};
    PacketSizes sizes{32, 8, 128};
    ClusterPort* port;
    std::vector<Feeder<Packet>*> feeders;
    std::vector<Taker<Packet>*> takers;
    Taker<Packet>* network_taker;
    Feeder<Packet>* network_feeder;
};

Packet read_from(std::uint32_t sm, std::uint32_t n) {
    Packet p;
    p.address = Addr{n} * 256;
    p.sm = static_cast<std::uint8_t>(sm);
    p.tag = static_cast<std::uint16_t>(n);
    return p;
}

/// The cycle in which the last of 60 requests and of 60 replies has arrived.
Cycle time_of_60(std::uint32_t width) {
    PortBench bench(3, 8, {}, {}, width);
    for (std::uint32_t n = 0; n < 60; ++n) {
        bench.feeders[n % 3]->items.push_back({read_from(n % 3, n)});
        bench.network_feeder->items.push_back({read_from(n % 3, n)});
    }
    bench.run(400);
    EXPECT_EQ(bench.network_taker->taken.size(), 60u);
    Cycle last = bench.network_taker->taken.back().cycle;
    for (const auto* taker : bench.takers) {
        EXPECT_EQ(taker->taken.size(), 20u);
        last = std::max(last, taker->taken.back().cycle);
    }
    return last;
}

TEST(ClusterPort, MovesAsManyPacketsPerCycleAsConfigured) {
    const Cycle one = time_of_60(1);
    const Cycle three = time_of_60(3);
    EXPECT_GE(one, 60u);
    EXPECT_LE(three, one - 35) << "three per cycle take about a third of the time";
}

TEST(ClusterPort, TakesOneRequestPerCycleRoundRobin) {
    PortBench bench(3);
    for (std::uint32_t sm = 0; sm < 3; ++sm) {
        for (std::uint32_t n = 0; n < 50; ++n) bench.feeders[sm]->items.push_back({read_from(sm, n)});
    }
    bench.run(400);
    const auto& taken = bench.network_taker->taken;
    ASSERT_EQ(taken.size(), 150u);
    for (std::size_t i = 0; i < taken.size(); ++i) {
        EXPECT_EQ(taken[i].value.sm, i % 3) << "fair";
        EXPECT_EQ(taken[i].value.tag, i / 3) << "in order per SM";
        EXPECT_EQ(taken[i].value.destination, taken[i].value.tag % 4) << "addressed to its slice";
        if (i > 0) {
            EXPECT_EQ(taken[i].at, taken[i - 1].at + 1) << "one per cycle";
        }
    }
}

TEST(ClusterPort, AnIdleSmCostsNothing) {
    PortBench bench(3);
    for (std::uint32_t n = 0; n < 50; ++n) bench.feeders[1]->items.push_back({read_from(1, n)});
    bench.run(100);
    EXPECT_EQ(bench.network_taker->taken.size(), 50u);
    EXPECT_EQ(bench.network_taker->taken.back().at - bench.network_taker->taken.front().at, 49u);
}

TEST(ClusterPort, HandsRepliesToTheirSmOnePerCycle) {
    PortBench bench(2);
    for (std::uint32_t n = 0; n < 60; ++n) bench.network_feeder->items.push_back({read_from(n % 2, n)});
    bench.run(200);
    for (std::uint32_t sm = 0; sm < 2; ++sm) {
        ASSERT_EQ(bench.takers[sm]->taken.size(), 30u);
        for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(bench.takers[sm]->taken[i].value.tag, 2 * i + sm);
    }
    EXPECT_EQ(bench.takers[1]->taken.back().at - bench.takers[0]->taken.front().at, 59u);
}

TEST(ClusterPort, LosesNothingWhenTheNetworkStalls) {
    PortBench bench(3, 1, Gate{4, 20}, Gate{9, 30});
    for (std::uint32_t sm = 0; sm < 3; ++sm) {
        for (std::uint32_t n = 0; n < 100; ++n) bench.feeders[sm]->items.push_back({read_from(sm, n)});
    }
    for (std::uint32_t n = 0; n < 100; ++n) bench.network_feeder->items.push_back({read_from(n % 3, n)});
    bench.run(20'000);
    EXPECT_EQ(bench.network_taker->taken.size(), 300u);
    EXPECT_EQ(bench.port->held(), 0u);
    std::size_t replies = 0;
    for (const auto* taker : bench.takers) replies += taker->taken.size();
    EXPECT_EQ(replies, 100u);
}

}  // namespace
}  // namespace mergelane::testing
