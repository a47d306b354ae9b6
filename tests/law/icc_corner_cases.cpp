// SPDX-License-Identifier: MIT
// Invariants of intra-cluster coalescing: the published vectors, and each corner case that the paper leaves open (A to H).
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "icc_bench.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

using Tags = std::vector<std::uint16_t>;
constexpr std::uint64_t X = 7, Y = 9, Z = 11;

TEST(Icc, OneReplyAnswersAllSmsThatWait) {
    IccBench bench(icc_and_cc());
    const auto first = bench.read(0, X, 0);
    const auto second = bench.read(3, X, 5);
    bench.run(400);
    EXPECT_EQ(bench.memory->seen.size(), 1u);
    EXPECT_EQ(bench.answers(0), Tags{first});
    EXPECT_EQ(bench.answers(3), Tags{second});
    EXPECT_EQ(bench.takers[0]->taken[0].at, bench.takers[3]->taken[0].at) << "in the time of one delivery";
    EXPECT_TRUE(bench.unit().caches(X * 128));
    EXPECT_EQ(bench.held(), 0u);
}

TEST(Icc, TheCoalescedCacheAnswersLaterReads) {
    IccBench bench(icc_and_cc());
    bench.read(0, X, 0);
    bench.read(3, X, 5);
    const auto later = bench.read(1, X, 300);
    const auto same = bench.read(0, X, 320);
    bench.run(400);
    EXPECT_EQ(bench.memory->seen.size(), 1u);
    EXPECT_EQ(bench.answers(1), Tags{later});
    EXPECT_EQ(bench.answers(0).back(), same) << "also an SM that had the line before";
    EXPECT_EQ(bench.cc("hits"), 2u);
}

TEST(Icc, AReplyForOneSmLeavesTheCacheAlone) {
    IccBench bench(icc_and_cc());
    bench.read(0, X, 0);
    bench.read(0, X, 300);
    bench.run(500);
    EXPECT_EQ(bench.memory->seen.size(), 2u);
    EXPECT_EQ(bench.cc("fills"), 0u);
}

TEST(Icc, StoresAndAtomicsEmptyTheirCacheLine) {
    for (const PacketKind kind : {PacketKind::write, PacketKind::atomic}) {
        IccBench bench(icc_and_cc());
        bench.read(0, X, 0);
        bench.read(3, X, 5);
        bench.ask(2, X, 200, kind);
        bench.read(1, X, 300);
        bench.run(600);
        EXPECT_EQ(bench.memory->seen.size(), 3u);
        EXPECT_EQ(bench.cc("hits"), 0u);
        EXPECT_EQ(bench.cc("invalidations"), 1u);
    }
    Sections spec = icc_and_cc();
    spec.get<CoalescedCacheSpec>().invalidate_on_store = false;
    IccBench bench(spec);
    bench.read(0, X, 0);
    bench.read(3, X, 5);
    bench.store(2, X, 200);
    bench.read(1, X, 300);
    bench.run(600);
    EXPECT_EQ(bench.cc("hits"), 1u);
}

TEST(Icc, TheCacheGivesUpTheLineUsedLeastRecently) {
    IccBench bench(icc_and_cc(48, 2));
    for (const std::uint64_t line : {X, Y}) {
        bench.read(0, line, 0);
        bench.read(1, line, 5);
    }
    bench.read(2, X, 300);
    bench.read(0, Z, 310);
    bench.read(1, Z, 315);
    bench.run(600);
    EXPECT_TRUE(bench.unit().caches(X * 128));
    EXPECT_FALSE(bench.unit().caches(Y * 128));
    EXPECT_TRUE(bench.unit().caches(Z * 128));
    EXPECT_EQ(bench.cc("evictions"), 1u);
}

TEST(Icc, AKernelStartsWithAnEmptyCache) {
    IccBench bench(icc_and_cc());
    bench.read(0, X, 0);
    bench.read(3, X, 5);
    bench.run(300);
    bench.port->begin_kernel();
    EXPECT_FALSE(bench.unit().caches(X * 128));
}

/// Case A. Forty-eight lines on their way, so SM 0's read of Y goes untracked; an entry frees and SM 1's read of Y is
/// tracked. `untracked_first`: whose reply comes first.
struct CaseA {
    CaseA(IccSpec::Match match, bool untracked_first) {
        Sections spec = icc_only();
        spec.get<IccSpec>().match = match;
        if (spec.get<IccSpec>().match == IccSpec::Match::address) spec.get<IccSpec>().on_store = IccSpec::OnStore::ignore;
        bench = std::make_unique<IccBench>(spec, 5, [=](std::size_t n, const Packet& packet) {
            if (packet.address != Y * 128) return Cycle{n == 0 ? 60u : 900u};
            return Cycle{(packet.sm == 0) == untracked_first ? 300u : 500u};
        });
        for (std::uint64_t n = 0; n < 48; ++n) bench->read(2, 100 + n, 0);
        untracked = bench->read(0, Y, 55);
        tracked = bench->read(1, Y, 120);
        bench->run(2000);
    }
    std::unique_ptr<IccBench> bench;
    std::uint16_t untracked, tracked;
};

