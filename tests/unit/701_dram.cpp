// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "dram/channel.hpp"
#include "machines.hpp"
#include "mocks.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

using BankHash = DramAddressMap::BankHash;

struct ChannelBench : TestBench {
    explicit ChannelBench(DramSpec dram, std::uint32_t slices = 1) : spec(std::move(dram)) {
        channel = &add<DramChannel>("channel", spec);
        channel->log_commands(&log);
        for (std::uint32_t s = 0; s < slices; ++s) {
            in.push_back(&loose_link<DramRequest>("in", 64));
            out.push_back(&loose_link<DramRequest>("out", 256));
            feeders.push_back(&add<Feeder<DramRequest>>("slice", *in[s]));
            feeders.back()->one_per_cycle = false;
            takers.push_back(&add<Taker<DramRequest>>("slice", *out[s]));
            in[s]->connect(*feeders[s], *channel);
            out[s]->connect(*channel, *takers[s]);
        }
        channel->connect(in, out);
    }
    void read(Addr address, std::uint32_t tag, std::uint32_t slice = 0, Cycle earliest = 0, bool write = false) {
        DramRequest r;
        r.address = address;
        r.sectors = 0xF;
        r.tag = static_cast<std::uint16_t>(tag);
        r.slice = static_cast<std::uint8_t>(slice);
        r.write = write;
        feeders[slice]->items.push_back({r, 1, earliest});
    }
    std::vector<std::uint32_t> order(std::uint32_t slice = 0) const {
        std::vector<std::uint32_t> tags;
        for (const auto& a : takers[slice]->taken) tags.push_back(a.value.tag);
        return tags;
    }

    const DramSpec spec;
    DramChannel* channel;
    std::vector<DramCommand> log;
    std::vector<Link<DramRequest>*> in, out;
    std::vector<Feeder<DramRequest>*> feeders;
    std::vector<Taker<DramRequest>*> takers;
};

constexpr Addr kRow = 1 << 15;  // same bank, next row, with the maps used here
using Tags = std::vector<std::uint32_t>;

TEST(DramChannel, FrFcfsServesRowHitsFirstThenTheOldest) {
    ChannelBench bench(icc60_like(1).dram);
    bench.read(0, 0);
    bench.read(kRow, 1);
    bench.read(128, 2);
    bench.read(256, 3);
    bench.run(500);
    EXPECT_EQ(bench.order(), (Tags{0, 2, 3, 1}));
}

TEST(DramChannel, SerialFifoServesInOrder) {
    DramSpec spec = icc60_like(1).dram;
    spec.scheduler = "fifo_serial";
    ChannelBench bench(spec);
    bench.read(0, 0);
    bench.read(kRow, 1);
    bench.read(128, 2);
    bench.run(500);
    EXPECT_EQ(bench.order(), (Tags{0, 1, 2}));
}

/// The commands of one kind, as banks in the order of their time.
std::vector<std::uint32_t> banks_of(const std::vector<DramCommand>& log, DramCommand::Kind kind) {
    std::vector<std::uint32_t> banks;
    for (const DramCommand& command : log) {
        if (command.kind == kind) banks.push_back(command.bank);
    }
    return banks;
}

constexpr Addr kBank = 1 << 11;  // next bank, same row

DramSpec ordered(const char* scheduler, std::uint32_t bank_queue = 4) {
    DramSpec spec = icc60_like(1).dram;
    spec.scheduler = scheduler;
    spec.bank_queue = bank_queue;
    return spec;
}

TEST(DramChannel, FifoLetsBanksOverlap) {
    // Three banks open their rows beside each other, tRRD apart; one at a time needs tRCD and the data before the next may begin.
    const auto last_reply = [](const char* scheduler) {
        ChannelBench bench(ordered(scheduler));
        for (std::uint32_t b = 0; b < 3; ++b) bench.read(b * kBank, b);
        bench.run(500);
        EXPECT_EQ(bench.order(), (Tags{0, 1, 2}));
        return bench.takers[0]->taken.back().at;
    };
    const DramTiming t = ordered("fifo").timing;
    EXPECT_EQ(last_reply("fifo_serial") - last_reply("fifo"), 2 * (t.tRCD + 1) - (2 * t.tRRD + 1))
        << "the first read has the bus where the third row could be opened";
}

TEST(DramChannel, FifoStopsAtTheFirstRequestForABusyBank) {
    // The second request wants another row of bank 0, so the third, for an idle bank, waits until the first has left that bank, and the
    // fourth, for the second's row, until the second has.
    ChannelBench bench(ordered("fifo"));
    bench.read(0, 0);
    bench.read(kRow, 1);
    bench.read(kBank, 2);
    bench.read(128, 3);
    bench.run(500);
    EXPECT_EQ(bench.order(), (Tags{0, 2, 1, 3}));
    EXPECT_EQ(banks_of(bench.log, DramCommand::Kind::activate), (Tags{0, 1, 0, 0}));
    const auto first = [&](auto&& is) { return std::find_if(bench.log.begin(), bench.log.end(), is)->at; };
    EXPECT_EQ(first([](const DramCommand& c) { return c.bank == 1; }),
              first([](const DramCommand& c) { return c.kind == DramCommand::Kind::read; }) + 1);
}

