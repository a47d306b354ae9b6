// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/wiring.hpp"
#include "mocks.hpp"

namespace mergelane::testing {
namespace {

/// Holds what it is told to and can say that it waits.
class Stub final : public Component {
public:
    explicit Stub(std::string name, std::uint64_t holds = 0) : Component(std::move(name)), holds_(holds) {}
    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields&, Cycle) const override {}
    void explain(std::vector<Wait>& waits) const override { waits.insert(waits.end(), waits_.begin(), waits_.end()); }
    std::uint64_t held() const override { return holds_; }
    void waits_for(const Component* other, std::string why, bool no_room = true) {
        waits_.push_back({this, other, std::move(why), no_room});
    }

private:
    std::uint64_t holds_;
    std::vector<Wait> waits_;
};

struct TwoDomains : ::testing::Test {
    Wiring wiring;
    Domain& left = wiring.domain("left", Clock{2});
    Domain& right = wiring.domain("right", Clock{3});
};
using WiringTest = TwoDomains;

TEST_F(WiringTest, ListsPartsByDomainHoweverLateTheyAreAdded) {
    Stub& last = wiring.add<Stub>(right, "memory", "memory0");
    Stub& first = wiring.add<Stub>(left, "core", "core0");
    Stub& second = wiring.add<Stub>(left, "core", "core1");
    const std::vector<Wiring::Part> parts = wiring.parts();
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].component, &first);
    EXPECT_EQ(parts[1].component, &second);
    EXPECT_EQ(parts[2].component, &last);
    EXPECT_EQ(parts[0].clock.period, 2u);
    EXPECT_EQ(parts[2].clock.period, 3u);
    EXPECT_EQ(parts[2].station, "memory");
    EXPECT_EQ(wiring.all<Stub>().size(), 3u);
}

TEST_F(WiringTest, LinksTakeNameClocksAndCutFromTheirEnds) {
    Stub& core = wiring.add<Stub>(left, "core", "core0");
    Stub& port = wiring.add<Stub>(left, "port", "port0");
    Stub& memory = wiring.add<Stub>(right, "memory", "memory0");
    Link<int>& inside = wiring.link<int>("core -> port", core, port, 4, 2, 2);
    Link<int>& across = wiring.link<int>("port -> memory", port, memory, 4, 12, 9);
    EXPECT_FALSE(inside.cut());
    EXPECT_TRUE(across.cut());
    EXPECT_EQ(across.name(), "port0 -> memory0");
    EXPECT_EQ(wiring.find_link("port0 -> memory0"), &across);
    EXPECT_EQ(wiring.find_link("port0 -> core0"), nullptr);
    EXPECT_EQ(wiring.window(), 9u) << "the link inside a domain does not bound it";
    ASSERT_TRUE(across.can_send(1, 1));
    across.send(1, 7);
    EXPECT_EQ(across.head_arrival(), 5u) << "sent at 2, 12 later, at the next of the receiver's edges";
    EXPECT_EQ(wiring.in_flight("port -> memory"), 1u);
    EXPECT_EQ(wiring.in_flight("core -> port"), 0u);
}

TEST_F(WiringTest, KnowsNoNamesThatWereNotGiven) {
    Stub& a = wiring.add<Stub>(left, "core", "core0", 3);
    Stub& b = wiring.add<Stub>(left, "core", "core1", 4);
    wiring.link<int>("core -> core", a, b, 1, 2, 2);
    EXPECT_EQ(wiring.held("core"), 7u);
    EXPECT_THROW(wiring.held("cores"), std::logic_error);
    EXPECT_THROW(wiring.in_flight("core -> memory"), std::logic_error);
}

TEST_F(WiringTest, RefusesLinksWithoutLatencyAndForeignDomains) {
    Stub& a = wiring.add<Stub>(left, "core", "core0");
    Stub& b = wiring.add<Stub>(right, "memory", "memory0");
    EXPECT_THROW(wiring.link<int>("core -> memory", a, b, 1, 0, 2), std::logic_error);
    EXPECT_THROW(wiring.link<int>("core -> memory", a, b, 1, 2, 0), std::logic_error);
    Wiring other;
    Domain& foreign = other.domain("foreign", Clock{});
    EXPECT_THROW(wiring.add<Stub>(foreign, "core", "core1"), std::logic_error);
}

TEST_F(WiringTest, FollowsWhoWaitsForWhom) {
    Stub& a = wiring.add<Stub>(left, "core", "a");
    Stub& b = wiring.add<Stub>(left, "core", "b");
    Stub& c = wiring.add<Stub>(right, "memory", "c");
    a.waits_for(&b, "no room at b");
    b.waits_for(&c, "no room at c");
    EXPECT_EQ(wiring.who_waits(), "  a: no room at b\n  b: no room at c\n  c has nothing to send: the chain ends here\n");
    c.waits_for(&a, "no room at a");
    EXPECT_EQ(wiring.who_waits(), "  a: no room at b\n  b: no room at c\n  c: no room at a\n  a: closes the cycle\n");
}

TEST(Wiring, NobodyWaitsInAnEmptyOne) {
    EXPECT_EQ(Wiring().who_waits(), "");
    EXPECT_EQ(Wiring().window(), kEndOfTime);
}

}  // namespace
}  // namespace mergelane::testing
