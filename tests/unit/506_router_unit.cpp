// SPDX-License-Identifier: MIT
// The seam of a mesh's routers: what units see, hold, join, send and veto.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <stdexcept>

#include "core/rng.hpp"
#include "mesh_bench.hpp"
#include "noc/router_unit.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

/// Holds what it is told to, for `delay` cycles, and counts all it sees.
class TestUnit final : public RouterUnit {
public:
    using RouterUnit::RouterUnit;

    void enter(PacketId) override { ++entered; }
    bool arrive(Router router, PacketId id, Cycle now) override {
        ++arrived;
        if (!holds || !holds(router, packet(id))) return false;
        if (joins && !held.empty()) {
            join(held.front().packet, id);
            return true;
        }
        held.push_back({router, id, now + delay});
        return true;
    }
    void step(Cycle now) override {
        if (next(now) > now || (patient && !whole(held.front().packet))) return;
        const PacketId id = held.front().packet;
        if (!send(held.front().router, id, packets_held(id) > 1 ? joined_flits : flits(id))) {
            ++refused;
            return;
        }
        held.pop_front();
    }
    Cycle next(Cycle) const override { return held.empty() ? kNever : held.front().due; }
    std::uint64_t may_switch(Router router, std::uint64_t ready) override { return veto && veto(router) ? 0 : ready; }
    void switched(Router, std::uint32_t input, Flit flit) override {
        ++flits_switched;
        if (flit.head() && input / Mesh::kChannels == Mesh::kUnitPort) ++own_switched;
    }
    void leave(Router, PacketId id) override { left += packets(id); }
    void stats(StatFields& f, Cycle) const override {
        f.group("test_unit");
        f.add("entered", entered, "packets", "");
    }
    void gauges(StatFields& f) const override {
        f.group("test_unit");
        f.add("waiting", held.size(), "packets", "");
    }

    struct Held {
        Router router;
        PacketId packet;
        Cycle due;
    };
    std::function<bool(Router, const Packet&)> holds;
    std::function<bool(Router)> veto;
    Cycle delay = 20;
    bool joins = false, patient = true;
    std::uint32_t joined_flits = 1;
    std::deque<Held> held;
    std::uint64_t entered = 0, arrived = 0, flits_switched = 0, own_switched = 0, left = 0, refused = 0;
};

struct UnitBench : MeshBench {
    UnitBench(std::uint32_t width, std::uint32_t height, const MeshSpec& spec, Gate out_gate = {}, std::uint32_t sink_room = 64)
        : MeshBench(width, height, spec, {}, out_gate, sink_room), unit(add_unit()) {}
    TestUnit& add_unit() {
        auto made = std::make_unique<TestUnit>(RouterContext{*mesh, network, nullptr, Sections{}});
        TestUnit& reference = *made;
        mesh->add_unit(std::move(made));
        return reference;
    }

    NetworkSpec network;
    TestUnit& unit;
};

const auto at_router = [](std::uint32_t router) { return [router](std::uint32_t at, const Packet&) { return at == router; }; };

