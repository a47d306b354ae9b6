// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>

#include "random_scripts.hpp"
#include "sm/coalescer.hpp"

namespace mergelane::testing {
namespace {

BlockList coalesced(const Access& access, std::uint32_t block_bytes, bool want_bytes = true) {
    BlockList out;
    coalesce(access.lanes, access.active, access.lane_bytes, block_bytes, 128, want_bytes, out);
    return out;
}

std::vector<Addr> blocks(const BlockList& list) {
    return {list.block.begin(), list.block.begin() + list.count};
}

Access lanes(LaneAddresses addresses, std::uint8_t lane_bytes = 4, std::uint32_t active = 0xFFFFFFFFu) {
    Access access;
    access.lanes = addresses;
    access.lane_bytes = lane_bytes;
    access.active = active;
    return access;
}

using Blocks = std::vector<Addr>;

TEST(Coalescer, UnitStrideIsOneLineOrFourSectors) {
    EXPECT_EQ(blocks(coalesced(lanes(affine(0x1000)), 128)), (Blocks{0x1000}));
    EXPECT_EQ(blocks(coalesced(lanes(affine(0x1000)), 32)), (Blocks{0x1000, 0x1020, 0x1040, 0x1060}));
    EXPECT_EQ(blocks(coalesced(lanes(affine(0x1000, 8), 8), 128)), (Blocks{0x1000, 0x1080}));
}

TEST(Coalescer, BroadcastIsOneBlock) {
    EXPECT_EQ(blocks(coalesced(lanes(affine(0x1234, 0)), 32)), (Blocks{0x1220}));
    EXPECT_EQ(blocks(coalesced(lanes(scattered(std::vector<Addr>(32, 0x1234))), 32)), (Blocks{0x1220}));
}

TEST(Coalescer, MisalignedUnitStrideTouchesOneMore) {
    EXPECT_EQ(blocks(coalesced(lanes(affine(0x1004)), 128)), (Blocks{0x1000, 0x1080}));
    EXPECT_EQ(blocks(coalesced(lanes(affine(0x1004)), 32)), (Blocks{0x1000, 0x1020, 0x1040, 0x1060, 0x1080}));
}

TEST(Coalescer, StridesSpreadOut) {
    EXPECT_EQ(coalesced(lanes(affine(0, 8)), 128).count, 2u);
    EXPECT_EQ(coalesced(lanes(affine(0, 32)), 128).count, 8u);
    EXPECT_EQ(coalesced(lanes(affine(0, 128)), 128).count, 32u);
    EXPECT_EQ(coalesced(lanes(affine(0x10000, -4)), 128).count, 2u) << "descending, from the first word of a line";
}

TEST(Coalescer, ALaneThatStraddlesNeedsBothBlocks) {
    const BlockList list = coalesced(lanes(affine(126), 4, 1), 128);
    EXPECT_EQ(blocks(list), (Blocks{0, 128}));
    EXPECT_EQ(list.bytes[0].high, std::uint64_t{3} << 62);
    EXPECT_EQ(list.bytes[1].low, 3u);
    // The worst case fits the list: every lane straddles two blocks of its own.
    std::vector<Addr> far(32);
    for (std::uint32_t i = 0; i < 32; ++i) far[i] = Addr{i} * 4096 + 30;
    EXPECT_EQ(coalesced(lanes(scattered(far)), 32).count, 64u);
}

TEST(Coalescer, OnlyActiveLanesCount) {
    EXPECT_EQ(coalesced(lanes(affine(0, 128), 4, 0), 128).count, 0u);
    EXPECT_EQ(blocks(coalesced(lanes(affine(0, 128), 4, 0b1001), 128)), (Blocks{0, 3 * 128}));
    const BlockList holes = coalesced(lanes(affine(0, 4), 4, 0b1011), 128);
    EXPECT_EQ(holes.bytes[0].low, 0xF0FFu);
}

TEST(Coalescer, OrderIsThatOfFirstTouchByLane) {
    EXPECT_EQ(blocks(coalesced(lanes(scattered({500, 10, 300, 12, 501}), 1, 0b11111), 128)), (Blocks{384, 0, 256}));
}

TEST(Coalescer, MatchesTheNaiveSetOnRandomAccesses) {
    Rng rng(17);
    for (int n = 0; n < 20'000; ++n) {
        RandomMix mix;
        mix.lines = n % 3 == 0 ? 4 : 4000;
        const Access access = random_access(rng, mix);
        const std::uint32_t block_bytes = 32u << rng.below(3);
        const BlockList list = coalesced(access, block_bytes);
        // Reference: byte by byte.
        std::map<Addr, ByteMask> expected;
        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
            if ((access.active >> lane & 1) == 0) continue;
            for (std::uint32_t b = 0; b < access.lane_bytes; ++b) {
                const Addr byte = access.lanes.of(lane) + b;
                expected[byte / block_bytes * block_bytes].set_range(static_cast<std::uint32_t>(byte % 128), 1);
            }
        }
        ASSERT_EQ(list.count, expected.size());
        for (std::uint32_t i = 0; i < list.count; ++i) {
            const auto found = expected.find(list.block[i]);
            ASSERT_NE(found, expected.end());
            ASSERT_EQ(list.bytes[i].low, found->second.low);
            ASSERT_EQ(list.bytes[i].high, found->second.high);
            expected.erase(found);  // each block once
        }
    }
}

TEST(CoalescerOfAtomics, LanesOnOneAddressGoInRounds) {
    BlockList out;
    coalesce_atomic(affine(64, 0), 0xFFFFFFFFu, 4, 128, 128, out);
    EXPECT_EQ(out.count, 32u) << "32 lanes, one address: 32 rounds";
    coalesce_atomic(affine(0, 4), 0xFFFFFFFFu, 4, 128, 128, out);
    EXPECT_EQ(out.count, 1u) << "different addresses of one line: one round";
    coalesce_atomic(scattered({0, 4, 0, 4, 0}), 0b11111, 4, 128, 128, out);
    EXPECT_EQ(out.count, 3u);
    EXPECT_EQ(out.bytes[0].low, 0xFFu);
    EXPECT_EQ(out.bytes[1].low, 0xFFu);
    EXPECT_EQ(out.bytes[2].low, 0x0Fu);
}

TEST(CoalescerOfAtomics, MatchesTheNaiveRoundsOnRandomAccesses) {
    Rng rng(23);
    for (int n = 0; n < 5000; ++n) {
        RandomMix mix;
        mix.lines = 1 + rng.below(20);
        Access access = random_access(rng, mix);
        if (n % 2 == 0) {
            std::vector<Addr> few(32);
            for (Addr& a : few) a = rng.below(8) * 4;
            access.lanes = scattered(few);
            access.lane_bytes = 4;
        }
        BlockList out;
        coalesce_atomic(access.lanes, access.active, access.lane_bytes, 32, 128, out);
        ASSERT_EQ(out.count, atomic_requests(access, 32));
    }
}

std::uint32_t naive_conflicts(const Access& access, std::uint32_t banks) {
    std::map<Addr, std::set<Addr>> words_of_bank;
    for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
        if ((access.active >> lane & 1) == 0) continue;
        // Aligned words of the lane's access.
        for (std::uint32_t k = 0; k < std::max(1u, access.lane_bytes / 4u); ++k) {
            const Addr word = access.lanes.of(lane) / 4 + k;
            words_of_bank[word % banks].insert(word);
        }
    }
    std::size_t most = 1;
    for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
    return static_cast<std::uint32_t>(most);
}

