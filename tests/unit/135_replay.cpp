// SPDX-License-Identifier: MIT
// Accesses recorded and replayed in other orders: against a reference of lists; candidates leave no task out.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <random>
#include <set>

#include "advise/advice.hpp"
#include "advise/cta_graph.hpp"
#include "advise/parallel.hpp"
#include "core/error.hpp"
#include "profile/replay.hpp"
#include "scripted.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kLine = 128;

WarpScript loads(const std::vector<std::uint64_t>& lines) {
    WarpScript script;
    for (const std::uint64_t line : lines) {
        Access access;
        access.lanes = affine(line * kLine, 0);
        script.load(1, access);
    }
    return script;
}

/// Lines of 128 bytes in one set everywhere: least recently used without exception.
ReplayMachine small_machine(std::uint32_t sms, std::uint32_t l1_lines, std::uint32_t l2_lines) {
    ReplayMachine machine;
    machine.sms = sms;
    machine.l1.ways = l1_lines;
    machine.l1.line_bytes = machine.l1.sector_bytes = kLine;
    machine.l1.size_kib = l1_lines * kLine / 1024;
    machine.l1.set_hash = "plain";
    machine.map = AddressMap(1, 1, 256, "plain");
    machine.slice = {1, l2_lines, "plain", "lru"};
    machine.l2_line_bytes = machine.l2_sector_bytes = kLine;
    return machine;
}

/// The most recently used first.
class Recent {
public:
    explicit Recent(std::size_t most) : most_(most) {}
    bool hit(std::uint64_t line) {
        const auto at = std::find(lines_.begin(), lines_.end(), line);
        const bool there = at != lines_.end();
        if (there) lines_.erase(at);
        lines_.push_front(line);
        if (lines_.size() > most_) lines_.pop_back();
        return there;
    }

private:
    std::size_t most_;
    std::list<std::uint64_t> lines_;
};

TEST(Replay, KeepsWhatLeastRecentlyUsedListsKeep) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 20; ++round) {
        std::vector<CtaScript> programs(40);
        for (CtaScript& program : programs) {
            std::vector<std::uint64_t> lines(30);
            for (std::uint64_t& line : lines) line = random() % 120;
            program.push_back(loads(lines));
        }
        const ScriptedKernel kernel(programs, 40);
        const AccessLog log(kernel, {});
        Replay replay(small_machine(1, 16, 48));
        const Candidate one_at_a_time{Candidate::How::agents, TaskOrder::Kind::rows, 1, 1};
        const Traffic traffic = replay.run(log, *one_at_a_time.tasks(log.info().grid, 1, 4), 1);
        Recent l1(16), l2(48);
        std::uint64_t l1_misses = 0, l2_misses = 0;
        for (const AccessLog::Entry& entry : log.all()) {
            if (l1.hit(entry.line())) continue;
            l1_misses += 4;
            if (!l2.hit(entry.line())) l2_misses += 4;
        }
        EXPECT_EQ(traffic.l1_misses, l1_misses);
        EXPECT_EQ(traffic.l2_misses, l2_misses);
        EXPECT_EQ(traffic.loads, 40u * 30u);
    }
}

TEST(Replay, NeighboursOnOneSmFindEachOthersLines) {
    // CTA n reads lines n / 4 * 8 ...: four neighbours have the same eight.
    std::vector<CtaScript> programs;
    for (std::uint64_t cta = 0; cta < 32; ++cta) {
        std::vector<std::uint64_t> lines;
        for (std::uint64_t k = 0; k < 8; ++k) lines.push_back(cta / 4 * 8 + k);
        programs.push_back({loads(lines)});
    }
    const ScriptedKernel kernel(programs, 32);
    const AccessLog log(kernel, {});
    const Candidate as_it_is, agents{Candidate::How::agents, TaskOrder::Kind::rows};
    Replay dealt(small_machine(4, 16, 64)), clustered(small_machine(4, 16, 64));
    EXPECT_EQ(dealt.run(log, *as_it_is.tasks(log.info().grid, 4, 1), 1).l1_misses, 32u * 8 * 4) << "each on an SM of its own";
    const Traffic traffic = clustered.run(log, *agents.tasks(log.info().grid, 4, 1), 1);
    EXPECT_EQ(traffic.l1_misses, 8u * 8 * 4) << "each line once";
    EXPECT_EQ(traffic.l2_misses, 8u * 8 * 4);
    const Sharing sharing = sharing_of(log);
    EXPECT_EQ(sharing.cta_lines, 32u * 8);
    EXPECT_EQ(sharing.lines, 8u * 8);
    EXPECT_DOUBLE_EQ(sharing.line_reuse(), 0.75);
}

TEST(Replay, LeavesOutWhatACtaHadAMomentBefore) {
    const ScriptedKernel kernel({{loads({1, 1, 2, 1})}}, 1);
    const AccessLog log(kernel, {});
    EXPECT_EQ(log.all().size(), 2u);
    EXPECT_EQ(log.counts().load_sectors, 4u);
    EXPECT_EQ(log.counts().near_sectors, 2u);
    EXPECT_THROW(AccessLog(ScriptedKernel({{loads({1, 2, 3})}}, 2), {3, {}}), InputError);
}

