// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "warp_pool_bench.hpp"

namespace mergelane::testing {
namespace {

using Counts = std::vector<std::uint64_t>;

constexpr std::uint64_t kFar = 1024;  ///< line that keeps the L1 waiting
constexpr Cycle kOpens = 400;

/// The only MSHR waits for line kFar until cycle kOpens: other misses wait in the pool, and what is behind them.
PoolSetup narrow() {
    PoolSetup s;
    s.l1.mshrs = 1;
    s.answer = [](const Packet& packet) { return Cycle{packet.address == line_at(kFar) ? kOpens - 1 - PoolBench::kToL1 : 100}; };
    return s;
}
void close(PoolBench& bench, std::uint64_t far = kFar) {
    bench.tick();
    bench.load(47, broadcast_of(far));
    bench.run(10);
}
/// Requests of each L1 access of a line, in order, until everything has been answered.
Counts drained(PoolBench& bench, std::uint64_t line) {
    Counts counts;
    while (bench.finished.size() < bench.loads_issued() && bench.now() < 10'000) {
        bench.tick();
        if (bench.lookup().happened && bench.lookup().block == line_at(line)) counts.push_back(bench.lookup().requests);
    }
    return counts;
}
/// Lines in the order in which they go to the L1.
Counts order(PoolBench& bench) {
    Counts lines;
    while (bench.finished.size() < bench.loads_issued() && bench.now() < 10'000) {
        bench.tick();
        if (bench.lookup().happened) lines.push_back(bench.lookup().block / 128);
    }
    return lines;
}
/// In which cycles each line goes to the L1.
std::map<std::uint64_t, Cycle> times(PoolBench& bench) {
    std::map<std::uint64_t, Cycle> at;
    while (bench.finished.size() < bench.loads_issued() && bench.now() < 10'000) {
        bench.tick();
        if (bench.lookup().happened) at[bench.lookup().block / 128] = bench.now();
    }
    return at;
}

TEST(WarpPool, TakesThreeCyclesToTheL1AndWhatIsAdded) {
    for (const std::uint32_t added : {0u, 4u}) {
        PoolSetup setup;
        setup.pool.added_latency = added;
        PoolBench bench(setup);
        bench.run(5);
        const std::uint32_t id = bench.load(0, consecutive(3));
        const Cycle issued = bench.now();
        bench.finish();
        ASSERT_EQ(bench.sent.size(), 1u);
        EXPECT_EQ(bench.sent[0].at, issued + PoolBench::kToL1 + added);
        EXPECT_EQ(bench.ready(id), bench.sent[0].at + 100);
    }
}

TEST(WarpPool, TwoWarpsOnOneLineGoToTheL1Together) {
    PoolBench bench(narrow());
    close(bench);
    bench.load(0, broadcast_of(5));
    bench.load(1, broadcast_of(5, 7));
    EXPECT_EQ(drained(bench, 5), Counts{2});
    EXPECT_EQ(bench.sent.size(), 2u) << "the line and the one that kept it waiting";
    EXPECT_EQ(bench.stat("load_requests_drained"), 3u);
    EXPECT_EQ(bench.stat("lines_drained"), 2u);
}

TEST(WarpPool, KeepsNothingBackWhileTheL1IsFree) {
    PoolBench bench{PoolSetup()};
    bench.load(0, broadcast_of(5));
    bench.load(1, broadcast_of(5, 7));  // a queue takes one request per cycle, and the first has gone by then
    EXPECT_EQ(drained(bench, 5), (Counts{1, 1}));
    EXPECT_EQ(bench.stat("merged_misses"), 1u);
}

TEST(WarpPool, FiveLoadsOfOneLineTakeTwoTags) {
    PoolBench bench(narrow());
    close(bench);
    for (std::uint32_t warp = 0; warp < 5; ++warp) bench.load(warp, broadcast_of(5, warp));
    EXPECT_EQ(drained(bench, 5), (Counts{4, 1}));
    EXPECT_EQ(bench.stat("lines"), 3u);
    EXPECT_EQ(bench.stat("merged"), 3u);
    EXPECT_EQ(bench.stat("merged_misses"), 1u) << "the second tag finds its line on its way";
}

TEST(WarpPool, LoadsOfOneWarpMergeToo) {
    PoolBench bench(narrow());
    close(bench);
    for (std::uint32_t n = 0; n < 3; ++n) bench.load(7, broadcast_of(5, n));
    EXPECT_EQ(drained(bench, 5), Counts{3});
}

TEST(WarpPool, MergesUpToItsLimitOnly) {
    for (const std::uint32_t merges : {1u, 2u, 8u}) {
        PoolSetup setup = narrow();
        setup.pool.merges = merges;
        setup.pool.tags = 8;
        setup.l1.mshr_merges = 8;
        PoolBench bench(setup);
        close(bench);
        for (std::uint32_t warp = 0; warp < 8; ++warp) bench.load(warp, broadcast_of(5));
        EXPECT_EQ(drained(bench, 5), Counts(8 / merges, merges));
    }
}

TEST(WarpPool, AQueueWithoutAFreeTagStopsTheCoalescer) {
    PoolSetup setup = narrow();
    setup.pool.coalescers = 1;
    PoolBench bench(setup);
    close(bench);
    // Lines 0, 32 and 64 share a set, line 1 lies beside them.
    for (std::uint32_t n = 0; n < 3; ++n) bench.load(n, broadcast_of(32 * n));
    bench.load(3, broadcast_of(1));
    bench.run(20);
    EXPECT_EQ(bench.stat("queued_requests"), 2u);
    EXPECT_EQ(bench.stat("queued_instructions"), 2u) << "the third keeps the coalescer, the fourth waits for it";
    bench.finish();
    EXPECT_EQ(bench.stat("merged"), 0u);
}

TEST(WarpPool, AStoreWaitsUntilTheLoadsBeforeItReachedTheL1) {
    PoolBench bench(narrow());
    close(bench);
    bench.load(6, broadcast_of(5));
    bench.load(6, broadcast_of(6));
    while (bench.refuses(6, OpClass::store)) {
        ASSERT_LT(bench.now(), 2000u);
        EXPECT_FALSE(bench.refuses(6, OpClass::load)) << "loads may follow loads";
        EXPECT_FALSE(bench.refuses(7, OpClass::store)) << "other warps are free to store";
        EXPECT_LT(bench.sent.size(), 3u);
        bench.tick();
    }
    ASSERT_EQ(bench.sent.size(), 3u);
    EXPECT_EQ(bench.sent[2].at, bench.now()) << "as soon as the second load has left";
    bench.store(6, consecutive(9));
    EXPECT_TRUE(bench.refuses(6, OpClass::load)) << "nothing passes a store";
    EXPECT_TRUE(bench.refuses(6, OpClass::store));
    bench.run(PoolBench::kToL1 - 1);
    EXPECT_FALSE(bench.refuses(6, OpClass::load));
    ASSERT_EQ(bench.sent.size(), 4u);
    EXPECT_EQ(bench.sent[3].packet.kind, PacketKind::write);
    bench.finish();
}

TEST(WarpPool, AtomicsKeepTheirPlaceLikeStores) {
    PoolBench bench(narrow());
    close(bench);
    bench.load(6, broadcast_of(5));
    EXPECT_TRUE(bench.refuses(6, OpClass::atomic));
    bench.finish();
    bench.issue(6, OpClass::atomic, consecutive(9));
    EXPECT_TRUE(bench.refuses(6, OpClass::load));
    bench.finish();
    EXPECT_EQ(bench.stat("direct"), 1u);
    EXPECT_FALSE(bench.refuses(6, OpClass::store)) << "nothing of it is left";
}

TEST(WarpPool, AFullInstructionQueueRefusesItsOwnWarps) {
    PoolSetup setup = narrow();
    setup.pool.queue_entries = 2;
    setup.pool.coalescers = 1;
    setup.pool.line_queues = 1;
    setup.pool.tags = 1;
    PoolBench bench(setup);
    close(bench);
    // One in the line queue, one in the coalescer, two in the queue of warps 3 to 5.
    for (std::uint64_t line = 0; line < 4; ++line) {
        bench.load(4, broadcast_of(line));
        bench.run(4);
    }
    EXPECT_EQ(bench.front().refused(), std::uint64_t{0b111000});
    bench.finish();
    EXPECT_EQ(bench.front().refused(), 0u);
}

/// Requests of one load, by how lanes share their lines: consecutive, broadcast, single, range, table.
Counts mappings(const Access& access, std::uint32_t block_bytes = 128) {
    PoolSetup setup;
    setup.lsu.block_bytes = block_bytes;
    setup.l1.sector_bytes = block_bytes;
    PoolBench bench(setup);
    bench.load(0, access);
    bench.finish();
    return {bench.stat("map_consecutive"), bench.stat("map_broadcast"), bench.stat("map_single"), bench.stat("map_range"),
            bench.stat("map_table")};
}
Access lanes(LaneAddresses addresses, std::uint8_t lane_bytes = 4, std::uint32_t active = 0xFFFFFFFFu) {
    return {addresses, active, lane_bytes};
}

TEST(WarpPoolMapping, OfWholeWarps) {
    EXPECT_EQ(mappings(consecutive(3)), (Counts{1, 0, 0, 0, 0}));
    EXPECT_EQ(mappings(broadcast_of(3, 9)), (Counts{0, 1, 0, 0, 0}));
    EXPECT_EQ(mappings(divergent(3)), (Counts{0, 0, 32, 0, 0})) << "every lane a line of its own";
    EXPECT_EQ(mappings(backwards(3)), (Counts{0, 0, 0, 0, 1}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3) + 16))), (Counts{0, 0, 0, 2, 0})) << "lanes 0-27 words 4-31, lanes 28-31 words 0-3";
    EXPECT_EQ(mappings(lanes(affine(line_at(3) + 124))), (Counts{0, 0, 1, 1, 0}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 8))), (Counts{0, 0, 0, 0, 2})) << "every second word";
    EXPECT_EQ(mappings(lanes(affine(line_at(3) + 2))), (Counts{0, 0, 0, 0, 2})) << "no lane has a word of its own";
    std::vector<Addr> swapped(32);
    for (std::uint32_t i = 0; i < 32; ++i) swapped[i] = line_at(3) + (i ^ 1) * 4;
    EXPECT_EQ(mappings(lanes(scattered(swapped))), (Counts{0, 0, 0, 0, 1}));
    std::vector<Addr> halves(32, line_at(3) + 4);
    EXPECT_EQ(mappings(lanes(scattered(halves))), (Counts{0, 1, 0, 0, 0})) << "however it was written";
    std::fill_n(halves.begin(), 16, line_at(9));
    EXPECT_EQ(mappings(lanes(scattered(halves))), (Counts{0, 0, 0, 0, 2})) << "one word for the lower half, another for the upper";
}

