// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <deque>

#include "core/ring.hpp"
#include "core/rng.hpp"

namespace mergelane {
namespace {

TEST(Ring, HoldsItsCapacityNotThePowerOfTwoBehindIt) {
    Ring<int> ring(5);
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(ring.full());
        ring.push(i);
    }
    EXPECT_TRUE(ring.full());
    EXPECT_EQ(ring.size(), 5u);
    EXPECT_EQ(ring.capacity(), 5u);
}

TEST(Ring, IsAFifoOverManyTurns) {
    Ring<std::uint64_t> ring(7);
    std::deque<std::uint64_t> reference;
    Rng rng(3);
    for (std::uint64_t n = 0; n < 10'000; ++n) {
        if (!ring.full() && rng.below(2) == 0) {
            ring.push(n);
            reference.push_back(n);
        } else if (!ring.empty()) {
            ASSERT_EQ(ring.front(), reference.front());
            ring.pop();
            reference.pop_front();
        }
        ASSERT_EQ(ring.size(), reference.size());
        ASSERT_EQ(ring.empty(), reference.empty());
        ASSERT_EQ(ring.full(), reference.size() == 7);
    }
}

TEST(Ring, ClaimedSlotIsTheLastQueued) {
    Ring<int> ring(2);
    ring.push(1);
    ring.claim() = 2;
    ring.pop();
    EXPECT_EQ(ring.front(), 2);
    ring.reset(1);
    EXPECT_TRUE(ring.empty());
    ring.push(9);
    EXPECT_TRUE(ring.full());
}

}  // namespace
}  // namespace mergelane