TEST(DramChannel, BankedFifoServesEveryBankInOrder) {
    // A row hit behind a miss of its bank waits; other banks go on.
    ChannelBench bench(ordered("banked_fifo"));
    bench.read(0, 0);
    bench.read(kRow, 1);
    bench.read(128, 2);
    bench.read(kBank, 3);
    bench.run(500);
    EXPECT_EQ(bench.order(), (Tags{0, 3, 1, 2}));
    EXPECT_EQ(stat_of(*bench.channel, "row_misses"), 4u) << "back and forth between two rows";
}

TEST(DramChannel, BanksOfABankedFifoTakeTurns) {
    // All rows are open: columns go round the banks although the first bank's requests are older.
    ChannelBench bench(ordered("banked_fifo", 8));
    for (std::uint32_t b = 0; b < 3; ++b) bench.read(b * kBank, 10 + b);
    for (std::uint32_t b = 0; b < 3; ++b) {
        for (std::uint32_t n = 1; n <= 3; ++n) bench.read(b * kBank + n * 128, b * 4 + n, 0, 200);
    }
    bench.run(1000);
    const Tags order = bench.order();
    // They come one per cycle, two per column: the first bank is alone at first.
    EXPECT_EQ(Tags(order.begin() + 3, order.end()), (Tags{1, 2, 5, 9, 3, 6, 10, 7, 11}));
}

TEST(DramChannel, AFullBankHoldsUpTheRequestsBehindIt) {
    // Two of four fit at bank 0; the next request for it blocks one for bank 1 although that is idle.
    for (const std::uint32_t depth : {2u, 4u, 100u}) {
        ChannelBench bench(ordered("banked_fifo", depth));
        for (std::uint32_t n = 0; n < 4; ++n) bench.read(n * kRow, n);
        bench.read(kBank, 4);
        bench.run(8);
        EXPECT_EQ(bench.in[0]->received(), depth == 2 ? 2u : 5u);
        EXPECT_EQ(bench.channel->held(), bench.in[0]->received());
        bench.run(2000);
        EXPECT_EQ(bench.order().size(), 5u);
        EXPECT_EQ(bench.order()[1], depth == 2 ? 1u : 4u) << "blocked, or served beside bank 0";
        EXPECT_EQ(bench.channel->held(), 0u);
    }
}

TEST(DramChannel, TakesOneRequestOfEverySliceEveryCycle) {
    // The start of the round may only move when the round is over, or one slice is visited twice and another waits.
    ChannelBench bench(v100_like().dram, 2);
    for (std::uint32_t n = 0; n < 4; ++n) {
        bench.read(Addr{n} * 2 * kRow, n, 0);
        bench.read(Addr{n} * 2 * kRow + kRow, n, 1);
    }
    // Sent in cycle 0, arriving in cycle 1: two enter per cycle.
    for (Cycle cycle = 1; cycle <= 4; ++cycle) {
        bench.run(cycle + 1);
        EXPECT_EQ(bench.in[0]->received(), cycle) << "slice 0 after cycle " << cycle;
        EXPECT_EQ(bench.in[1]->received(), cycle) << "slice 1 after cycle " << cycle;
    }
}

TEST(DramChannel, ServesSlicesEvenlyWhenItsQueueIsFull) {
    DramSpec spec = v100_like().dram;
    spec.queue = 1;
    ChannelBench bench(spec, 3);
    for (std::uint32_t n = 0; n < 20; ++n) {
        for (std::uint32_t s = 0; s < 3; ++s) bench.read(Addr{n * 3 + s} * 128, n, s);
    }
    while (bench.in[0]->received() < 10) bench.run(bench.now() + 1);
    EXPECT_NEAR(static_cast<double>(bench.in[1]->received()), 10, 1);
    EXPECT_NEAR(static_cast<double>(bench.in[2]->received()), 10, 1);
}

TEST(DramChannel, CountsARowMissPerRowOpened) {
    ChannelBench bench(icc60_like(1).dram);
    for (std::uint32_t n = 0; n < 16; ++n) bench.read(Addr{n} * 128, n);
    bench.read(kRow, 16, 0, 400);
    bench.run(1000);
    EXPECT_EQ(stat_of(*bench.channel, "activates"), 2u);
    EXPECT_EQ(stat_of(*bench.channel, "precharges"), 1u);
    EXPECT_EQ(stat_of(*bench.channel, "row_misses"), 2u);
    EXPECT_EQ(stat_of(*bench.channel, "requests"), 17u);
    EXPECT_EQ(stat_of(*bench.channel, "sector_reads"), 17u * 4);
}