TEST(Icc, CaseA_AnUntrackedReplyIsNotMistakenForATrackedOne) {
    for (const bool untracked_first : {true, false}) {
        const CaseA a(IccSpec::Match::tracked, untracked_first);
        EXPECT_EQ(a.bench->icc("untracked_full"), 1u);
        EXPECT_EQ(a.bench->answers(0), Tags{a.untracked});
        EXPECT_EQ(a.bench->answers(1), Tags{a.tracked});
        EXPECT_EQ(a.bench->icc("misdelivered"), 0u);
    }
}

TEST(Icc, CaseA_MatchingByAddressAloneLosesAReply) {
    const CaseA a(IccSpec::Match::address, true);
    EXPECT_EQ(a.bench->answers(0), Tags{}) << "SM 0 waits for ever";
    EXPECT_EQ(a.bench->answers(1), (Tags{a.tracked, a.tracked})) << "and SM 1 gets a reply it does not wait for";
    EXPECT_EQ(a.bench->icc("misdelivered"), 2u);
    EXPECT_EQ(CaseA(IccSpec::Match::address, false).bench->icc("misdelivered"), 0u) << "in the other order it works by luck";
}

TEST(Icc, CaseA_ARunThatMatchesByAddressIsReported) {
    MachineSpec s = icc60_like(1);
    s.section<IccSpec>().on = true;
    s.section<IccSpec>().entries = 1;
    s.section<IccSpec>().match = IccSpec::Match::address;
    s.section<IccSpec>().on_store = IccSpec::OnStore::ignore;
    // Five CTAs read the same lines in different order: many are sent untracked and asked for again.
    std::vector<CtaScript> programs;
    for (std::uint32_t c = 0; c < 10; ++c) {
        CtaScript cta(1);
        for (std::uint32_t i = 0; i < 30; ++i) cta[0].load(1, {affine(Addr{(i * (2 * c + 1)) % 32} * 128)}, {1});
        programs.push_back(cta);
    }
    ScriptedWorkload workload(programs);
    EXPECT_THROW(run_on(valid(s), workload), SimulationError);
    s.section<IccSpec>().match = IccSpec::Match::tracked;
    ScriptedWorkload again(programs);
    EXPECT_GT(run_on(valid(s), again).stat("icc.untracked_full"), 0u);
}

TEST(Icc, CaseB_TheSameSmTwiceGetsTwoReplies) {
    IccBench bench(icc_and_cc());
    const auto first = bench.read(0, X, 0);
    const auto second = bench.read(0, X, 10);
    const auto other = bench.read(1, X, 20);
    bench.run(500);
    EXPECT_EQ(bench.memory->seen.size(), 2u);
    EXPECT_EQ(bench.answers(0), (Tags{first, second}));
    EXPECT_EQ(bench.answers(1), Tags{other});
    EXPECT_EQ(bench.icc("untracked_same_sm"), 1u);
    EXPECT_EQ(bench.icc("merged"), 1u);
}

TEST(Icc, CaseC_AStoreClosesTheEntry) {
    for (const bool second_reply_first : {false, true}) {
        IccBench bench(icc_and_cc(), 5, [=](std::size_t n, const Packet&) { return Cycle{second_reply_first && n == 2 ? 50u : 200u}; });
        const auto a = bench.read(0, X, 0);
        const auto b = bench.read(1, X, 10);
        bench.store(2, X, 20);
        const auto c = bench.read(2, X, 30);
        const auto d = bench.read(3, X, 40);
        const auto e = bench.read(0, X, 50);
        bench.run(second_reply_first ? 120 : 225);
        if (second_reply_first) {
            EXPECT_EQ(bench.answers(3), Tags{d});
            EXPECT_EQ(bench.answers(0), Tags{e}) << "the younger request of SM 0 was answered first, by its own entry";
            EXPECT_TRUE(bench.unit().caches(X * 128)) << "read after the store";
        } else {
            EXPECT_EQ(bench.answers(0), Tags{a});
            EXPECT_EQ(bench.answers(3), Tags{});
            EXPECT_FALSE(bench.unit().caches(X * 128)) << "this may be what was there before the store";
        }
        bench.run(1000);
        EXPECT_EQ(bench.memory->seen.size(), 3u) << "two reads and the store";
        EXPECT_EQ(bench.icc("closed"), 1u);
        EXPECT_EQ(bench.answers(1), Tags{b});
        EXPECT_EQ(bench.answers(2).size(), 2u) << "acknowledgement and " << c;
        EXPECT_EQ(bench.answers(0).size(), 2u);
        EXPECT_EQ(bench.held(), 0u);
        EXPECT_EQ(bench.cc("fills"), 1u);
    }
}