/// Active lanes cut into up to six runs, as a trace gives them.
LaneAddresses random_runs(Rng& rng, std::uint32_t active) {
    static constexpr std::array<std::int64_t, 8> kStrides = {0, 4, 4, 8, 16, -4, 128, 1000};
    LaneAddresses out{};
    out.affine = false;
    std::uint32_t left = static_cast<std::uint32_t>(std::popcount(active));
    while (left != 0) {
        const bool last = out.run_count + 1 == LaneAddresses::kMostRuns;
        const std::uint32_t count = last ? left : 1 + static_cast<std::uint32_t>(rng.below(left));
        const bool again = out.run_count != 0 && rng.below(3) == 0;
        const Addr base = again ? out.runs[out.run_count - 1].base : 65536 + rng.below(4096) * 4;
        out.runs[out.run_count++] = {base, kStrides[rng.below(kStrides.size())], count};
        left -= count;
    }
    return out;
}

TEST(LaneRuns, MeanWhatTheirListMeans) {
    Rng rng(11);
    for (int n = 0; n < 20000; ++n) {
        const std::uint32_t active = n % 3 == 0 ? 0xFFFFFFFFu : static_cast<std::uint32_t>(rng.next()) | 1u;
        const std::uint8_t lane_bytes = std::array<std::uint8_t, 4>{1, 4, 8, 16}[rng.below(4)];
        const LaneAddresses runs = random_runs(rng, active);
        LaneAddresses list = runs;
        list.expand(active);
        const BlockList a = coalesced(lanes(runs, lane_bytes, active), 32);
        const BlockList b = coalesced(lanes(list, lane_bytes, active), 32);
        ASSERT_EQ(blocks(a), blocks(b)) << n;
        for (std::uint32_t i = 0; i < a.count; ++i)
            ASSERT_TRUE(a.bytes[i].low == b.bytes[i].low && a.bytes[i].high == b.bytes[i].high) << n;
        ASSERT_EQ(bank_conflict_degree(runs, active, lane_bytes, 32), bank_conflict_degree(list, active, lane_bytes, 32)) << n;
    }
}

