// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/rng.hpp"
#include "l2/request_coalescer.hpp"
#include "l2_bench.hpp"

namespace mergelane::testing {
namespace {

/// A request coalescer in front of a real slice.
struct LrcBench : TestBench {
    explicit LrcBench(RequestCoalescerSpec lrc = {}, Gate reply_gate = {}, std::uint32_t reply_room = 64) : spec(lrc) {
        l2.size_kib = 8;
        l2.ways = 4;
        l2.sector_bytes = 32;
        l2.mshrs = 16;
        auto& requests = loose_link<Packet>("requests", 4096);
        auto& down = loose_link<Packet>("down", 16, 5);
        auto& up = loose_link<Packet>("up", 10);
        auto& reply_link = loose_link<Packet>("replies", reply_room);
        auto& to_dram = loose_link<DramRequest>("to dram", 8, 3, 3);
        auto& from_dram = loose_link<DramRequest>("from dram", 16, 60);
        coalescer = &add<RequestCoalescer>("coalescer", spec, sizes, l2.line_bytes);
        slice = &add<L2Slice>("slice", l2, map, sizes, 0);
        feeder = &add<Feeder<Packet>>("network", requests);
        replies = &add<Taker<Packet>>("network", reply_link, reply_gate);
        dram = &add<MockDram>("dram", to_dram, from_dram, Gate{});
        requests.connect(*feeder, *coalescer);
        down.connect(*coalescer, *slice);
        up.connect(*slice, *coalescer);
        reply_link.connect(*coalescer, *replies);
        to_dram.connect(*slice, *dram);
        from_dram.connect(*dram, *slice);
        coalescer->connect({&requests, &down, &up, &reply_link});
        slice->connect({&down, &up, &to_dram, &from_dram});
    }
    void request(PacketKind kind, Addr address, std::uint32_t tag, Cycle earliest = 0, std::uint32_t source = 0) {
        Packet p;
        p.kind = kind;
        p.address = address;
        p.tag = static_cast<std::uint16_t>(tag);
        p.source = static_cast<std::uint16_t>(source);
        if (kind != PacketKind::read) p.bytes.set_range(static_cast<std::uint32_t>(address % 128), 4);
        feeder->items.push_back({p, 1, earliest});
        feeder->wake(std::max(earliest, now()));
    }
    std::uint64_t stat(std::string_view name) const { return stat_of(*coalescer, name); }
    std::uint64_t slice_stat(std::string_view name) const { return stat_of(*slice, name); }

