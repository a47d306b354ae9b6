// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "mocks.hpp"

namespace mergelane::testing {
namespace {

/// Wants to be called at given cycles and remembers when it was.
class Planner final : public Component {
public:
    using Component::Component;
    Cycle step(Cycle now) override {
        stepped.push_back(now);
        while (next < wanted.size() && wanted[next] <= now) ++next;
        return next < wanted.size() ? wanted[next] : kNever;
    }
    void stats(StatFields&, Cycle) const override {}
    std::vector<Cycle> wanted;
    std::vector<Cycle> stepped;
    std::size_t next = 0;
};

class Calendar : public ::testing::TestWithParam<std::uint32_t> {};
// One component has no wheel, 65 need two words of it.
INSTANTIATE_TEST_SUITE_P(Components, Calendar, ::testing::Values(1u, 2u, 65u, 130u));

TEST_P(Calendar, CallsEveryoneInTimeHoweverFarAhead) {
    TestBench bench;
    std::vector<Planner*> planners;
    for (std::uint32_t i = 0; i < GetParam(); ++i) {
        auto& planner = bench.add<Planner>("planner" + std::to_string(i));
        Rng rng(i);
        Cycle at = 0;
        for (int n = 0; n < 50; ++n) planner.wanted.push_back(at += 1 + rng.below(n % 5 == 0 ? 5000 : 70));
        planners.push_back(&planner);
    }
    bench.run(400'000);
    for (const Planner* planner : planners) {
        // Early calls are allowed (the wheel has a horizon), a late or missing one is not.
        for (const Cycle want : planner->wanted) {
            ASSERT_TRUE(std::binary_search(planner->stepped.begin(), planner->stepped.end(), want)) << planner->name() << " at " << want;
        }
        ASSERT_TRUE(std::is_sorted(planner->stepped.begin(), planner->stepped.end()));
    }
}

TEST_P(Calendar, DoesNotCallMoreOftenThanTheHorizonExplains) {
    TestBench bench;
    for (std::uint32_t i = 1; i < GetParam(); ++i) bench.add<Planner>("idle" + std::to_string(i));
    auto& planner = bench.add<Planner>("planner");
    planner.wanted = {6300};
    bench.run(10'000);
    EXPECT_LE(planner.stepped.size(), 2 + 6300 / 63);
    EXPECT_EQ(planner.stepped.back(), 6300u) << "and not at all afterwards";
}

TEST(Calendar, AWakeInThePastIsNow) {
    TestBench bench;
    auto& a = bench.add<Planner>("a");
    auto& b = bench.add<Planner>("b");
    bench.run(100);
    a.wake(3);
    b.wake(150);
    bench.run(200);
    EXPECT_EQ(a.stepped, (std::vector<Cycle>{0, 100}));
    EXPECT_EQ(b.stepped, (std::vector<Cycle>{0, 150}));
}

TEST(Calendar, TheEarlierOfTwoWakesWins) {
    TestBench bench;
    auto& a = bench.add<Planner>("a");
    auto& b = bench.add<Planner>("b");
    bench.run(1);
    for (Planner* planner : {&a, &b}) {
        planner->wake(40);
        planner->wake(20);
        planner->wake(30);
    }
    bench.run(100);
    EXPECT_EQ(a.stepped[1], 20u);
    EXPECT_EQ(b.stepped[1], 20u);
}

TEST(Calendar, WithoutSleepEveryoneIsCalledEveryCycle) {
    TestBench bench;
    auto& a = bench.add<Planner>("a");
    auto& b = bench.add<Planner>("b");
    a.wanted = {50};
    bench.run(51, false);
    EXPECT_EQ(b.stepped.back(), a.stepped.back());
    EXPECT_EQ(a.stepped.size(), b.stepped.size());
    EXPECT_GE(a.stepped.size(), 50u);
}

TEST(Engine, StopsIdleWhenNobodyWantsAnything) {
    Domain domain("domain", Clock{2});
    Planner planner("planner");
    planner.wanted = {10, 500};
    domain.add(planner);
    Engine engine(std::vector<Domain*>{&domain}, {1, 16, true});
    planner.wake(0);
    EXPECT_EQ(engine.run_until(kEndOfTime, [](Time) { return true; }), Engine::End::idle);
    EXPECT_EQ(planner.stepped.back(), 500u);
    EXPECT_GE(engine.time(), 1000u);
    EXPECT_LE(engine.time(), 1000u + 2 * 16) << "the window it was called in, and one in which nobody was";
}

TEST(Engine, RunsNoCycleAtOrAfterItsLimit) {
    Domain domain("domain", Clock{3});
    Planner planner("planner");
    for (Cycle c = 1; c < 100; ++c) planner.wanted.push_back(c);
    domain.add(planner);
    Engine engine(std::vector<Domain*>{&domain}, {1, 16, true});
    planner.wake(0);
    EXPECT_EQ(engine.run_until(31, [](Time) { return true; }), Engine::End::limit);
    EXPECT_EQ(planner.stepped.back(), 10u) << "cycle 10 starts at 30, cycle 11 at 33";
    EXPECT_EQ(engine.time(), 31u);
    EXPECT_EQ(engine.run_until(33, [](Time) { return true; }), Engine::End::limit);
    EXPECT_EQ(planner.stepped.back(), 10u);
    EXPECT_EQ(engine.run_until(34, [](Time) { return true; }), Engine::End::limit);
    EXPECT_EQ(planner.stepped.back(), 11u);
}

TEST(Engine, PassesOnWhatADomainThrows) {
    class Thrower final : public Component {
    public:
        using Component::Component;
        Cycle step(Cycle now) override {
            if (now == 20) throw std::runtime_error("cycle 20");
            return now + 1;
        }
        void stats(StatFields&, Cycle) const override {}
    };
    for (const std::uint32_t threads : {1u, 3u}) {
        Domain quiet("quiet", Clock{}), loud("loud", Clock{});
        Thrower a("a"), b("b");
        quiet.add(a);
        loud.add(b);
        Engine engine(std::vector<Domain*>{&quiet, &loud}, {threads, 8, true});
        b.wake(0);
        EXPECT_THROW(engine.run_until(kEndOfTime, [](Time) { return true; }), std::runtime_error);
    }
}

}  // namespace
}  // namespace mergelane::testing
