// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "core/packet_sizes.hpp"
#include "crossbar_bench.hpp"

namespace mergelane::testing {
namespace {

struct Flavour {
    const char* queueing;
    const char* arbiter;
};
class AnyCrossbar : public ::testing::TestWithParam<Flavour> {
protected:
    NetworkSpec spec() const { return noc(GetParam().queueing, GetParam().arbiter, 2); }
};
INSTANTIATE_TEST_SUITE_P(Flavours, AnyCrossbar,
                         ::testing::Values(Flavour{"fifo", "round_robin"}, Flavour{"fifo", "islip"}, Flavour{"voq", "round_robin"},
                                           Flavour{"voq", "islip"}),
                         [](const auto& f) { return std::string(f.param.queueing) + "_" + f.param.arbiter; });

TEST_P(AnyCrossbar, APacketTakesItsPortsForAsManyCyclesAsItHasFlits) {
    CrossbarBench bench(2, 2, spec());
    for (int n = 0; n < 4; ++n) bench.offer(0, 1, 5);
    bench.run(100);
    const auto& taken = bench.takers[1]->taken;
    ASSERT_EQ(taken.size(), 4u);
    // Sent at 0, at the input in cycle 1; its tail leaves four cycles later and arrives one after that.
    EXPECT_EQ(taken[0].at, 1u + 4 + 1);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(taken[i].at, taken[i - 1].at + 5);
}

TEST_P(AnyCrossbar, ServesInputsThatWantOneOutputFairly) {
    CrossbarBench bench(5, 3, spec());
    for (std::uint32_t i = 0; i < 5; ++i) {
        for (int n = 0; n < 200; ++n) bench.offer(i, 2, 1 + i % 2);
    }
    bench.run(700);
    std::map<std::uint32_t, int> share;
    for (const auto& arrival : bench.takers[2]->taken) ++share[arrival.value.source];
    for (std::uint32_t i = 0; i < 5; ++i) EXPECT_NEAR(share[i], share[0], 1) << "packets, not flits, take turns";
    EXPECT_GT(share[0], 90);
}

TEST_P(AnyCrossbar, KeepsTheOrderOfEveryPair) {
    CrossbarBench bench(6, 4, spec(), Gate{1, 70}, Gate{2, 50}, 8);
    Rng rng(3);
    for (std::uint32_t i = 0; i < 6; ++i) {
        for (int n = 0; n < 300; ++n) bench.offer(i, rng.below(4), 1 + rng.below(5));
    }
    bench.run(60'000);
    EXPECT_EQ(bench.delivered(), 6u * 300);
    EXPECT_EQ(bench.crossbar->held(), 0u);
    expect_order_of_pairs(bench.takers);
}

TEST_P(AnyCrossbar, CountsFlitsAndPackets) {
    CrossbarBench bench(3, 3, spec());
    std::uint64_t flits = 0;
    for (std::uint32_t n = 0; n < 90; ++n) {
        bench.offer(n % 3, (n / 3) % 3, 1 + n % 4);
        flits += 1 + n % 4;
    }
    bench.run(2000);
    StatFields stats;
    bench.crossbar->stats(stats, bench.now());
    std::map<std::string_view, std::uint64_t> value;
    for (const StatField& f : stats.list()) value[f.name] = f.value;
    EXPECT_EQ(value["packets"], 90u);
    EXPECT_EQ(value["packets_in"], 90u);
    EXPECT_EQ(value["flits"], flits);
}

/// Packets per output and cycle when every input always has packets for uniformly random outputs.
double uniform_throughput(const NetworkSpec& spec, std::uint32_t ports) {
    CrossbarBench bench(ports, ports, spec);
    Rng rng(11);
    constexpr Cycle kCycles = 6000;
    for (std::uint32_t i = 0; i < ports; ++i) {
        for (Cycle n = 0; n < kCycles; ++n) bench.offer(i, rng.below(ports), 1);
        bench.feeders[i]->one_per_cycle = false;  // the input's buffer is always full
    }
    bench.run(1000);
    const std::uint64_t before = bench.delivered();
    bench.run(1000 + kCycles / 2);
    return static_cast<double>(bench.delivered() - before) / static_cast<double>(kCycles / 2 * ports);
}

TEST(CrossbarThroughput, OfAFifoIsBoundByHeadOfLineBlocking) {
    // Karol et al. 1987: 2 - sqrt(2) = 58.6 % for many ports; 75 % for two.
    EXPECT_NEAR(uniform_throughput(noc("fifo", "round_robin"), 2), 0.75, 0.02);
    const double many = uniform_throughput(noc("fifo", "round_robin"), 32);
    EXPECT_GT(many, 0.57);
    EXPECT_LT(many, 0.63);
    EXPECT_NEAR(uniform_throughput(noc("fifo", "islip"), 32), many, 0.03) << "no matching helps a blocked head";
}

TEST(CrossbarThroughput, OfIslipWithVirtualOutputQueuesIsNearlyAll) {
    // McKeown 1999: pointers desynchronise under load and uniform traffic reaches 100 %, given queues long enough that
    // every output always finds a packet: the input's buffer is shared by its queues, so it must be large.
    NetworkSpec once = noc("voq", "islip");
    once.input_buffer_flits = 1024;
    EXPECT_GT(uniform_throughput(once, 8), 0.98);
    EXPECT_GT(uniform_throughput(once, 16), 0.98);
    NetworkSpec often = noc("voq", "islip", 4);
    EXPECT_GT(uniform_throughput(often, 16), 0.95) << "more iterations need less room";
    EXPECT_GT(uniform_throughput(often, 16), uniform_throughput(noc("fifo", "round_robin"), 16) + 0.3);
}

TEST(PacketSizes, CountHeaderAndTouchedSectors) {
    const PacketSizes sizes{32, 8, 128};
    Packet p;
    p.kind = PacketKind::read;
    EXPECT_EQ(sizes.bytes(p), 8u);
    p.kind = PacketKind::read_reply;
    EXPECT_EQ(sizes.bytes(p), 136u);
    EXPECT_EQ(sizes.flits(p), 5u);
    p.kind = PacketKind::write_ack;
    EXPECT_EQ(sizes.flits(p), 1u);
    p.kind = PacketKind::write;
    p.bytes.set_range(30, 4);
    EXPECT_EQ(sizes.bytes(p), 8u + 64) << "four bytes over two sectors";
    p.kind = PacketKind::atomic_reply;
    EXPECT_EQ(sizes.bytes(p), 8u + 64);
    EXPECT_EQ(sizes.max_flits(), 5u);
}

TEST(PacketSizes, NoPacketHasZeroFlits) {
    // noc.header_bytes = 0 is allowed; a packet that took no room and no time would overrun the rings of its links.
    const PacketSizes sizes{32, 0, 128};
    Packet p;
    p.kind = PacketKind::read;
    EXPECT_GE(sizes.flits(p), 1u);
}

}  // namespace
}  // namespace mergelane::testing
