// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "core/rng.hpp"
#include "parts/bitset_arbiter.hpp"
#include "parts/mshr_file.hpp"
#include "parts/tag_array.hpp"

namespace mergelane {
namespace {

TEST(FindKey, MatchesALinearSearchForAnyCount) {
    Rng rng(1);
    for (const std::uint32_t count : {1u, 7u, 8u, 9u, 15u, 16u, 17u, 24u, 33u, 64u, 100u, 257u}) {
        std::vector<std::uint64_t> keys(count);
        std::vector<std::uint8_t> prints(count + 16, 0);
        for (std::uint32_t i = 0; i < count; ++i) {
            keys[i] = rng.next() % 4096;  // few enough for equal fingerprints of different keys
            prints[i] = fingerprint(keys[i]);
        }
        for (std::uint64_t key = 0; key < 4096; ++key) {
            std::uint32_t expected = kNoSlot;
            for (std::uint32_t i = count; i-- > 0;) expected = keys[i] == key ? i : expected;
            ASSERT_EQ(find_key(keys.data(), prints.data(), count, key), expected) << count << " keys";
        }
    }
}

TEST(FindKey, DoesNotLookPastTheEnd) {
    // The 16 bytes behind the last fingerprint may match by chance.
    std::vector<std::uint64_t> keys(32, 5);
    std::vector<std::uint8_t> prints(48, fingerprint(77));
    keys[20] = 77;
    EXPECT_EQ(find_key(keys.data(), prints.data(), 20, 77), kNoSlot);
    EXPECT_EQ(find_key(keys.data(), prints.data(), 21, 77), 20u);
}

TEST(TagArray, RanksComeBeforeTheOrder) {
    for (const char* policy : {"lru", "fifo"}) {
        TagArray tags({1, 8, "plain", policy});
        tags.use_ranks();
        for (std::uint64_t line = 0; line < 8; ++line) tags.install(tags.candidate(0), line);
        const auto evicted = [&](std::uint64_t replaced_by) {
            const std::uint32_t at = tags.candidate(0);
            const std::uint64_t tag = tags.tag(at);
            tags.install(at, replaced_by);
            return tag;
        };
        for (const std::uint64_t line : {0, 1, 5}) tags.set_rank(tags.find(0, line), TagArray::kHighestRank);
        for (const std::uint64_t line : {6, 4}) tags.set_rank(tags.find(0, line), TagArray::kLowestRank);
        EXPECT_EQ(tags.count_rank(0, TagArray::kHighestRank), 3u);
        EXPECT_EQ(tags.tag(tags.next_of_rank(0, TagArray::kHighestRank, true)), 0u);
        tags.pending(tags.find(0, 2)) = 1;
        EXPECT_EQ(evicted(10), 4u);
        EXPECT_EQ(evicted(11), 6u);
        EXPECT_EQ(evicted(12), 3u) << "line 2 has a pending fill";
        tags.pending(tags.find(0, 2)) = 0;
        EXPECT_EQ(tags.tag(tags.candidate(0)), 2u);
        tags.keep_order(true);
        tags.touch(tags.find(0, 2));
        EXPECT_EQ(tags.tag(tags.candidate(0)), 2u) << "the order is kept";
        tags.keep_order(false);
        tags.touch(tags.find(0, 2));
        const std::vector<std::uint64_t> order =
            std::string_view(policy) == "lru" ? std::vector<std::uint64_t>{7, 10, 11, 12, 2} : std::vector<std::uint64_t>{2, 7, 10, 11, 12};
        for (const std::uint64_t expected : order) {
            const std::uint32_t at = tags.candidate(0);
            EXPECT_EQ(tags.tag(at), expected) << policy;
            tags.set_rank(at, TagArray::kHighestRank);
        }
        EXPECT_EQ(evicted(20), 0u) << "only the highest rank is left";
        EXPECT_EQ(tags.rank(tags.find(0, 20)), 0) << "a new line is normal";
    }
}

TEST(TagArray, FindsWhatWasInstalledInEverySetAndWay) {
    for (const std::uint32_t ways : {1u, 2u, 8u, 16u, 24u, 64u}) {
        TagArray tags({16, ways, "xor_fold", "lru"});
        std::map<std::uint64_t, std::uint32_t> where;
        for (std::uint64_t line = 0; line < 16u * ways; ++line) {
            const std::uint32_t set = tags.set_of(line);
            ASSERT_EQ(tags.find(set, line), kNoSlot);
            const std::uint32_t at = tags.candidate(set);
            ASSERT_GE(at, set);
            ASSERT_LT(at, set + ways);
            ASSERT_FALSE(tags.in_use(at)) << "an empty line is taken before anything is evicted";
            tags.install(at, line);
            where[line] = at;
        }
        for (const auto& [line, at] : where) {
            EXPECT_EQ(tags.find(tags.set_of(line), line), at);
            EXPECT_EQ(tags.tag(at), line);
        }
        tags.invalidate(where[3]);
        EXPECT_EQ(tags.find(tags.set_of(3), 3), kNoSlot);
        EXPECT_EQ(tags.candidate(tags.set_of(3)), where[3]);
        tags.invalidate_all();
        for (const auto& [line, at] : where) EXPECT_EQ(tags.find(tags.set_of(line), line), kNoSlot);
    }
}

TEST(TagArray, InstallStartsWithNothingValid) {
    TagArray tags({1, 1, "plain", "lru"});
    tags.install(0, 5);
    tags.fill(0, 0xF);
    tags.dirty(0) = 3;
    EXPECT_EQ(tags.valid(0), 0xF);
    tags.install(0, 6);
    EXPECT_EQ(tags.valid(0), 0);
    EXPECT_EQ(tags.dirty(0), 0);
    EXPECT_EQ(tags.partial(0), 0);
}

TEST(TagArray, ASectorIsValidWhenAllItsBytesAreKnown) {
    TagArray tags({1, 1, "plain", "lru"});
    tags.install(0, 5);
    ByteMask first, second, whole;
    first.set_range(32, 31);
    second.set_range(60, 8);
    whole.set_range(96, 32);
    tags.write_bytes(0, first);
    EXPECT_EQ(tags.valid(0), 0) << "one byte is missing";
    tags.write_bytes(0, second);
    EXPECT_EQ(tags.valid(0), 0b0010) << "byte 63 arrived; sector 2 has four of 32";
    tags.write_bytes(0, whole);
    EXPECT_EQ(tags.valid(0), 0b1010);
    tags.pending(0) = 0b0101;
    tags.fill(0, 0b0101);
    EXPECT_EQ(tags.valid(0), 0b1111);
    EXPECT_EQ(tags.pending(0), 0);
}

TEST(MshrFile, HoldsItsEntriesAndMerges) {
    MshrFile<int> mshrs(20, 3);
    EXPECT_EQ(mshrs.capacity(), 20u);
    for (std::uint64_t block = 0; block < 20; ++block) {
        EXPECT_FALSE(mshrs.full());
        EXPECT_EQ(mshrs.find(block), kNoSlot);
        const std::uint32_t entry = mshrs.allocate(block, static_cast<int>(block), 7, 100 + block);
        EXPECT_EQ(mshrs.find(block), entry);
        EXPECT_EQ(mshrs.block(entry), block);
        EXPECT_EQ(mshrs.since(entry), 100 + block);
    }
    EXPECT_TRUE(mshrs.full());
    const std::uint32_t entry = mshrs.find(11);
    EXPECT_TRUE(mshrs.can_merge(entry));
    mshrs.merge(entry, 111);
    mshrs.merge(entry, 112);
    EXPECT_FALSE(mshrs.can_merge(entry)) << "the first request counts too";
    const auto targets = mshrs.targets(entry);
    EXPECT_EQ(std::vector<int>(targets.begin(), targets.end()), (std::vector<int>{11, 111, 112}));
    mshrs.release(entry);
    EXPECT_FALSE(mshrs.full());
    EXPECT_EQ(mshrs.find(11), kNoSlot);
    EXPECT_EQ(mshrs.in_use(), 19u);
    const std::uint32_t again = mshrs.allocate(500, 1, 7, 5);
    EXPECT_EQ(mshrs.targets(again).size(), 1u) << "nothing is left of the entry's last use";
}

TEST(ByteMask, SetsAnyRange) {
    for (std::uint32_t first = 0; first < 128; ++first) {
        for (std::uint32_t count = 1; first + count <= 128; count += count < 5 ? 1 : 13) {
            ByteMask mask;
            mask.set_range(first, count);
            std::uint32_t sectors = 0;
            for (std::uint32_t byte = 0; byte < 128; ++byte) {
                const bool expected = byte >= first && byte < first + count;
                const std::uint64_t word = byte < 64 ? mask.low : mask.high;
                ASSERT_EQ((word >> (byte % 64) & 1) != 0, expected) << first << " + " << count << ", byte " << byte;
                if (expected) sectors |= 1u << (byte / 32);
            }
            ASSERT_EQ(mask.touched_sectors(), sectors);
        }
    }
}

TEST(ByteMask, SectorsAreTheirBytes) {
    ByteMask mask;
    for (const std::uint32_t s : {0u, 1u, 3u}) {
        mask.set_range(s * kSectorBytes, kSectorBytes);
        EXPECT_EQ(mask.sector(s), 0xFFFFFFFFu);
    }
    EXPECT_EQ(mask.touched_sectors(), 0b1011u);
    mask.set_range(70, 1);
    EXPECT_EQ(mask.sector(2), 1u << 6);
}

TEST(BitSet, FirstAllowedFromMatchesALinearSearch) {
    Rng rng(8);
    for (const std::uint32_t size : {1u, 5u, 63u, 64u, 65u, 128u, 130u, 200u}) {
        for (int n = 0; n < 300; ++n) {
            BitSet a(size), b(size);
            for (std::uint32_t i = 0; i < size; ++i) {
                if (rng.below(n % 2 == 0 ? 3 : 40) == 0) a.set(i);
                if (rng.below(3) == 0) b.set(i);
            }
            const std::uint32_t start = rng.below(size);
            std::uint32_t expected = kNobody;
            for (std::uint32_t k = 0; k < size && expected == kNobody; ++k) {
                const std::uint32_t i = (start + k) % size;
                if (a.test(i) && !b.test(i)) expected = i;
            }
            ASSERT_EQ(first_allowed_from(a.data(), b.data(), a.words(), start), expected) << "size " << size << ", from " << start;
        }
    }
}

}  // namespace
}  // namespace mergelane
