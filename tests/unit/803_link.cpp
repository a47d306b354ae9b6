// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "mocks.hpp"

namespace mergelane::testing {
namespace {

/// A component that only counts its steps.
class Idle final : public Component {
public:
    using Component::Component;
    Cycle step(Cycle now) override {
        stepped.push_back(now);
        return kNever;
    }
    void stats(StatFields&, Cycle) const override {}
    std::vector<Cycle> stepped;
};

struct Pair {
    explicit Pair(std::uint32_t room, Cycle forward = 3, Cycle credit = 2) : link(bench.loose_link<int>("a -> b", room, forward, credit)) {
        link.connect(a, b);
    }
    TestBench bench;
    Idle& a = bench.add<Idle>("a");
    Idle& b = bench.add<Idle>("b");
    Link<int>& link;
};

TEST(Link, DeliversAfterItsLatencyInOrder) {
    Pair p(4);
    ASSERT_TRUE(p.link.can_send(10, 1));
    p.link.send(10, 7);
    p.link.send(11, 8);
    EXPECT_FALSE(p.link.has(12));
    EXPECT_TRUE(p.link.has(13));
    EXPECT_EQ(p.link.head_arrival(), 13u);
    EXPECT_EQ(p.link.pop_and_release(13), 7);
    EXPECT_FALSE(p.link.has(13)) << "the second one is a cycle behind";
    EXPECT_EQ(p.link.pop_and_release(14), 8);
    EXPECT_EQ(p.link.head_arrival(), kNever);
    EXPECT_EQ(p.link.in_flight(), 0u);
}

TEST(Link, RoomComesBackACreditLatencyAfterRelease) {
    Pair p(2);
    ASSERT_TRUE(p.link.can_send(0, 2));
    p.link.send(0, 1, 2);
    EXPECT_FALSE(p.link.can_send(1, 1));
    EXPECT_TRUE(p.link.sender_waits());
    EXPECT_EQ(p.link.next_credit(), kNever) << "nobody released anything yet";
    EXPECT_EQ(p.link.front_cost(), 2u);
    p.link.pop();
    EXPECT_FALSE(p.link.can_send(4, 1)) << "popped, but its room is still taken";
    p.link.release(5, 2);
    EXPECT_EQ(p.link.next_credit(), 7u);
    EXPECT_FALSE(p.link.can_send(6, 1)) << "illegal at t - 1";
    EXPECT_TRUE(p.link.can_send(7, 2)) << "legal at t";
    EXPECT_FALSE(p.link.sender_waits());
}

TEST(Link, ReleasesInParts) {
    Pair p(4);
    ASSERT_TRUE(p.link.can_send(0, 2));
    p.link.send(0, 1, 2);
    ASSERT_TRUE(p.link.can_send(0, 2));
    p.link.send(0, 2, 2);
    p.link.pop();
    p.link.release(3, 2);
    EXPECT_FALSE(p.link.can_send(5, 4));
    EXPECT_TRUE(p.link.can_send(5, 2));
    p.link.pop();
    p.link.release(4, 2);
    EXPECT_TRUE(p.link.can_send(6, 4));
}

TEST(Link, WakesTheReceiverAndAWaitingSender) {
    Pair p(1);
    p.bench.run(1);  // both are called once; a wake for later would be forgotten, as they return nothing
    ASSERT_TRUE(p.link.can_send(1, 1));
    p.link.send(1, 1);
    p.bench.run(5);
    EXPECT_EQ(p.b.stepped, (std::vector<Cycle>{0, 4}));
    EXPECT_FALSE(p.link.can_send(5, 1));
    p.link.pop_and_release(5);
    p.bench.run(10);
    EXPECT_EQ(p.a.stepped, (std::vector<Cycle>{0, 7})) << "woken when its room is back";
}

TEST(Link, SurvivesManyTurnsOfItsRingWithMixedCosts) {
    TestBench bench;
    auto& link = bench.loose_link<int>("link", 13, 4, 3);
    auto& feeder = bench.add<Feeder<int>>("feeder", link, Gate{1, 60});
    auto& taker = bench.add<Taker<int>>("taker", link, Gate{2, 40});
    Rng rng(9);
    for (int n = 0; n < 5000; ++n) feeder.items.push_back({n, 1 + rng.below(13)});
    link.connect(feeder, taker);
    bench.run(400'000);
    ASSERT_EQ(taker.taken.size(), 5000u);
    for (int n = 0; n < 5000; ++n) ASSERT_EQ(taker.taken[static_cast<std::size_t>(n)].value, n);
}

TEST(Link, AcrossDomainsAndClocksDeliversTheSameForAnyWindow) {
    // Sender at period 3, receiver at period 7; both latencies at least the longest window.
    const auto run = [](Time window, bool sleep, std::uint32_t threads) {
        Domain from("from", Clock{3});
        Domain to("to", Clock{7});
        Link<int> link("cut", 9, {Clock{3}, Clock{7}, 25, 22, true});
        Feeder<int> feeder("feeder", link, Gate{5, 50});
        Taker<int> taker("taker", link, Gate{6, 70});
        for (int n = 0; n < 800; ++n) feeder.items.push_back({n, 1 + static_cast<std::uint32_t>(n % 4), static_cast<Cycle>(n / 100 * 400)});
        from.add(feeder);
        to.add(taker);
        link.connect(feeder, taker);
        Engine engine(std::vector<Domain*>{&from, &to}, {threads, window, sleep});
        feeder.wake(0);
        engine.run_until(kEndOfTime, [&](Time now) { return now < 100'000; });
        std::vector<std::pair<Cycle, int>> arrivals;
        for (const auto& a : taker.taken) arrivals.emplace_back(a.at, a.value);
        return arrivals;
    };
    const auto reference = run(22, true, 1);
    ASSERT_EQ(reference.size(), 800u);
    for (const Time window : {Time{1}, Time{2}, Time{3}, Time{7}, Time{10}, Time{22}}) {
        EXPECT_EQ(run(window, true, 1), reference) << "window " << window;
        EXPECT_EQ(run(window, false, 1), reference) << "window " << window << ", no sleep";
        EXPECT_EQ(run(window, true, 2), reference) << "window " << window << ", two threads";
    }
}

TEST(Link, DescribesWhatItWaitsFor) {
    Pair p(2);
    ASSERT_TRUE(p.link.can_send(0, 2));
    p.link.send(0, 1, 2);
    EXPECT_NE(p.link.describe_wait().find("1 packets in flight"), std::string::npos) << p.link.describe_wait();
    p.link.pop();
    EXPECT_NE(p.link.describe_wait().find("1 held by b"), std::string::npos) << p.link.describe_wait();
    p.link.release(3, 2);
    EXPECT_NE(p.link.describe_wait().find("flow control lost them"), std::string::npos) << p.link.describe_wait();
}

}  // namespace
}  // namespace mergelane::testing