TEST(Replay, LoadsThatGoPastTheL1LeaveItToOthers) {
    // Load 0 sweeps, load 1 wants the same eight lines again and again.
    std::vector<CtaScript> programs;
    for (std::uint64_t cta = 0; cta < 8; ++cta) {
        WarpScript script;
        for (std::uint64_t k = 0; k < 64; ++k) {
            Access sweep, again;
            sweep.lanes = affine((1000 + cta * 64 + k) * kLine, 0);
            again.lanes = affine(k % 16 * kLine, 0);
            script.load(1, sweep).load(2, again);
        }
        programs.push_back({script});
    }
    const AccessLog log(ScriptedKernel(programs, 8), {});
    ASSERT_GE(log.sites().size(), 2u);
    const Candidate one_at_a_time{Candidate::How::agents, TaskOrder::Kind::rows, 1, 1};
    Replay with(small_machine(1, 16, 4096)), past(small_machine(1, 16, 4096));
    const std::uint64_t before = with.run(log, *one_at_a_time.tasks(log.info().grid, 1, 1), 1).l1_misses;
    SiteSet sweeps;
    for (std::size_t site = 0; site < log.sites().size(); ++site) sweeps[site] = with.l1_hits()[site] == 0 && site % 2 == 0;
    const std::uint64_t after = past.run(log, *one_at_a_time.tasks(log.info().grid, 1, 1), 1, sweeps).l1_misses;
    EXPECT_LT(after, before);
    EXPECT_EQ(after, 8u * 64 * 1 + 16 * 4) << "a sector of each line swept, the sixteen others once, whole";
}

TEST(CtaGraph, BringsThoseTogetherWhoShare) {
    // 64 CTAs; those with the same remainder by 8 share 20 lines: neither rows nor columns of this grid.
    std::vector<CtaScript> programs;
    for (std::uint64_t cta = 0; cta < 64; ++cta) {
        std::vector<std::uint64_t> lines;
        for (std::uint64_t k = 0; k < 20; ++k) lines.push_back(cta % 8 * 100 + k);
        programs.push_back({loads(lines)});
    }
    CtaGraph graph;
    graph.add(AccessLog(ScriptedKernel(programs, 64), {}));
    const CtaGraph::Parts parts = graph.split(8);
    ASSERT_EQ(parts.order.size(), 64u);
    EXPECT_EQ(std::set<std::uint64_t>(parts.order.begin(), parts.order.end()).size(), 64u);
    EXPECT_DOUBLE_EQ(parts.cut, 0);
    std::vector<std::uint64_t> as_counted(64);
    for (std::uint64_t cta = 0; cta < 64; ++cta) as_counted[cta] = cta;
    EXPECT_DOUBLE_EQ(graph.cut_of(as_counted, 8), 1);
    const CtaGraph::Parts uneven = graph.split(7);
    EXPECT_EQ(std::set<std::uint64_t>(uneven.order.begin(), uneven.order.end()).size(), 64u);
    EXPECT_TRUE(graph.split(1).order.empty());
    EXPECT_TRUE(graph.split(40).order.empty()) << "not two CTAs for each";
    EXPECT_TRUE(CtaGraph().split(4).order.empty());
    graph.add(AccessLog(ScriptedKernel(programs, 32), {}));
    EXPECT_TRUE(graph.split(8).order.empty()) << "another grid";
}

TEST(Sharing, KnowsWhatEverybodyReads) {
    std::vector<CtaScript> programs;
    for (std::uint64_t cta = 0; cta < 16; ++cta) programs.push_back({loads({1, 2, 3, 100 + cta / 2, 200 + cta})});
    const Sharing sharing = sharing_of(AccessLog(ScriptedKernel(programs, 16), {}));
    EXPECT_EQ(sharing.common_lines, 3u);
    EXPECT_DOUBLE_EQ(sharing.common_share(), 3.0 / 5);
    EXPECT_DOUBLE_EQ(sharing.ordered_line_reuse(), 1 - 24.0 / 32);
}

TEST(InParallel, DoesEverythingOnceAndTellsOfTrouble) {
    for (const std::size_t threads : {1u, 3u, 8u}) {
        std::vector<std::atomic<int>> done(100);
        in_parallel(done.size(), threads, [&](std::size_t i) { ++done[i]; });
        for (const std::atomic<int>& one : done) EXPECT_EQ(one, 1);
        EXPECT_THROW(in_parallel(50, threads,
                                 [](std::size_t i) {
                                     if (i == 20) throw InputError("no");
                                 }),
                     InputError);
    }
}

TEST(Candidates, AreFewAndDifferentAndLeaveNothingOut) {
    for (const Dim3& grid : {Dim3{1, 1, 1}, Dim3{7, 1, 1}, Dim3{1, 300, 1}, Dim3{6, 5, 1}, Dim3{33, 40, 2}}) {
        for (const std::uint32_t slots : {1u, 2u, 7u, 32u}) {
            const std::vector<Candidate> list = candidates_for(grid, slots);
            EXPECT_LE(list.size(), 36u);
            std::set<std::string> names;
            for (const Candidate& candidate : list) {
                EXPECT_TRUE(names.insert(candidate.name()).second) << candidate.name();
                const auto tasks = candidate.tasks(grid, 3, slots);
                std::vector<int> done(grid.count());
                for (bool any = true; any;) {
                    any = false;
                    for (std::uint32_t slot = 0; slot < candidate.resident(slots); ++slot) {
                        for (std::uint32_t sm = 0; sm < 3; ++sm) {
                            std::uint64_t task = 0;
                            if (!tasks->next(sm, slot, task)) continue;
                            any = true;
                            ++done[task];
                        }
                    }
                }
                EXPECT_EQ(std::count(done.begin(), done.end(), 1), static_cast<std::ptrdiff_t>(done.size())) << candidate.name();
            }
        }
    }
}

}  // namespace
}  // namespace mergelane::testing
