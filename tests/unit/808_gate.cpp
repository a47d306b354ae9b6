// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "sim/gate.hpp"

namespace mergelane::testing {
namespace {

/// Two threads that take turns, so that each waits for the other every time.
void take_turns(std::uint32_t most_spins) {
    constexpr std::uint32_t kTurns = 2000;
    std::atomic<std::uint32_t> turn{0};
    Gate gate;
    const auto take = [&](std::uint32_t parity) {
        std::uint32_t spins = most_spins;
        for (std::uint32_t mine = parity; mine < kTurns; mine += 2) {
            gate.wait([&] { return turn.load() == mine; }, most_spins, spins);
            ASSERT_EQ(turn.load(), mine);
            turn.fetch_add(1);
            gate.opened();
        }
    };
    std::thread other([&] { take(1); });
    take(0);
    other.join();
    EXPECT_EQ(turn.load(), kTurns);
}

TEST(Gate, WakesWhoeverSleeps) {
    take_turns(0);
}

TEST(Gate, OpensForWhoeverSpins) {
    take_turns(1000);
}

TEST(Gate, SpinningInVainMakesSpinsFewerAndSuccessMakesThemMore) {
    std::atomic<bool> open{false};
    Gate gate;
    std::uint32_t spins = 1000;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        open.store(true);
        gate.opened();
    });
    gate.wait([&] { return open.load(); }, 1000, spins);
    other.join();
    EXPECT_EQ(spins, 500u);
    gate.wait([&] { return open.load(); }, 1000, spins);
    EXPECT_EQ(spins, 563u);
}

}  // namespace
}  // namespace mergelane::testing
