// SPDX-License-Identifier: MIT
// Invariant: each replacement policy evicts the line that its name implies. A new policy adds its sequence here.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/rng.hpp"
#include "machines.hpp"
#include "parts/tag_array.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

std::uint32_t find(const TagArray& tags, std::uint64_t line) {
    return tags.find(tags.set_of(line), line);
}
std::uint32_t candidate(const TagArray& tags, std::uint64_t line) {
    return tags.candidate(tags.set_of(line));
}

/// Lines left in a set of four after a sequence of accesses.
std::set<std::uint64_t> survivors(std::string_view policy, const std::vector<std::uint64_t>& accesses) {
    TagArray tags({1, 4, "plain", policy});
    for (const std::uint64_t line : accesses) {
        if (const std::uint32_t at = find(tags, line); at != kNoSlot) {
            tags.touch(at);
        } else {
            tags.install(candidate(tags, line), line);
        }
    }
    std::set<std::uint64_t> left;
    for (std::uint64_t line = 0; line < 32; ++line) {
        if (find(tags, line) != kNoSlot) left.insert(line);
    }
    return left;
}

using Lines = std::set<std::uint64_t>;

TEST(Replacement, LruKeepsWhatWasUsedLast) {
    EXPECT_EQ(survivors("lru", {1, 2, 3, 4, 1, 5}), (Lines{1, 3, 4, 5}));
    EXPECT_EQ(survivors("lru", {1, 2, 3, 4, 2, 1, 5, 6}), (Lines{1, 2, 5, 6}));
}

TEST(Replacement, FifoKeepsWhatCameLast) {
    EXPECT_EQ(survivors("fifo", {1, 2, 3, 4, 1, 5}), (Lines{2, 3, 4, 5}));
    EXPECT_EQ(survivors("fifo", {1, 2, 3, 4, 2, 1, 5, 6}), (Lines{3, 4, 5, 6}));
}

TEST(Replacement, LruMatchesANaiveListOnRandomAccesses) {
    Rng rng(5);
    for (const std::uint32_t ways : {3u, 7u, 24u, 40u}) {  // small sets, fingerprints, hash chains
        TagArray tags({1, ways, "plain", "lru"});
        std::vector<std::uint64_t> order;  // least recently used first
        for (int n = 0; n < 20'000; ++n) {
            const std::uint64_t line = rng.below(ways * 2 - 2);
            const auto known = std::find(order.begin(), order.end(), line);
            const std::uint32_t at = find(tags, line);
            ASSERT_EQ(at != kNoSlot, known != order.end());
            if (at != kNoSlot) {
                order.erase(known);
                if (n % 50 == 0) {
                    tags.invalidate(at);
                    continue;
                }
                tags.touch(at);
            } else {
                const std::uint32_t victim = candidate(tags, line);
                if (order.size() == ways) {
                    ASSERT_EQ(tags.tag(victim), order.front());
                    order.erase(order.begin());
                } else {
                    ASSERT_FALSE(tags.in_use(victim));
                }
                tags.install(victim, line);
            }
            order.push_back(line);
        }
    }
}

TEST(Replacement, NeverTakesALineThatWaitsForAFetch) {
    for (const std::string_view policy : policies_of<add_replacements>().registry().names<Replacement>()) {
        TagArray tags({1, 2, "plain", policy});
        tags.install(candidate(tags, 1), 1);
        tags.pending(find(tags, 1)) = 1;
        tags.install(candidate(tags, 2), 2);
        EXPECT_EQ(candidate(tags, 3), find(tags, 2)) << policy;
        tags.pending(find(tags, 2)) = 1;
        EXPECT_EQ(candidate(tags, 3), kNoSlot) << policy;
    }
}

TEST(Replacement, DecidesHitsOfARealRun) {
    // A set of two ways: a b a c, then a again. LRU still has a; FIFO gave it up for c.
    for (const bool lru : {true, false}) {
        MachineSpec s = icc60_like(1);
        s.l1.size_kib = 1;
        s.l1.ways = 2;
        s.l1.set_hash = "plain";
        s.l1.replacement = lru ? "lru" : "fifo";
        valid(s);
        const Addr set_stride = 4 * 128;
        WarpScript script;
        std::uint16_t reg = 0;
        for (const std::uint32_t line : {0u, 1u, 0u, 2u, 0u}) {
            Access access;
            access.lanes = affine(line * set_stride);
            script.load(static_cast<std::uint16_t>(reg + 1), access, {reg});
            ++reg;
        }
        const RunResult result = run_on(s, script.use(reg));
        EXPECT_EQ(result.stat("l1.sector_hits"), (lru ? 2u : 1u) * 4);
        EXPECT_EQ(result.stat("l1.fills"), lru ? 3u : 4u);
    }
}

}  // namespace
}  // namespace mergelane::testing