TEST(Icc, CaseC_StoresCanBeIgnored) {
    Sections spec = icc_only();
    spec.get<IccSpec>().on_store = IccSpec::OnStore::ignore;
    IccBench bench(spec);
    bench.read(0, X, 0);
    bench.store(2, X, 20);
    bench.read(3, X, 40);
    bench.run(400);
    EXPECT_EQ(bench.icc("merged"), 1u);
    EXPECT_EQ(bench.icc("closed"), 0u);
}

TEST(Icc, CaseD_ABlockedSmHoldsTheEntryButNotTheOthers) {
    IccBench bench(icc_only());
    bench.takers[0]->opens_at = 400;
    bench.read(0, 1, 0);  // these two fill the room behind SM 0
    bench.read(0, 2, 1);
    const auto x0 = bench.read(0, X, 10);
    const auto x1 = bench.read(1, X, 11);
    const auto y = bench.read(2, Y, 50);
    bench.run(300);
    EXPECT_EQ(bench.answers(1), Tags{x1}) << "SM 1 has its copy";
    EXPECT_EQ(bench.answers(2), Tags{}) << "the next reply waits behind the broadcast";
    EXPECT_EQ(bench.unit().in_use(), 2u) << "of X, not yet taken by all, and of Y";
    EXPECT_EQ(bench.unit().waiting(), 2u);
    bench.run(600);
    EXPECT_EQ(bench.answers(0).back(), x0);
    EXPECT_EQ(bench.answers(0).size(), 3u);
    EXPECT_EQ(bench.answers(1), Tags{x1}) << "once";
    EXPECT_EQ(bench.answers(2), Tags{y});
    EXPECT_EQ(bench.unit().in_use(), 0u);
}

TEST(Icc, CaseE_RepliesMayComeInAnyOrder) {
    IccBench bench(icc_only(), 5, [](std::size_t n, const Packet&) { return Cycle{500 - 30 * n}; });
    std::vector<Tags> expected(5);
    for (std::uint64_t line = 0; line < 8; ++line) {
        for (std::uint32_t sm = 0; sm < 5; ++sm) expected[sm].insert(expected[sm].begin(), bench.read(sm, line, line));
    }
    bench.run(1000);
    EXPECT_EQ(bench.memory->seen.size(), 8u);
    for (std::uint32_t sm = 0; sm < 5; ++sm) EXPECT_EQ(bench.answers(sm), expected[sm]);
}

TEST(Icc, CaseF_OneRequestAndOneReplyAreLookedUpPerCycle) {
    IccBench bench(icc_only(512));
    for (std::uint32_t n = 0; n < 100; ++n) {
        for (std::uint32_t sm = 0; sm < 4; ++sm) bench.read(sm, 1000 + n, 0);
    }
    bench.run(2000);
    EXPECT_EQ(bench.icc("merged") + bench.icc("allocated"), 400u);
    // 400 lookups take 400 cycles, although only every fourth request goes on.
    const Cycle first = bench.takers[0]->taken.front().at, last = bench.takers[0]->taken.back().at;
    EXPECT_GE(last - first, 380u);
    EXPECT_LE(last - first, 400u);
}

TEST(Icc, CaseG_AHitTakesBusLookupAndResponsePath) {
    IccBench bench(icc_and_cc());
    bench.read(0, X, 0);
    bench.read(3, X, 5);
    bench.read(1, X, 300);
    bench.run(400);
    // One cycle to the port, one there, one back: the bench's links take one each.
    EXPECT_EQ(bench.takers[1]->taken.at(0).at, 303u);
}

