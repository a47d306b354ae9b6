// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "parts/l1_cache.hpp"

namespace mergelane {
namespace {

using Outcome = L1Cache::Outcome;

L1Spec whole_lines() {
    L1Spec s;
    s.size_kib = 1;  // two sets of four ways
    s.set_hash = "plain";
    s.mshrs = 4;
    s.mshr_merges = 2;
    return s;
}
L1Spec sectored() {
    L1Spec s = whole_lines();
    s.sector_bytes = 32;
    s.write_policy = L1Spec::WritePolicy::byte_mask;
    return s;
}
ByteMask bytes(std::uint32_t first, std::uint32_t count) {
    ByteMask mask;
    mask.set_range(first, count);
    return mask;
}
void fill(L1Cache& l1, std::uint32_t mshr, Cycle now = 100) {
    l1.fill(mshr, now);
    l1.release(mshr);
}

TEST(L1, MissesThenMergesThenHits) {
    const L1Spec spec = whole_lines();
    L1Cache l1(spec);
    const L1Cache::Lookup miss = l1.read(0x100, 7, true, 10);
    EXPECT_EQ(miss.outcome, Outcome::miss);
    EXPECT_EQ(l1.read(0x100, 8, true, 11).outcome, Outcome::merged);
    EXPECT_EQ(l1.read(0x100, 9, true, 12).outcome, Outcome::no_merge_slot);
    EXPECT_EQ(l1.mshrs_in_use(), 1u);
    const auto waiting = l1.fill(miss.mshr, 60);
    ASSERT_EQ(waiting.size(), 2u);
    EXPECT_EQ(waiting[0].load(), 7u);
    EXPECT_EQ(waiting[0].since(), 10u);
    EXPECT_EQ(waiting[1].load(), 8u);
    EXPECT_EQ(waiting[1].since(), 11u);
    l1.release(miss.mshr);
    EXPECT_EQ(l1.read(0x100, 9, true, 61).outcome, Outcome::hit);
    EXPECT_EQ(l1.stats().miss_latency, 50u);
    EXPECT_EQ(l1.stats().sector_misses, 4u);
    EXPECT_EQ(l1.stats().sector_pending_hits, 4u);
    EXPECT_EQ(l1.stats().sector_hits, 4u);
    EXPECT_EQ(l1.stats().sector_accesses, 12u) << "a refused lookup is not counted";
}

TEST(L1, PartitionsFindOnlyTheirOwn) {
    L1Spec spec = whole_lines();
    spec.partitions = 2;
    L1Cache l1(spec);
    const auto at = [&](Addr block, std::uint32_t slot) { return l1.for_slot(block, slot); };
    const L1Cache::Lookup first = l1.read(at(0x100, 0), 1, true, 0);
    EXPECT_EQ(first.outcome, Outcome::miss);
    EXPECT_EQ(l1.read(at(0x100, 2), 2, true, 1).outcome, Outcome::merged) << "slots 0 and 2 share a partition";
    const L1Cache::Lookup second = l1.read(at(0x100, 1), 3, true, 2);
    EXPECT_EQ(second.outcome, Outcome::miss) << "another partition fetches for itself";
    fill(l1, first.mshr);
    fill(l1, second.mshr);
    EXPECT_EQ(l1.read(at(0x100, 4), 4, true, 200).outcome, Outcome::hit);
    l1.write(at(0x100, 0), bytes(0, 4), 201);
    EXPECT_FALSE(l1.holds(at(0x100, 2)));
    EXPECT_TRUE(l1.holds(at(0x100, 3))) << "they are not coherent";
    // Each has one of the two sets, of four ways: its fifth line takes the place of the first, whatever the other holds.
    for (Addr line = 0; line < 5; ++line) fill(l1, l1.read(at(0x1000 + line * 128, 0), 1, true, 300).mshr);
    EXPECT_FALSE(l1.holds(at(0x1000, 0)));
    EXPECT_TRUE(l1.holds(at(0x100, 1)));
}

TEST(L1, SaysWhichResourceIsMissing) {
    const L1Spec spec = whole_lines();
    L1Cache l1(spec);
    EXPECT_EQ(l1.read(0, 1, false, 0).outcome, Outcome::no_queue);
    EXPECT_EQ(l1.mshrs_in_use(), 0u);
    // Four lines of set 0 wait for their fetch.
    std::vector<std::uint32_t> entries;
    for (Addr line = 0; line < 4; ++line) entries.push_back(l1.read(line * 256, 1, true, 0).mshr);
    EXPECT_EQ(l1.read(4 * 256, 1, true, 0).outcome, Outcome::no_mshr);
    fill(l1, entries[0]);
    EXPECT_EQ(l1.read(128, 1, true, 0).outcome, Outcome::miss) << "the other set has room";
    EXPECT_EQ(l1.read(5 * 256, 1, true, 0).outcome, Outcome::no_mshr);
}

TEST(L1, WaitsForAWayWhenTheWholeSetIsPending) {
    L1Spec spec = whole_lines();
    spec.mshrs = 8;
    L1Cache l1(spec);
    std::uint32_t first = 0;
    for (Addr line = 0; line < 4; ++line) {
        const auto lookup = l1.read(line * 256, 1, true, 0);
        if (line == 0) first = lookup.mshr;
    }
    EXPECT_EQ(l1.read(4 * 256, 1, true, 0).outcome, Outcome::no_way);
    fill(l1, first);
    EXPECT_EQ(l1.read(4 * 256, 1, true, 0).outcome, Outcome::miss);
    EXPECT_EQ(l1.stats().evictions, 1u);
}

TEST(L1, OnFillTakesItsPlaceLate) {
    L1Spec spec = whole_lines();
    spec.mshrs = 8;
    spec.allocate = L1Spec::Allocate::on_fill;
    L1Cache l1(spec);
    std::vector<std::uint32_t> entries;
    for (Addr line = 0; line < 4; ++line) {
        const auto lookup = l1.read(line * 256, 1, true, 0);
        ASSERT_EQ(lookup.outcome, Outcome::miss);
        entries.push_back(lookup.mshr);
    }
    for (const std::uint32_t entry : entries) fill(l1, entry);
    EXPECT_EQ(l1.stats().evictions, 0u);
    // A miss under way does not displace anything yet; every old line still hits.
    const auto fifth = l1.read(4 * 256, 1, true, 0);
    ASSERT_EQ(fifth.outcome, Outcome::miss);
    EXPECT_EQ(l1.read(4 * 256, 2, true, 0).outcome, Outcome::merged);
    for (Addr line = 0; line < 4; ++line) EXPECT_EQ(l1.read(line * 256, 1, true, 0).outcome, Outcome::hit);
    fill(l1, fifth.mshr);
    EXPECT_EQ(l1.stats().evictions, 1u);
    EXPECT_EQ(l1.read(4 * 256, 1, true, 0).outcome, Outcome::hit);
    EXPECT_EQ(l1.read(0, 1, true, 0).outcome, Outcome::miss) << "the least recently used one left";
}

TEST(L1, WriteEvictForgetsTheLineAndAllocatesNothing) {
    const L1Spec spec = whole_lines();
    L1Cache l1(spec);
    fill(l1, l1.read(0, 1, true, 0).mshr);
    EXPECT_EQ(l1.read(0, 1, true, 0).outcome, Outcome::hit);
    EXPECT_TRUE(l1.write(0, bytes(4, 4), 0));
    EXPECT_EQ(l1.stats().write_invalidations, 1u);
    EXPECT_EQ(l1.read(0, 1, true, 0).outcome, Outcome::miss);
    EXPECT_TRUE(l1.write(128, bytes(0, 128), 0));
    EXPECT_EQ(l1.read(128, 1, true, 0).outcome, Outcome::miss) << "a store allocates nothing";
    EXPECT_EQ(l1.stats().sector_write_accesses, 5u);
    EXPECT_EQ(l1.stats().sector_write_misses, 4u);
}

TEST(L1, WriteEvictLeavesAFetchUnderWayAlone) {
    const L1Spec spec = whole_lines();
    L1Cache l1(spec);
    const auto miss = l1.read(0, 1, true, 0);
    EXPECT_TRUE(l1.write(0, bytes(0, 4), 0));
    EXPECT_EQ(l1.read(0, 2, true, 0).outcome, Outcome::merged);
    fill(l1, miss.mshr);
    EXPECT_EQ(l1.read(0, 1, true, 0).outcome, Outcome::hit);
}

TEST(L1, ByteMaskServesWhatWasWrittenWholeAndFetchesWhatWasNot) {
    const L1Spec spec = sectored();
    L1Cache l1(spec);
    EXPECT_TRUE(l1.write(0, bytes(0, 32), 0));
    EXPECT_EQ(l1.read(0, 1, true, 0).outcome, Outcome::hit) << "a whole sector was written";
    EXPECT_TRUE(l1.write(32, bytes(32, 31), 0));
    const auto partial = l1.read(32, 1, true, 0);
    EXPECT_EQ(partial.outcome, Outcome::miss) << "one byte is unknown";
    EXPECT_EQ(l1.read(32, 2, true, 0).outcome, Outcome::merged);
    fill(l1, partial.mshr);
    EXPECT_EQ(l1.read(32, 1, true, 0).outcome, Outcome::hit);
    EXPECT_EQ(l1.read(64, 1, true, 0).outcome, Outcome::miss) << "sectors are fetched one by one";
    EXPECT_EQ(l1.stats().write_invalidations, 0u);
}

TEST(L1, ByteMaskWriteHitsWhatIsHeldInAnyForm) {
    const L1Spec spec = sectored();
    L1Cache l1(spec);
    EXPECT_TRUE(l1.write(0x100, bytes(0, 4), 0));
    EXPECT_EQ(l1.stats().sector_write_misses, 1u);
    EXPECT_TRUE(l1.write(0x100, bytes(4, 4), 0));  // written in part before
    EXPECT_EQ(l1.read(0x120, 1, true, 1).outcome, Outcome::miss);
    EXPECT_TRUE(l1.write(0x120, bytes(32, 4), 0));  // being fetched
    EXPECT_EQ(l1.stats().sector_write_misses, 1u);
    EXPECT_EQ(l1.read(0x100, 2, true, 2).outcome, Outcome::miss) << "held in part does not serve a load";
}

TEST(L1, ByteMaskWriteCompletesASectorThatIsBeingFetched) {
    const L1Spec spec = sectored();
    L1Cache l1(spec);
    const auto miss = l1.read(0, 1, true, 0);
    EXPECT_TRUE(l1.write(0, bytes(0, 32), 0));
    EXPECT_EQ(l1.read(0, 2, true, 0).outcome, Outcome::hit) << "every byte is known now";
    fill(l1, miss.mshr);
    EXPECT_EQ(l1.read(0, 3, true, 0).outcome, Outcome::hit);
    EXPECT_EQ(l1.mshrs_in_use(), 0u);
}

TEST(L1, ByteMaskWriteWaitsWhenNoLineCanBeTaken) {
    L1Spec spec = sectored();
    spec.mshrs = 8;
    L1Cache l1(spec);
    std::uint32_t first = 0;
    for (Addr line = 0; line < 4; ++line) {
        const auto lookup = l1.read(line * 256, 1, true, 0);
        if (line == 0) first = lookup.mshr;
    }
    EXPECT_FALSE(l1.write(4 * 256, bytes(0, 4), 0));
    EXPECT_EQ(l1.stats().sector_write_accesses, 0u);
    fill(l1, first);
    EXPECT_TRUE(l1.write(4 * 256, bytes(0, 4), 0));
}

TEST(L1, GrowsIntoWhatTheKernelLeavesOfUnifiedMemory) {
    L1Spec spec = sectored();
    spec.size_kib = 32;
    spec.ways = 64;  // four sets
    spec.unified_kib = 128;
    spec.carveouts_kib = {0, 8, 16, 32, 64, 96};
    const auto lines_held = [&](std::uint32_t shared_kib) {
        L1Cache l1(spec);
        l1.begin_kernel(shared_kib);
        std::uint32_t held = 0;
        for (Addr line = 0; line < 2000; ++line) {
            l1.write(line * 128, bytes(0, 32), 0);
            if (l1.stats().evictions != 0) break;
            ++held;
        }
        return held * 128 / 1024;
    };
    EXPECT_EQ(lines_held(0), 128u);
    EXPECT_EQ(lines_held(1), 120u) << "the next carve-out is 8 KiB";
    EXPECT_EQ(lines_held(8), 120u);
    EXPECT_EQ(lines_held(9), 112u);
    EXPECT_EQ(lines_held(96), 32u);
}

TEST(L1, BeginsEveryKernelEmpty) {
    const L1Spec spec = whole_lines();
    L1Cache l1(spec);
    fill(l1, l1.read(0, 1, true, 0).mshr);
    l1.begin_kernel(0);
    EXPECT_EQ(l1.read(0, 1, true, 0).outcome, Outcome::miss);
}

TEST(L1, KeepsWhatTheLastKernelLeftWhenItIsNotFlushed) {
    L1Spec spec = whole_lines();
    spec.flush_at_kernel = false;
    L1Cache l1(spec);
    fill(l1, l1.read(0, 1, true, 0).mshr);
    l1.begin_kernel(0);
    EXPECT_EQ(l1.read(0, 1, true, 0).outcome, Outcome::hit);
    EXPECT_EQ(l1.read(128, 1, true, 0).outcome, Outcome::miss);
}

TEST(L1, EveryLoadHitsWhenItIsPerfect) {
    for (L1Spec spec : {whole_lines(), sectored()}) {
        spec.perfect = true;
        L1Cache l1(spec);
        for (Addr line = 0; line < 100; ++line) {
            EXPECT_TRUE(l1.holds(line * 128));
            EXPECT_EQ(l1.read(line * 128, 1, false, line).outcome, Outcome::hit) << "not even room to send is needed";
        }
        EXPECT_TRUE(l1.write(0, bytes(0, 4), 0));
        EXPECT_EQ(l1.read(0, 1, true, 200).outcome, Outcome::hit);
        EXPECT_EQ(l1.stats().sector_hits, 101 * spec.sector_bytes / 32);
        EXPECT_EQ(l1.stats().sector_misses, 1u) << "stores are as ever";
        EXPECT_EQ(l1.stats().line_requests, 102u);
        EXPECT_EQ(l1.mshrs_in_use(), 0u);
    }
}

}  // namespace
}  // namespace mergelane
