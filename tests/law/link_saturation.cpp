// SPDX-License-Identifier: MIT
// Invariant: a bandwidth-bound stream saturates its bottleneck within 2 % of width x clock, and never exceeds it.
#include <gtest/gtest.h>

#include "machines.hpp"
#include "mocks.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint64_t kFrom = 6'000;
constexpr std::uint64_t kTo = 26'000;

/// Steady rate of a counter per core cycle: two runs of the same workload, cut at different times.
template <class Make>
double rate(const MachineSpec& spec, std::string_view stat, Make&& make) {
    std::uint64_t value[2];
    for (int i = 0; i < 2; ++i) {
        RunOptions options;
        options.max_cycles = i == 0 ? kFrom : kTo;
        auto workload = make();
        const RunResult result = run_on(spec, workload, options);
        EXPECT_EQ(result.partial, "cycle limit") << "the stream ended too soon";
        value[i] = result.stat(stat);
    }
    return static_cast<double>(value[1] - value[0]) / static_cast<double>(kTo - kFrom);
}

void expect_saturated(double measured, double peak, const char* what) {
    // A packet that straddles an end of the interval is counted whole.
    EXPECT_LE(measured, peak * 1.001) << what;
    EXPECT_GE(measured, peak * 0.98) << what;
}

enum class Stream { load, store };

/// Warps that touch `lines` lines over and over, as fast as they can; line i is at `address(i)`.
template <class F>
ScriptedWorkload endless(Stream stream, std::uint32_t ctas, std::uint32_t warps, std::uint32_t length, F&& address) {
    std::vector<CtaScript> programs;
    for (std::uint32_t c = 0; c < ctas; ++c) {
        CtaScript cta(warps);
        for (std::uint32_t w = 0; w < warps; ++w) {
            for (std::uint32_t i = 0; i < length; ++i) {
                Access access;
                access.bypass_l1 = true;
                access.lanes = affine(address(c, w, i));
                if (stream == Stream::load)
                    cta[w].load(static_cast<std::uint16_t>(i % 16), access);
                else
                    cta[w].store(access);
            }
        }
        programs.push_back(std::move(cta));
    }
    return ScriptedWorkload(std::move(programs));
}

MachineSpec one_cluster(std::uint32_t noc_mhz) {
    MachineSpec s = icc60_like(1);
    s.gpu.noc_mhz = noc_mhz;
    s.l2.slice_hash = "plain";
    return valid(s);
}

/// Lines of a footprint the L2 holds, spread over all slices.
Addr resident_line(std::uint32_t c, std::uint32_t w, std::uint32_t i) {
    return Addr{(c * 977 + w * 131 + i) % 4096} * 128;
}

TEST(LinkSaturation, OfAClustersRequestPort) {
    for (const std::uint32_t mhz : {1400u, 700u}) {
        const MachineSpec s = one_cluster(mhz);
        // Whole-line stores: 136 bytes in three flits of 64. One flit per network cycle may enter.
        const double flits = rate(s, "noc.request.flits", [] { return endless(Stream::store, 5, 16, 700, resident_line); });
        expect_saturated(flits * 1400 / mhz, 1.0, "flits per network cycle");
    }
}

TEST(LinkSaturation, OfAClustersReplyPort) {
    for (const std::uint32_t mhz : {1400u, 700u}) {
        const MachineSpec s = one_cluster(mhz);
        const double flits = rate(s, "noc.reply.flits", [] { return endless(Stream::load, 5, 16, 700, resident_line); });
        expect_saturated(flits * 1400 / mhz, 1.0, "flits per network cycle");
    }
}

TEST(LinkSaturation, OfAnL2Slice) {
    // Flits wide enough that no packet takes more than one network cycle, and a network twice as fast as the L2: what
    // is left is the slice's one lookup per L2 cycle.
    MachineSpec s = icc60_like(12);
    s.gpu.l2_mhz = 700;
    s.noc.flit_bytes = 256;
    s.cluster.response_fifo = 32;
    s.l2.slice_hash = "plain";
    valid(s);
    const std::uint32_t slices = s.slices();
    const auto one_slice = [&](std::uint32_t c, std::uint32_t w, std::uint32_t i) {
        return Addr{(c * 977 + w * 131 + i) % 256} * 256 * slices;
    };
    const double lookups = rate(s, "l2.requests", [&] { return endless(Stream::load, 60, 8, 300, one_slice); });
    expect_saturated(lookups * 2, 1.0, "lookups per L2 cycle");
}