TEST(RouterUnit, OneThatOnlyWatchesChangesNothing) {
    MeshBench plain(5, 5, mesh_of(2), {}, Gate{9, 60}, 2);
    UnitBench watched(5, 5, mesh_of(2), Gate{9, 60}, 2);
    Rng rng(3);
    std::uint64_t hops = 0, flits_and_hops = 0;
    for (int n = 0; n < 5'000; ++n) {
        const std::uint32_t from = rng.below(25), to = rng.below(25), flits = 1 + rng.below(5);
        const auto apart = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
        const std::uint32_t path = 1 + apart(from % 5, to % 5) + apart(from / 5, to / 5);
        hops += path;
        flits_and_hops += std::uint64_t{path} * flits;
        plain.offer(from, to, flits);
        watched.offer(from, to, flits);
    }
    plain.run(20'000);
    watched.run(20'000);
    ASSERT_EQ(watched.delivered(), 5'000u);
    for (std::uint32_t r = 0; r < 25; ++r) {
        ASSERT_EQ(plain.takers[r]->taken.size(), watched.takers[r]->taken.size());
        for (std::size_t i = 0; i < plain.takers[r]->taken.size(); ++i) {
            ASSERT_EQ(plain.takers[r]->taken[i].at, watched.takers[r]->taken[i].at);
            ASSERT_EQ(plain.takers[r]->taken[i].value.address, watched.takers[r]->taken[i].value.address);
        }
    }
    EXPECT_EQ(watched.unit.entered, 5'000u);
    EXPECT_EQ(watched.unit.left, 5'000u);
    EXPECT_EQ(watched.unit.arrived, hops) << "every head at every router";
    EXPECT_EQ(watched.unit.flits_switched, flits_and_hops) << "every flit at every router";
    for (const char* name : {"packets", "wait", "latency", "hops", "shortest_hops"})
        EXPECT_EQ(stat_of(*plain.mesh, name), stat_of(*watched.mesh, name)) << name;
    EXPECT_EQ(stat_of(*watched.mesh, "entered"), 5'000u) << "its statistics are the mesh's";
}

TEST(RouterUnit, AHeldPacketTakesExactlyItsDelayLonger) {
    for (const std::uint32_t flits : {1u, 3u, 8u}) {
        UnitBench bench(4, 1, mesh_of(1));
        bench.unit.holds = at_router(1);
        bench.offer(0, 3, flits);
        bench.run(15);
        EXPECT_EQ(gauge_of(*bench.mesh, "test_unit", "waiting"), 1u);
        bench.run(200);
        EXPECT_EQ(bench.takers[3]->taken.at(0).at, 1 + 4 * 5 + 20 + flits - 1 + 1) << flits;
        EXPECT_EQ(bench.unit.own_switched, 1u);
        EXPECT_EQ(bench.mesh->credits_out(), 0u);
        EXPECT_EQ(stat_of(*bench.mesh, "hops"), 4u);
    }
}

TEST(RouterUnit, OthersPassAHeldPacket) {
    UnitBench bench(4, 1, mesh_of(1));
    bench.unit.holds = [](std::uint32_t router, const Packet& packet) { return router == 0 && packet.tag == 0; };
    bench.unit.delay = 100;
    for (int n = 0; n < 3; ++n) bench.offer(0, 3, 1);
    bench.run(300);
    std::vector<std::uint64_t> order;
    for (const auto& arrival : bench.takers[3]->taken) order.push_back(arrival.value.address);
    EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 0}));
}

TEST(RouterUnit, SendsNoMoreThanItsChannelsTake) {
    // The sink takes nothing for a while, so two packets of two flits fill the port's buffer of four.
    UnitBench bench(2, 1, mesh_of(1, 4), {}, 1);
    bench.unit.holds = at_router(1);
    bench.takers[1]->per_cycle = 0;
    for (int n = 0; n < 8; ++n) bench.offer(0, 1, 2);
    bench.run(200);
    EXPECT_GT(bench.unit.refused, 0u);
    bench.takers[1]->per_cycle = 1;
    bench.takers[1]->wake(bench.now());
    bench.run(400);
    EXPECT_EQ(bench.delivered(), 8u);
    EXPECT_EQ(bench.mesh->credits_out(), 0u);
}

TEST(RouterUnit, PacketsThatTravelTogetherAreSeparatedAtTheSink) {
    UnitBench bench(4, 1, mesh_of(1));
    bench.unit.holds = at_router(1);
    bench.unit.joins = true;
    bench.unit.joined_flits = 2;
    for (int n = 0; n < 3; ++n) bench.offer(0, 3, 1 + (n == 1));
    bench.offer(3, 3, 1, 48);  // on its way to the sink when they arrive
    bench.run(200);
    const auto& taken = bench.takers[3]->taken;
    ASSERT_EQ(taken.size(), 4u);
    std::vector<std::uint64_t> order;
    std::size_t first = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (taken[i].value.source == 3) continue;
        if (order.empty()) first = i;
        order.push_back(taken[i].value.address);
    }
    EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(taken[first + 1].at, taken[first].at + 1) << "one per cycle";
    EXPECT_EQ(taken[first + 2].at, taken[first].at + 2) << "and nobody in between";
    EXPECT_EQ(stat_of(*bench.mesh, "hops"), stat_of(*bench.mesh, "shortest_hops")) << "all of them pass the routers of their leader";
    EXPECT_EQ(bench.unit.left, 4u);
    EXPECT_EQ(bench.mesh->held(), 0u);
    StatFields fields;
    bench.mesh->stats(fields, 0);
    const auto flits = [&](std::string_view group) {
        for (const StatField& field : fields.list()) {
            if (field.group == group && field.name == "flits") return field.value;
        }
        return std::uint64_t{0};
    };
    EXPECT_EQ(flits("noc.request"), 2u + 1) << "at the sink";
    EXPECT_EQ(flits("noc.request.routers"), 4u + 3 * 2 + 1)
        << "one by one at the first router, then together at three, and the fourth packet";
}

TEST(RouterUnit, AVetoKeepsFlitsFromTheSwitch) {
    UnitBench bench(4, 1, mesh_of(1));
    bench.unit.veto = [&](std::uint32_t router) { return router == 1 && bench.now() < 100; };
    bench.offer(0, 3, 1);
    bench.run(100);
    EXPECT_EQ(bench.delivered(), 0u);
    EXPECT_EQ(bench.unit.flits_switched, 1u);
    bench.run(200);
    EXPECT_EQ(bench.delivered(), 1u);
}

TEST(RouterUnit, AreAskedInTheirOrder) {
    UnitBench bench(4, 1, mesh_of(1));
    TestUnit& second = bench.add_unit();
    bench.unit.holds = second.holds = at_router(1);
    bench.offer(0, 3, 1);
    bench.run(200);
    EXPECT_EQ(bench.unit.arrived, 4u);
    EXPECT_EQ(second.arrived, 3u) << "what the first holds is not shown to the second";
    EXPECT_EQ(second.entered, 1u);
    EXPECT_EQ(second.left, 1u);
    EXPECT_EQ(bench.delivered(), 1u);
}

TEST(RouterUnit, MistakesAreNamed) {
    UnitBench holds_too_much(2, 1, mesh_of(1, 4));
    holds_too_much.unit.holds = at_router(1);
    holds_too_much.offer(0, 1, 5);
    EXPECT_THROW(holds_too_much.run(100), std::logic_error);

    UnitBench sends_too_early(2, 1, mesh_of(1));
    sends_too_early.unit.holds = at_router(1);
    sends_too_early.unit.patient = false;
    sends_too_early.unit.delay = 1;
    sends_too_early.offer(0, 1, 5);
    EXPECT_THROW(sends_too_early.run(100), std::logic_error);
}

TEST(RouterUnit, OneThatNeverSendsIsTheReasonOfADeadlock) {
    UnitBench bench(2, 1, mesh_of(1));
    bench.unit.holds = at_router(1);
    bench.unit.delay = 1'000'000;
    bench.offer(0, 1, 1);
    bench.run(100);
    std::vector<Wait> waits;
    bench.mesh->explain(waits);
    ASSERT_EQ(waits.size(), 1u);
    EXPECT_EQ(waits[0].why, "1 packets are in the network, but none is in a buffer: router units hold them");
}

}  // namespace
}  // namespace mergelane::testing