TEST(DramChannel, MovesOnlyTheBurstsThatHoldWantedSectors) {
    DramSpec spec = icc60_like(1).dram;
    spec.access_bytes = 32;
    spec.bus_bytes = 32;
    for (const std::uint32_t sectors : {0x1u, 0x5u, 0xFu}) {
        ChannelBench bench(spec);
        bench.feeders[0]->items.push_back({DramRequest{0, sectors, 0, 0, false}});
        bench.run(500);
        EXPECT_EQ(stat_of(*bench.channel, "read_bursts"), static_cast<std::uint64_t>(std::popcount(sectors)));
    }
    spec.access_bytes = 64;
    ChannelBench bench(spec);
    bench.feeders[0]->items.push_back({DramRequest{0, 0b0110, 0, 0, true}});
    bench.run(500);
    EXPECT_EQ(stat_of(*bench.channel, "write_bursts"), 2u) << "sectors 1 and 2 lie in different bursts";
}

TEST(DramAddressMap, TakesBitsFromWhereTheMapSays) {
    const DramAddressMap map("RBBBCCCBCCCSSSSS", 16, BankHash::none);
    EXPECT_EQ(map.row_bytes(), 2048u);
    EXPECT_EQ(map.place(0).bank, 0u);
    EXPECT_EQ(map.place(1 << 8).bank, 1u) << "the lowest bank bit lies between column bits";
    EXPECT_EQ(map.place(1 << 12).bank, 2u);
    EXPECT_EQ(map.place(1 << 14).bank, 8u);
    EXPECT_EQ(map.place(1 << 15).row, 1u);
    EXPECT_EQ(map.place(Addr{5} << 40).row, Addr{5} << 25) << "all bits above count";
}

TEST(DramAddressMap, HashesTheBankWithTheRow) {
    const std::string map = "RBBBCCCBCCCSSSSS";
    const auto bank = [&](BankHash hash, std::uint64_t row) { return DramAddressMap(map, 16, hash).place(row << 15).bank; };
    EXPECT_EQ(bank(BankHash::low_bits, 0x53), 3u);
    EXPECT_EQ(bank(BankHash::xor_fold, 0x53), 5u ^ 3u);
    EXPECT_EQ(bank(BankHash::ipoly, 0x01), 3u) << "x^4 modulo x^4 + x + 1 is x + 1";
    EXPECT_EQ(bank(BankHash::ipoly, 0x10), 5u) << "x^8 is x^2 + 1";
    for (const BankHash hash : {BankHash::low_bits, BankHash::xor_fold, BankHash::ipoly}) {
        const DramAddressMap hashed(map, 16, hash), plain(map, 16, BankHash::none);
        for (std::uint64_t row = 0; row < 1000; ++row) {
            std::set<std::uint32_t> banks;
            for (Addr bits = 0; bits < 1 << 15; bits += 1 << 8) {
                const DramAddressMap::Place place = hashed.place(row << 15 | bits);
                EXPECT_EQ(place.row, row);
                banks.insert(place.bank ^ plain.place(row << 15 | bits).bank);
            }
            ASSERT_EQ(banks.size(), 1u) << "the same for all banks of a row: no two collide";
        }
    }
    // Rows that are a multiple of the banks apart all meet in one bank, except with hashes of all row bits.
    std::set<std::uint32_t> low, folded;
    for (std::uint64_t row = 0; row < 4096; row += 16) {
        low.insert(bank(BankHash::low_bits, row));
        folded.insert(bank(BankHash::xor_fold, row));
    }
    EXPECT_EQ(low.size(), 1u);
    EXPECT_EQ(folded.size(), 16u);
}

TEST(DramAddressMap, RefusesMapsThatDoNotFit) {
    EXPECT_THROW(DramAddressMap("BBBBCCCCSSSSSSS", 16, BankHash::none), InputError) << "no row";
    EXPECT_THROW(DramAddressMap("RBBBCCCCSSSSSSS", 16, BankHash::none), InputError) << "8 banks";
    EXPECT_THROW(DramAddressMap("RBBBBCCCCSSSS", 16, BankHash::none), InputError) << "16-byte sectors";
    EXPECT_THROW(DramAddressMap("BRBBBCCCCSSSSSSS", 16, BankHash::none), InputError) << "row inside";
    EXPECT_THROW(DramAddressMap("RBBBBXCCCSSSSSSS", 16, BankHash::none), InputError) << "unknown letter";
}

}  // namespace
}  // namespace mergelane::testing