TEST(LinkSaturation, OfAnL2SlicesReplyPort) {
    // The same with narrow flits: three flits per reply leave one lookup in three network cycles.
    MachineSpec s = icc60_like(12);
    s.l2.slice_hash = "plain";
    valid(s);
    const std::uint32_t slices = s.slices();
    const auto one_slice = [&](std::uint32_t c, std::uint32_t w, std::uint32_t i) {
        return Addr{(c * 977 + w * 131 + i) % 256} * 256 * slices;
    };
    expect_saturated(rate(s, "noc.reply.flits", [&] { return endless(Stream::load, 60, 8, 200, one_slice); }), 1.0,
                     "flits per network cycle");
}

TEST(LinkSaturation, OfADramChannelInAMachine) {
    // Consecutive new lines through one channel, with MSHRs enough to cover its latency. One SM with warps in turn
    // keeps the lines in order, so that rows are hit; flits are wide enough that no port bounds it.
    MachineSpec s = icc60_like(1);
    s.gpu.sms_per_cluster = 1;
    s.sm.scheduler = "lrr";
    s.dram.channels = 1;
    s.l2.mshrs = 512;
    s.l2.dram_queue = 256;
    s.noc.flit_bytes = 256;
    s.cluster.response_fifo = 32;
    valid(s);
    constexpr std::uint32_t kWarps = 24;
    const auto new_line = [](std::uint32_t, std::uint32_t w, std::uint32_t i) { return (Addr{i} * kWarps + w) * 128; };
    const double sectors = rate(s, "dram.sector_reads", [&] { return endless(Stream::load, 1, kWarps, 700, new_line); });
    expect_saturated(sectors * kSectorBytes, s.dram.bus_bytes, "bytes per DRAM cycle");
}

/// Bytes per DRAM cycle of a channel that always has a full queue of consecutive lines.
double channel_rate(const DramSpec& spec, bool write) {
    TestBench bench;
    std::vector<DramCommand> log;
    auto& channel = bench.add<DramChannel>("channel", spec);
    channel.log_commands(&log);
    auto& in = bench.loose_link<DramRequest>("in", 64);
    auto& out = bench.loose_link<DramRequest>("out", 1024);
    auto& feeder = bench.add<Feeder<DramRequest>>("feeder", in);
    auto& taker = bench.add<Taker<DramRequest>>("taker", out);
    for (std::uint32_t n = 0; n < 60'000; ++n) feeder.items.push_back({DramRequest{Addr{n} * 128, 0xF, 0, 0, write}});
    in.connect(feeder, channel);
    out.connect(channel, taker);
    channel.connect({&in}, {&out});
    bench.run(kTo);
    std::uint64_t columns = 0;
    for (const DramCommand& command : log) {
        const bool column = command.kind == DramCommand::Kind::read || command.kind == DramCommand::Kind::write;
        if (column && command.at >= kFrom) ++columns;
    }
    EXPECT_GT(feeder.held(), 0u) << "the stream ended too soon";
    return static_cast<double>(columns * spec.access_bytes) / static_cast<double>(kTo - kFrom);
}

TEST(LinkSaturation, OfADramChannelByRowHits) {
    for (const bool write : {false, true}) {
        expect_saturated(channel_rate(icc60_like(1).dram, write), icc60_like(1).dram.bus_bytes, "GDDR5, 64 bytes wide");
        expect_saturated(channel_rate(gtx480_like().dram, write), gtx480_like().dram.bus_bytes, "GDDR5, 32 bytes wide");
        expect_saturated(channel_rate(v100_like().dram, write), v100_like().dram.bus_bytes, "HBM2, two bank groups at a time");
    }
}

TEST(LinkSaturation, OfADramChannelWithinOneBankGroupIsSetByTheLongColumnDistance) {
    // One bank group only: a column command every tCCDL = 2 cycles moves half of what the bus could.
    DramSpec spec = v100_like().dram;
    spec.bank_groups = 1;
    expect_saturated(channel_rate(spec, false), spec.bus_bytes / 2.0, "HBM2, one bank group");
}

TEST(LinkSaturation, OfACutLinkNeedsItsRoundTripOfRoom) {
    // The room of a link bounds its rate to room / (forward + credit latency): less room than the round trip throttles
    // it to exactly that, the round trip's worth saturates it.
    for (const std::uint32_t room : {3u, 6u, 11u, 12u, 20u}) {
        TestBench bench;
        auto& link = bench.loose_link<int>("link", room, 7, 5);
        auto& feeder = bench.add<Feeder<int>>("feeder", link);
        auto& taker = bench.add<Taker<int>>("taker", link);
        feeder.items.resize(10'000);
        link.connect(feeder, taker);
        bench.run(6012);
        const double expected = std::min(1.0, room / 12.0);
        EXPECT_NEAR(static_cast<double>(taker.taken.size()) / 6000.0, expected, 0.003) << room << " units of room";
    }
}

}  // namespace
}  // namespace mergelane::testing
