// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "l2_bench.hpp"

namespace mergelane::testing {
namespace {

TEST(L2Slice, FetchesOnceAndAnswersEveryoneWhoWaits) {
    L2Bench bench;
    for (std::uint32_t n = 0; n < 4; ++n) bench.request(PacketKind::read, 0x400, n);
    bench.run(300);
    ASSERT_EQ(bench.replies->taken.size(), 4u);
    for (std::uint16_t n = 0; n < 4; ++n) {
        EXPECT_EQ(bench.replies->taken[n].value.kind, PacketKind::read_reply);
        EXPECT_EQ(bench.replies->taken[n].value.tag, n);
    }
    EXPECT_EQ(bench.dram->fetches, 1u);
    EXPECT_EQ(bench.stat("sector_pending_hits"), 3u * 4);
    bench.request(PacketKind::read, 0x400, 9, 300);
    bench.run(400);
    EXPECT_EQ(bench.replies->taken.size(), 5u);
    EXPECT_EQ(bench.dram->fetches, 1u);
    EXPECT_EQ(bench.stat("sector_hits"), 4u);
}

TEST(L2Slice, WritesWithoutFetchingAndWritesBackWhatIsDirty) {
    L2Bench bench;
    bench.request(PacketKind::write, 0x400, 1, 0, 0, 64);
    bench.run(100);
    ASSERT_EQ(bench.replies->taken.size(), 1u);
    EXPECT_EQ(bench.replies->taken[0].value.kind, PacketKind::write_ack);
    EXPECT_EQ(bench.dram->fetches, 0u);
    // Fill the same set until the line has to leave: the two written sectors go to DRAM, clean lines do not.
    for (std::uint32_t k = 1; k <= bench.spec.ways; ++k) bench.request(PacketKind::read, 0x400 + k * bench.set_stride(), k, 100 + 200 * k);
    bench.run(6000);
    EXPECT_EQ(bench.dram->writes, 1u);
    EXPECT_EQ(bench.dram->written_sectors, 0b0011u);
    EXPECT_EQ(bench.stat("writebacks"), 1u);
    EXPECT_EQ(bench.stat("sectors_written_back"), 2u);
}

TEST(L2Slice, AReadOfAPartlyWrittenSectorFetches) {
    L2Bench bench(32);
    bench.request(PacketKind::write, 0x400, 1, 0, 0, 31);
    bench.request(PacketKind::read, 0x400, 2, 50);
    bench.run(300);
    EXPECT_EQ(bench.dram->fetches, 1u);
    bench.request(PacketKind::write, 0x420, 3, 300, 32, 32);
    bench.request(PacketKind::read, 0x420, 4, 350);
    bench.run(600);
    EXPECT_EQ(bench.dram->fetches, 1u) << "the second sector was written whole";
    EXPECT_EQ(bench.replies->taken.size(), 4u);
}

TEST(L2Slice, WithoutACacheEveryRequestGoesToDram) {
    L2Bench bench(128, 8, 8, {}, {}, 8, 8, 16, false);
    for (std::uint32_t n = 0; n < 4; ++n) bench.request(PacketKind::read, 0x400, n);
    bench.request(PacketKind::write, 0x400, 4, 0, 0, 64);
    bench.request(PacketKind::atomic, 0x400, 5, 0, 64, 4);
    bench.run(400);
    ASSERT_EQ(bench.replies->taken.size(), 6u);
    EXPECT_EQ(bench.replies->taken[0].value.kind, PacketKind::write_ack) << "answered at once";
    for (std::uint16_t n = 0; n < 4; ++n) EXPECT_EQ(bench.replies->taken[n + 1].value.tag, n);
    EXPECT_EQ(bench.replies->taken[5].value.kind, PacketKind::atomic_reply);
    EXPECT_EQ(bench.dram->fetches, 5u);
    EXPECT_EQ(bench.dram->writes, 2u);
    EXPECT_EQ(bench.dram->written_sectors, 0b0111u);
    EXPECT_EQ(bench.stat("sector_accesses"), 0u);
    EXPECT_EQ(bench.slice->held(), 0u);
}

TEST(L2Slice, AtomicsMakeTheirSectorsDirty) {
    L2Bench bench;
    bench.request(PacketKind::atomic, 0x400, 1, 0, 4, 4);
    bench.run(300);
    ASSERT_EQ(bench.replies->taken.size(), 1u);
    EXPECT_EQ(bench.replies->taken[0].value.kind, PacketKind::atomic_reply);
    EXPECT_EQ(bench.dram->fetches, 1u);
    for (std::uint32_t k = 1; k <= bench.spec.ways; ++k) bench.request(PacketKind::read, 0x400 + k * bench.set_stride(), k, 300 + 200 * k);
    bench.run(6000);
    EXPECT_EQ(bench.dram->written_sectors, 0b0001u);
}

TEST(L2Slice, LooksUpOneRequestPerCycle) {
    L2Bench bench;
    bench.request(PacketKind::read, 0x400, 0);
    bench.run(300);
    for (std::uint32_t n = 0; n < 100; ++n) bench.request(PacketKind::read, 0x400, n, 300);
    bench.run(600);
    ASSERT_EQ(bench.replies->taken.size(), 101u);
    EXPECT_EQ(bench.replies->taken[100].at - bench.replies->taken[1].at, 99u);
}

TEST(L2Slice, GoesOnWhenItsOnlyOutputPlaceIsFreeAgain) {
    // The reply leaves in the same cycle in which the head request found no place for its own: the slice must ask to
    // be called again although its output is empty now.
    L2Bench bench(128, 1, 1);
    for (std::uint32_t n = 0; n < 10; ++n) bench.request(PacketKind::read, 0x400, n);
    for (std::uint32_t n = 0; n < 10; ++n) bench.request(PacketKind::write, 0x800, n, 0, 0, 4);
    bench.run(4000);
    EXPECT_EQ(bench.replies->taken.size(), 20u);
    EXPECT_EQ(bench.slice->held(), 0u);
}

}  // namespace
}  // namespace mergelane::testing