TEST(WarpPoolMapping, OfWarpsInPart) {
    EXPECT_EQ(mappings(lanes(affine(line_at(3)), 4, 0x0000FFFF)), (Counts{0, 0, 0, 1, 0}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3)), 4, 0xFFFF0000)), (Counts{0, 0, 0, 1, 0}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3)), 4, 0xFFFFFFFE)), (Counts{0, 0, 0, 1, 0}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3)), 4, 0xFFFFEFFF)), (Counts{0, 0, 0, 0, 1})) << "a hole";
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 0), 4, 0x00FF0100)), (Counts{0, 1, 0, 0, 0}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3)), 4, 0x00000100)), (Counts{0, 0, 1, 0, 0}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 128), 4, 0xF000000F)), (Counts{0, 0, 8, 0, 0}));
}

TEST(WarpPoolMapping, OfWideLanes) {
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 8), 8)), (Counts{0, 0, 0, 2, 0})) << "in units of their own";
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 16), 16)), (Counts{0, 0, 0, 4, 0}));
    EXPECT_EQ(mappings(lanes(affine(line_at(3) + 8, 16), 16)), (Counts{0, 0, 0, 0, 5})) << "lanes that straddle lines";
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 0), 8)), (Counts{0, 0, 0, 0, 1})) << "two words for everybody";
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 128), 16, 0xFF)), (Counts{0, 0, 0, 0, 8})) << "four words for one lane";
    EXPECT_EQ(mappings(lanes(affine(line_at(3), 32), 16)), (Counts{0, 0, 0, 0, 8}));
}