TEST(Icc, CaseG_HitsAndRepliesTakeTurns) {
    IccBench bench(icc_and_cc(), 5, [](std::size_t n, const Packet&) { return Cycle{n == 0 ? 100u : 150u}; });
    bench.read(0, X, 0);
    bench.read(3, X, 5);
    for (std::uint32_t n = 0; n < 20; ++n) bench.read(4, 50 + n, 200);  // replies from about 352 on
    for (std::uint32_t n = 0; n < 20; ++n) bench.read(1, X, 350);
    bench.run(700);
    const auto& hits = bench.takers[1]->taken;
    const auto& replies = bench.takers[4]->taken;
    ASSERT_EQ(hits.size(), 20u);
    ASSERT_EQ(replies.size(), 20u);
    EXPECT_LE(hits.back().at, 353u + 41);
    EXPECT_LE(replies.back().at, 353u + 41);
    for (const auto& hit : hits) {
        for (const auto& reply : replies) EXPECT_NE(hit.at, reply.at) << "one delivery per cycle";
    }
    const auto before = [](const auto& list, Cycle at) {
        return std::count_if(list.begin(), list.end(), [&](const auto& arrival) { return arrival.at < at; });
    };
    EXPECT_GE(before(hits, replies.back().at), 14) << "replies do not keep hits waiting";
    EXPECT_GE(before(replies, hits.back().at), 14) << "nor the other way round";
}

TEST(Icc, CaseH_OtherRequestsPassBy) {
    IccBench bench(icc_and_cc());
    bench.read(0, X, 0);
    bench.read(1, X, 5);  // X is now shared, and later in the cache
    const auto local = bench.ask(2, X, 10, PacketKind::read, ReadFields::kOtherSpace);
    const auto fresh = bench.ask(3, X, 12, PacketKind::read, ReadFields::kBypassesL1);
    const auto atomic = bench.ask(4, Y, 14, PacketKind::atomic);
    bench.ask(2, X, 300, PacketKind::read, ReadFields::kOtherSpace);
    bench.run(600);
    EXPECT_EQ(bench.memory->seen.size(), 5u);
    EXPECT_EQ(bench.answers(2).front(), local);
    EXPECT_EQ(bench.answers(3), Tags{fresh});
    EXPECT_EQ(bench.answers(4), Tags{atomic});
    EXPECT_EQ(bench.icc("bypassed"), 4u);
    EXPECT_EQ(bench.cc("hits"), 0u);
    Sections spec = icc_only();
    spec.get<IccSpec>().l1_bypassing_loads = true;
    IccBench merging(spec);
    merging.read(0, X, 0);
    merging.ask(3, X, 12, PacketKind::read, ReadFields::kBypassesL1);
    merging.run(400);
    EXPECT_EQ(merging.icc("merged"), 1u) << "unless the switch says otherwise";
}

TEST(Icc, CountsOccupancy) {
    IccBench bench(icc_only(2));
    bench.read(0, X, 0);   // looked up at 1; reply: at memory 3, sent 103, at the port 104
    bench.read(1, Y, 50);  // looked up at 51, handed out at 154
    bench.run(1000);
    EXPECT_EQ(bench.icc("entry_cycles"), 103u + 103);
    EXPECT_EQ(bench.icc("full_cycles"), 104u - 51);
}

// --- the whole machine

std::uint64_t fetch_latency(const MachineSpec& s) {
    WarpScript script;
    script.load(1, {affine(0)}).use(1);
    return run_on(valid(s), script).stat("sm.fetch_latency");
}

TEST(Icc, AddsItsLookupsToTheUnloadedLatency) {
    MachineSpec s = icc60_like(2);
    const std::uint64_t plain = fetch_latency(s);
    s.section<IccSpec>().on = true;
    s.section<CoalescedCacheSpec>().on = true;
    EXPECT_EQ(fetch_latency(s), plain + 2);
    s.section<IccSpec>().request_cycles = 5;
    s.section<IccSpec>().reply_cycles = 0;
    EXPECT_EQ(fetch_latency(s), plain + 5);
    s.section<IccSpec>().request_cycles = 0;
    EXPECT_EQ(fetch_latency(s), plain);
}

TEST(Icc, CaseG_OnTheMachineAHitNeedsNoNetwork) {
    MachineSpec s = icc60_like(1);
    s.gpu.sms_per_cluster = 3;
    s.section<IccSpec>().on = true;
    s.section<CoalescedCacheSpec>().on = true;
    // SM 0 and 1 read the line at once; SM 2 long after them.
    WarpScript soon, late;
    soon.load(1, {affine(0)}).use(1);
    for (int i = 0; i < 400; ++i) late.compute(OpClass::int_add, 2, {2});
    late.load(1, {affine(0)}).use(1);
    ScriptedWorkload workload(std::vector<CtaScript>{{soon}, {soon}, {late}});
    Simulation simulation(valid(s), {});
    const RunResult result = simulation.run(workload);
    EXPECT_EQ(result.stat("cc.hits"), 1u);
    EXPECT_EQ(result.stat("l2.reads"), 1u);
    // injection latency (2) + lookup (1) + port to SM (1)
    EXPECT_EQ(stat_of(simulation.machine().sms()[2], "fetch_latency"), 4u);
}

}  // namespace
}  // namespace mergelane::testing