    RequestCoalescerSpec spec;
    L2Spec l2;
    AddressMap map{1, 1, 256, "plain"};
    PacketSizes sizes{32, 8, 32};
    RequestCoalescer* coalescer;
    L2Slice* slice;
    Feeder<Packet>* feeder;
    Taker<Packet>* replies;
    MockDram* dram;
};

RequestCoalescerSpec with(std::uint32_t entries, std::uint32_t max_merged) {
    RequestCoalescerSpec spec;
    spec.entries = entries;
    spec.max_merged = max_merged;
    return spec;
}

TEST(RequestCoalescer, FourReadsOfASectorReachTheSliceAsOne) {
    LrcBench bench;
    for (std::uint32_t n = 0; n < 9; ++n) bench.request(PacketKind::read, 0x400, 100 + n, 0, 7 + n);
    bench.run(300);
    EXPECT_EQ(bench.stat("reads"), 9u);
    EXPECT_EQ(bench.stat("allocated"), 3u) << "entries of 4, 4 and 1";
    EXPECT_EQ(bench.slice_stat("requests"), 3u);
    ASSERT_EQ(bench.replies->taken.size(), 9u);
    std::set<std::uint32_t> tags;
    for (const auto& reply : bench.replies->taken) {
        EXPECT_EQ(reply.value.kind, PacketKind::read_reply);
        EXPECT_EQ(reply.value.destination, reply.value.source);
        EXPECT_EQ(reply.value.source - 7, reply.value.tag - 100) << "each its own transaction";
        tags.insert(reply.value.tag);
    }
    EXPECT_EQ(tags.size(), 9u);
    EXPECT_EQ(bench.replies->taken[3].at, bench.replies->taken[0].at) << "all replies of an entry leave in one cycle if there is room";
    EXPECT_EQ(bench.stat("sectors_in"), 9u);
    EXPECT_EQ(bench.stat("sectors_out"), 3u);
    EXPECT_EQ(bench.coalescer->held(), 0u);
}

TEST(RequestCoalescer, OtherSectorsDoNotMerge) {
    LrcBench bench;
    for (std::uint32_t n = 0; n < 4; ++n) bench.request(PacketKind::read, 0x400 + 32 * n, n);
    bench.run(300);
    EXPECT_EQ(bench.stat("merged"), 0u);
    EXPECT_EQ(bench.replies->taken.size(), 4u);
}

TEST(RequestCoalescer, AnEntryIsOpenUntilItsLastReplyHasLeft) {
    LrcBench alone;
    alone.request(PacketKind::read, 0x400, 0);
    alone.run(300);
    ASSERT_EQ(alone.replies->taken.size(), 1u);
    const Cycle left = alone.replies->taken[0].at - 1;
    for (const std::uint32_t after : {0u, 1u}) {
        LrcBench bench;
        bench.request(PacketKind::read, 0x400, 0);
        bench.request(PacketKind::read, 0x400, 1, left - 2 + after);  // the link takes a cycle
        bench.run(400);
        EXPECT_EQ(bench.replies->taken.size(), 2u);
        EXPECT_EQ(bench.stat("merged"), 1u - after) << after;
    }
    // The network takes nothing for a while: reads that arrive meanwhile are answered as well.
    LrcBench slow({}, {}, 2);
    for (std::uint32_t n = 0; n < 4; ++n) slow.request(PacketKind::read, 0x400, n, n < 2 ? 0 : left - 1 + n);
    slow.run(400);
    EXPECT_EQ(slow.replies->taken.size(), 4u);
}

TEST(RequestCoalescer, WritesAndAtomicsPass) {
    LrcBench bench;
    bench.request(PacketKind::read, 0x400, 0);
    bench.request(PacketKind::atomic, 0x400, 1);
    bench.request(PacketKind::write, 0x400, 2);
    bench.request(PacketKind::atomic, 0x400, 3);
    bench.request(PacketKind::read, 0x400, 4);
    bench.run(300);
    EXPECT_EQ(bench.stat("passed"), 3u);
    EXPECT_EQ(bench.stat("merged"), 1u);
    EXPECT_EQ(bench.slice_stat("atomics"), 2u);
    EXPECT_EQ(bench.slice_stat("writes"), 1u);
    EXPECT_EQ(bench.replies->taken.size(), 5u);
}

TEST(RequestCoalescer, AWriteClosesAnEntryIfToldTo) {
    RequestCoalescerSpec spec;
    spec.on_store = RequestCoalescerSpec::OnStore::close;
    LrcBench bench(spec);
    bench.request(PacketKind::read, 0x420, 0);
    bench.request(PacketKind::write, 0x400, 1);  // another sector of the line
    bench.request(PacketKind::read, 0x420, 2);
    bench.request(PacketKind::write, 0x420, 3);
    bench.request(PacketKind::read, 0x420, 4);
    bench.run(300);
    EXPECT_EQ(bench.stat("merged"), 1u);
    EXPECT_EQ(bench.stat("closed"), 1u);
    EXPECT_EQ(bench.stat("allocated"), 2u);
    EXPECT_EQ(bench.replies->taken.size(), 5u);
}

TEST(RequestCoalescer, NothingIsTakenWhileAllEntriesAreInUse) {
    LrcBench bench(with(2, 4));
    for (std::uint32_t n = 0; n < 3; ++n) bench.request(PacketKind::read, 0x1000 * (n + 1), n);
    bench.request(PacketKind::read, 0x1000, 3);
    bench.run(30);
    EXPECT_EQ(bench.stat("requests_in"), 2u);
    EXPECT_EQ(bench.stat("stalls"), 1u);
    EXPECT_GT(bench.stat("full_cycles"), 20u);
    bench.run(600);
    EXPECT_EQ(bench.replies->taken.size(), 4u);
    EXPECT_EQ(bench.stat("merged"), 0u) << "the first entry had gone when its second read came to the head";
}

/// Every read is answered exactly once, for any mix, with few entries and a network that is often busy; stepping every cycle and stepping
/// on request count the same.
TEST(RequestCoalescer, AnswersEachRequestOnceUnderPressure) {
    for (const std::uint32_t entries : {1u, 3u, 64u}) {
        for (const std::uint32_t merged : {1u, 2u, 5u}) {
            std::vector<std::uint64_t> counts[2];
            for (const bool sleep : {false, true}) {
                RequestCoalescerSpec spec = with(entries, merged);
                spec.on_store = merged == 2 ? RequestCoalescerSpec::OnStore::close : RequestCoalescerSpec::OnStore::ignore;
                LrcBench bench(spec, {entries + merged, 40}, 5);
                Rng rng(entries * 100 + merged);
                constexpr std::uint32_t kRequests = 400;
                for (std::uint32_t n = 0; n < kRequests; ++n) {
                    const auto kind = rng.next() % 8 == 0 ? PacketKind::write : rng.next() % 8 == 0 ? PacketKind::atomic : PacketKind::read;
                    bench.request(kind, rng.next() % 12 * 32, n, n + rng.next() % 3);
                }
                bench.run(20000, sleep);
                ASSERT_EQ(bench.replies->taken.size(), kRequests) << entries << " entries of " << merged;
                std::set<std::uint32_t> tags;
                for (const auto& reply : bench.replies->taken) tags.insert(reply.value.tag);
                EXPECT_EQ(tags.size(), kRequests);
                EXPECT_EQ(bench.stat("reads"), bench.stat("answered"));
                EXPECT_EQ(bench.stat("merged") == 0, merged == 1 || entries == 1)
                    << "a single entry is never joined: nothing is taken meanwhile";
                EXPECT_EQ(bench.coalescer->held(), 0u);
                StatFields fields;
                bench.coalescer->stats(fields, 20000);
                for (const StatField& field : fields.list()) counts[sleep].push_back(field.value);
                counts[sleep].push_back(bench.replies->taken.back().at);
            }
            EXPECT_EQ(counts[0], counts[1]);
        }
    }
}

}  // namespace
}  // namespace mergelane::testing