TEST(WarpPoolMapping, OfLinesInSectors) {
    EXPECT_EQ(mappings(lanes(affine(line_at(3))), 32), (Counts{0, 0, 0, 4, 0})) << "eight lanes each";
    EXPECT_EQ(mappings(broadcast_of(3, 9), 32), (Counts{0, 1, 0, 0, 0}));
}

TEST(WarpPoolMapTable, RunsOutAndRecovers) {
    PoolSetup setup = narrow();
    setup.pool.map_entries = 2;
    PoolBench bench(setup);
    close(bench);
    for (std::uint32_t warp = 0; warp < 6; ++warp) bench.load(warp, backwards(warp));
    bench.run(20);
    EXPECT_EQ(bench.stat("queued_requests"), 2u);
    EXPECT_EQ(bench.stat("queued_instructions"), 4u) << "two of them in the coalescers";
    while (bench.finished.size() < 7) {
        ASSERT_LT(bench.now(), 5000u);
        bench.tick();
        EXPECT_LE(bench.stat("map_table"), std::max<std::size_t>(bench.finished.size(), 1) + 1)
            << "of two at most registers are not written";
    }
    EXPECT_EQ(bench.stat("map_table"), 6u);
}

TEST(WarpPoolMapTable, AnEntryIsTakenUntilTheRegistersAreWritten) {
    PoolSetup setup;
    setup.pool.map_entries = 1;
    PoolBench bench(setup);
    const std::uint32_t first = bench.load(0, backwards(0));
    bench.load(1, backwards(1));
    bench.finish();
    EXPECT_EQ(bench.sent.back().at, bench.ready(first) + 2) << "freed after the write, then into the line queue, then to the L1";
}