TEST(BankConflicts, OfKnownPatterns) {
    const auto degree = [](LaneAddresses addresses, std::uint32_t lane_bytes = 4, std::uint32_t banks = 32) {
        return bank_conflict_degree(addresses, 0xFFFFFFFFu, lane_bytes, banks);
    };
    EXPECT_EQ(degree(affine(0, 4)), 1u);
    EXPECT_EQ(degree(affine(0, 0)), 1u) << "broadcast";
    EXPECT_EQ(degree(affine(0, 8)), 2u);
    EXPECT_EQ(degree(affine(0, 64)), 16u);
    EXPECT_EQ(degree(affine(0, 128)), 32u);
    EXPECT_EQ(degree(affine(0, 132)), 1u) << "a padded column";
    EXPECT_EQ(degree(affine(0, 1), 1), 1u) << "bytes of one word are served together";
    EXPECT_EQ(degree(affine(0, 8), 8), 2u) << "64 words in 32 banks";
    EXPECT_EQ(degree(affine(0, 4), 4, 16), 2u) << "half as many banks";
    EXPECT_EQ(bank_conflict_degree(affine(0, 128), 0b11, 4, 32), 2u) << "only active lanes";
    EXPECT_EQ(bank_conflict_degree(affine(0, 128), 0, 4, 32), 1u);
}

TEST(BankConflicts, MatchTheNaiveCountOnRandomAccesses) {
    Rng rng(31);
    for (int n = 0; n < 20'000; ++n) {
        RandomMix mix;
        mix.lines = 1 + rng.below(30);
        const Access access = random_access(rng, mix);
        const std::uint32_t banks = 16u << rng.below(3);
        if (access.active == 0) continue;
        ASSERT_EQ(bank_conflict_degree(access.lanes, access.active, access.lane_bytes, banks), naive_conflicts(access, banks))
            << "lane bytes " << int{access.lane_bytes} << ", banks " << banks;
    }
}

}  // namespace
}  // namespace mergelane::testing
