// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "cluster/port.hpp"
#include "mocks.hpp"

namespace mergelane::testing {
namespace {

struct PortBench : TestBench {
    explicit PortBench(std::uint32_t sms, std::uint32_t injection = 4, Gate network = {}, Gate sm_side = {}, std::uint32_t width = 1,
                       std::uint32_t networks = 1) {
        spec.injection_buffer = injection;
        port = &add<ClusterPort>("port", spec, map, sizes, ClusterPort::Units{}, width, kFirstPort);
        ClusterPort::Links links;
        for (std::uint32_t s = 0; s < sms; ++s) {
            links.from_sms.push_back(&loose_link<Packet>("up", 4));
            links.to_sms.push_back(&loose_link<Packet>("down", 2));
            feeders.push_back(&add<Feeder<Packet>>("sm", *links.from_sms[s]));
            takers.push_back(&add<Taker<Packet>>("sm", *links.to_sms[s], Gate{sm_side.seed + s, sm_side.open_percent}));
            links.from_sms[s]->connect(*feeders[s], *port);
            links.to_sms[s]->connect(*port, *takers[s]);
        }
        for (std::uint32_t n = 0; n < networks; ++n) {
            auto& out = loose_link<Packet>("out", 16);
            auto& in = loose_link<Packet>("in", 16);
            network_takers.push_back(&add<Taker<Packet>>("network", out, network));
            network_feeders.push_back(&add<Feeder<Packet>>("network", in));
            out.connect(*port, *network_takers.back());
            in.connect(*network_feeders.back(), *port);
            links.to_networks.push_back(&out);
            links.from_networks.push_back(&in);
        }
        network_taker = network_takers.front();
        network_feeder = network_feeders.front();
        port->connect(links);
    }
    static constexpr std::uint32_t kFirstPort = 6;
    ClusterSpec spec;
    AddressMap map{4, 1, 256, "plain"};
    PacketSizes sizes{32, 8, 128};
    ClusterPort* port;
    std::vector<Feeder<Packet>*> feeders;
    std::vector<Taker<Packet>*> takers;
    std::vector<Taker<Packet>*> network_takers;
    std::vector<Feeder<Packet>*> network_feeders;
    Taker<Packet>* network_taker;
    Feeder<Packet>* network_feeder;
};

Packet read_from(std::uint32_t sm, std::uint32_t n) {
    Packet p;
    p.address = Addr{n} * 256;
    p.sm = sm & Packet::kSmMask;
    p.tag = static_cast<std::uint16_t>(n);
    return p;
}

/// The cycle in which the last of 60 requests has arrived. The network of this bench sends one reply per cycle whatever the width.
Cycle time_of_60(std::uint32_t width) {
    PortBench bench(3, 8, {}, {}, width);
    for (std::uint32_t n = 0; n < 60; ++n) {
        bench.feeders[n % 3]->items.push_back({read_from(n % 3, n)});
        bench.network_feeder->items.push_back({read_from(n % 3, n)});
    }
    bench.run(400);
    EXPECT_EQ(bench.network_taker->taken.size(), 60u);
    for (const auto* taker : bench.takers) EXPECT_EQ(taker->taken.size(), 20u);
    return bench.network_taker->taken.back().at;
}

TEST(ClusterPort, MovesAsManyPacketsPerCycleAsConfigured) {
    const Cycle one = time_of_60(1);
    const Cycle three = time_of_60(3);
    EXPECT_GE(one, 60u);
    EXPECT_LE(three, one - 35) << "three per cycle take about a third of the time";
}

TEST(ClusterPort, SmsUseTheNetworkPortOfTheirNumber) {
    PortBench bench(4, 2, {}, {}, 4, 2);
    for (std::uint32_t n = 0; n < 80; ++n) {
        bench.feeders[n % 4]->items.push_back({read_from(n % 4, n)});
        bench.network_feeders[n % 2]->items.push_back({read_from(n % 4, n)});
    }
    bench.run(400);
    for (std::uint32_t port = 0; port < 2; ++port) {
        EXPECT_EQ(bench.network_takers[port]->taken.size(), 40u);
        for (const auto& arrival : bench.network_takers[port]->taken) {
            EXPECT_EQ(arrival.value.sm % 2, port);
            EXPECT_EQ(arrival.value.source, PortBench::kFirstPort + port) << "replies come back to this port";
        }
    }
    for (std::uint32_t sm = 0; sm < 4; ++sm) EXPECT_EQ(bench.takers[sm]->taken.size(), 20u);
    EXPECT_LE(bench.network_takers[0]->taken.back().at, 40u) << "two per cycle and port";
}

TEST(ClusterPort, LosesNothingWhenSeveralNetworkPortsStall) {
    PortBench bench(4, 1, Gate{4, 20}, {}, 4, 4);
    for (std::uint32_t n = 0; n < 400; ++n) bench.feeders[n % 4]->items.push_back({read_from(n % 4, n)});
    bench.run(20'000);
    for (const auto* taker : bench.network_takers) EXPECT_EQ(taker->taken.size(), 100u);
    EXPECT_EQ(bench.port->held(), 0u);
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