TEST(WarpPoolMapTable, MayBeLarge) {
    PoolSetup setup = narrow();
    setup.pool.map_entries = 400;
    setup.pool.line_queues = 64;
    setup.pool.tags = 8;
    setup.l1.size_kib = 32;  // as many sets as queues
    setup.answer = [](const Packet& packet) { return Cycle{packet.address >= line_at(kFar) ? 500u : 10u}; };
    PoolBench bench(setup);
    for (std::uint64_t round = 0; round < 3; ++round) {  // what was given back is there again
        close(bench, kFar + round);
        // Twelve loads of 32 lines, each of which one lane wants 8 bytes of.
        for (std::uint32_t warp = 0; warp < 12; ++warp) bench.load(warp, lanes(affine(line_at(32 * warp), 128), 8));
        bench.run(300);
        EXPECT_EQ(bench.stat("queued_requests"), 384u) << "round " << round;
        bench.finish();
    }
    EXPECT_EQ(bench.stat("map_table"), 3u * 384);
}

/// Lines 0 to `lines` - 1 are in the L1, and four warps want each of them, behind line 100 that has to wait until kOpens.
void four_wait_for_each(PoolBench& bench, std::uint32_t lines) {
    bench.tick();
    bench.load(46, divergent(0, lines));
    bench.finish();
    close(bench);
    bench.load(46, broadcast_of(100));
    bench.run(5);
    for (std::uint32_t warp = 0; warp < 4 * lines; ++warp) bench.load(warp, broadcast_of(warp / 4));
    bench.run(3 + 4 * lines);
    ASSERT_EQ(bench.stat("queued_requests"), 4 * lines + 1);
}

TEST(WarpPoolWriteBack, WritesOneWarpPerCycle) {
    for (const std::uint32_t per_cycle : {1u, 2u, 4u, 0u}) {
        PoolSetup setup = narrow();
        setup.pool.writeback_per_cycle = per_cycle;
        PoolBench bench(setup);
        four_wait_for_each(bench, 1);
        const auto at = times(bench);
        const Cycle ready = at.at(0) + setup.l1.hit_latency;
        for (std::uint32_t warp = 0; warp < 4; ++warp) {
            const auto found = std::find_if(bench.finished.begin(), bench.finished.end(), [&](const auto& f) { return f.warp == warp; });
            ASSERT_NE(found, bench.finished.end());
            EXPECT_EQ(found->ready, ready + (per_cycle == 0 ? 0 : warp / per_cycle))
                << "warp " << warp << ", " << per_cycle << " per cycle";
        }
    }
}

TEST(WarpPoolWriteBack, ALineThatArrivesIsWrittenWarpByWarp) {
    PoolBench bench(narrow());
    close(bench);
    for (std::uint32_t warp = 0; warp < 4; ++warp) bench.load(warp, broadcast_of(5));
    bench.finish();
    std::vector<Cycle> ready;
    for (const auto& f : bench.finished) ready.push_back(f.ready);
    const Cycle arrived = bench.sent.back().at + 100;
    EXPECT_EQ(ready, (std::vector<Cycle>{kOpens, arrived, arrived + 1, arrived + 2, arrived + 3}));
}

TEST(WarpPoolWriteBack, AFullBufferStopsTheSelector) {
    for (const std::uint32_t buffer : {1u, 2u, 64u}) {
        PoolSetup setup = narrow();
        setup.pool.writeback_buffer = buffer;
        PoolBench bench(setup);
        four_wait_for_each(bench, 4);
        const auto at = times(bench);
        const Cycle first = at.at(0);
        // Each is written for four cycles: without room beyond the one that is written the next has to come that much later.
        const std::vector<Cycle> expected = buffer == 1   ? std::vector<Cycle>{0, 4, 8, 12}
                                            : buffer == 2 ? std::vector<Cycle>{0, 1, 4, 8}
                                                          : std::vector<Cycle>{0, 1, 2, 3};
        for (std::uint64_t line = 0; line < 4; ++line) EXPECT_EQ(at.at(line), first + expected[line]) << "line " << line << ", " << buffer;
        Cycle last = 0;
        for (const auto& f : bench.finished) last = f.warp < 16 ? std::max(last, f.ready) : last;
        EXPECT_EQ(last, first + setup.l1.hit_latency + 15) << "sixteen warps, one after the other";
    }
}

TEST(WarpPoolWriteBack, ManyLinesMayArriveAtOnce) {
    PoolSetup setup;
    setup.l1.mshrs = 128;
    setup.l1.mshr_merges = 64;
    setup.sm.warps = 48;
    PoolBench* self = nullptr;
    setup.answer = [&](const Packet&) { return 20'000 - self->now(); };
    PoolBench bench(setup);
    self = &bench;
    // Three times 32 lines, all wanted by all warps.
    for (std::uint32_t n = 0; n < 3; ++n) {
        for (std::uint32_t warp = 0; warp < 48; ++warp) {
            while (bench.refuses(warp, OpClass::load)) bench.tick();
            bench.load(warp, divergent(32 * n));
        }
    }
    bench.finish();
    EXPECT_EQ(bench.stat("written_back"), 3u * 48 * 32);
    Cycle last = 0;
    for (const auto& f : bench.finished) last = std::max(last, f.ready);
    EXPECT_EQ(last, 20'000u + 3 * 48 * 32 - 1) << "one after the other, without a gap";
}

TEST(WarpPoolStores, GoWhenNoLineWaits) {
    PoolBench bench(narrow());
    close(bench);
    bench.load(0, broadcast_of(5));
    bench.run(5);
    bench.store(1, consecutive(9));
    bench.run(200);
    EXPECT_EQ(bench.sent.size(), 1u) << "the L1 could take the store, but the load comes first";
    bench.finish();
    ASSERT_EQ(bench.sent.size(), 3u);
    EXPECT_EQ(bench.sent[1].packet.address, line_at(5));
    EXPECT_EQ(bench.sent[2].packet.kind, PacketKind::write);
    EXPECT_EQ(bench.sent[2].at, bench.sent[1].at + 1);
}

TEST(WarpPoolStores, GoFirstWhenTheyHaveLostForLong) {
    PoolSetup setup = narrow();
    setup.pool.store_patience = 30;
    PoolBench bench(setup);
    close(bench);
    bench.load(0, broadcast_of(5));
    bench.run(5);
    bench.store(1, consecutive(9));
    const Cycle first_lost = bench.now() + 2;
    bench.finish();
    ASSERT_EQ(bench.sent.size(), 3u);
    EXPECT_EQ(bench.sent[1].packet.kind, PacketKind::write);
    EXPECT_EQ(bench.sent[1].at, first_lost + 30) << "while the load still waits for its MSHR";
}

TEST(WarpPoolStores, HaveLostOnlyWhileTheyWaited) {
    PoolSetup setup;
    setup.pool.coalescers = 3;
    setup.pool.store_patience = 10;
    setup.l1.mshrs = 256;
    PoolBench bench(setup);
    // Two loads bring two lines per cycle, of which one goes to the L1.
    bench.load(0, divergent(0));
    bench.load(3, divergent(33));
    bench.run(15);
    bench.store(6, consecutive(512));
    const Cycle first_lost = bench.now() + 2;
    bench.finish();
    const auto store = std::find_if(bench.sent.begin(), bench.sent.end(), [](const auto& s) { return s.packet.kind == PacketKind::write; });
    ASSERT_NE(store, bench.sent.end());
    EXPECT_EQ(store->at, first_lost + 10) << "lines that went before it came do not count";
}

TEST(WarpPoolStores, GoFirstAsSoonAsThereIsRoom) {
    PoolSetup setup = narrow();
    setup.pool.store_patience = 5;
    setup.room = 1;
    setup.make_room = [] { return Cycle{100}; };  // what keeps the L1 waiting takes the only place for so long
    PoolBench bench(setup);
    close(bench);
    bench.load(0, broadcast_of(5));
    bench.run(5);
    bench.store(1, consecutive(9));
    bench.finish();
    ASSERT_EQ(bench.sent.size(), 3u);
    EXPECT_EQ(bench.sent[1].packet.kind, PacketKind::write);
    EXPECT_EQ(bench.sent[1].at, bench.sent[0].at + 102) << "not only when the load before it can go";
}

TEST(WarpPoolPolicy, OldestOrLowestWarpFirst) {
    for (const auto policy : {WarpPoolSpec::Policy::oldest, WarpPoolSpec::Policy::warp_id}) {
        PoolSetup setup = narrow();
        setup.pool.policy = policy;
        PoolBench bench(setup);
        close(bench);
        for (const std::uint32_t warp : {20u, 10u, 30u, 15u}) {
            bench.load(warp, broadcast_of(warp));
            bench.run(5);
        }
        bench.load(2, broadcast_of(30));  // warp 30's line is now a low warp's, too
        bench.load(10, broadcast_of(40));
        bench.run(5);
        const bool oldest = policy == WarpPoolSpec::Policy::oldest;
        EXPECT_EQ(order(bench), oldest ? (Counts{20, 10, 30, 15, 40}) : (Counts{30, 10, 40, 15, 20}));
    }
}

/// Has so many accesses that miss, that join a line on its way and that hit in every quantum; returns in which quanta lower warps
/// go first.
std::vector<bool> by_warp_id(std::uint32_t misses, std::uint32_t joins, std::uint32_t hits, std::uint32_t quanta, bool joins_count = true) {
    PoolSetup setup;
    setup.pool.quantum = 20'000;
    setup.pool.count_merged_misses = joins_count;
    PoolBench bench(setup);
    std::vector<bool> list;
    std::uint64_t line = 0;
    for (std::uint32_t q = 0; q < quanta; ++q) {
        std::uint64_t before = bench.stat("warp_id_cycles");
        for (std::uint32_t n = 0; n < misses; ++n) {
            const bool joined = n < joins;
            bench.load(n % 48, broadcast_of(++line));
            bench.run(20);
            if (joined) bench.load((n + 1) % 48, broadcast_of(line));
            bench.run(20);
        }
        bench.run(200);
        for (std::uint32_t n = 0; n < hits; ++n) {
            bench.load(n % 48, broadcast_of(line));
            bench.run(10);
        }
        list.push_back(bench.stat("warp_id_cycles") > before);
        EXPECT_LT(bench.now(), setup.pool.quantum * (q + 1));
        bench.run(setup.pool.quantum * (q + 1) - bench.now());
    }
    EXPECT_EQ(bench.stat("misses"), std::uint64_t{misses} * quanta);
    EXPECT_EQ(bench.stat("merged_misses"), std::uint64_t{joins} * quanta);
    EXPECT_EQ(bench.stat("sector_hits"), 4 * std::uint64_t{hits} * quanta);
    return list;
}

TEST(WarpPoolPolicy, ChangesAfterAQuantumThatMissedTooOften) {
    using Quanta = std::vector<bool>;
    EXPECT_EQ(by_warp_id(199, 0, 1, 4), (Quanta{false, true, false, true})) << "99.5 % changes it, to and fro";
    EXPECT_EQ(by_warp_id(196, 0, 4, 3), (Quanta{false, false, false})) << "98 % leaves it";
    EXPECT_EQ(by_warp_id(198, 0, 2, 3), (Quanta{false, false, false})) << "99 % is not above 99 %";
    EXPECT_EQ(by_warp_id(0, 0, 0, 3), (Quanta{false, false, false})) << "nor is nothing";
}

TEST(WarpPoolPolicy, CountsMissesThatJoinALineOnItsWayIfAsked) {
    using Quanta = std::vector<bool>;
    EXPECT_EQ(by_warp_id(150, 50, 0, 3, true), (Quanta{false, true, false}));
    EXPECT_EQ(by_warp_id(150, 50, 0, 3, false), (Quanta{false, false, false}));
}

TEST(WarpPoolPolicy, ALineThatCannotGoStopsThoseBehindIt) {
    PoolBench bench(narrow());
    bench.load(0, broadcast_of(7));
    bench.finish();
    close(bench);
    bench.load(1, broadcast_of(5));
    bench.run(5);
    bench.load(2, broadcast_of(7));  // is in the L1
    EXPECT_EQ(order(bench), (Counts{5, 7}));
    EXPECT_GE(bench.ready(3), kOpens) << "it would have hit at once";
}

}  // namespace
}  // namespace mergelane::testing
