// SPDX-License-Identifier: MIT
// What `explain` counts of a workload, and how it changes one.
#include <gtest/gtest.h>

#include <memory>

#include "explain/changed_workload.hpp"
#include "explain/finding.hpp"
#include "explain/watched_workload.hpp"
#include "scripted.hpp"

namespace mergelane::explain {
namespace {

using testing::Access;
using testing::affine;
using testing::CtaScript;
using testing::ScriptedWorkload;
using testing::WarpScript;

Access shared(std::int64_t stride) {
    return {affine(0, stride), 0xFFFFFFFFu, 4, Space::shared};
}

/// Executes every warp to its end, one after the other, and returns the instructions of all.
std::uint64_t walk(Workload& workload) {
    std::uint64_t executed = 0;
    while (const KernelSource* kernel = workload.next_kernel()) {
        const std::unique_ptr<CtaStream> stream = kernel->make_stream();
        for (std::uint64_t cta = 0; cta < kernel->info().ctas(); ++cta) {
            stream->open(cta);
            for (std::uint32_t warp = 0; warp < kernel->info().warps_per_cta(); ++warp) {
                Run run;
                while (stream->next_run(warp, run)) {
                    executed += run.count;
                    LaneAddresses lanes{};
                    for (std::uint32_t i = 0; i < run.count; ++i) {
                        if (is_memory(run.first[i])) stream->addresses(warp, run.first[i], run.active, lanes);
                    }
                }
            }
        }
    }
    return executed;
}

AccessFacts facts_of(std::unique_ptr<Workload> workload) {
    WatchedWorkload watched(std::move(workload));
    walk(watched);
    return watched.facts();
}

/// Two CTAs of one warp: a strided load, a column of shared memory, a barrier, an atomic to one word, a coalesced store.
std::unique_ptr<Workload> habits() {
    Access one_word{affine(0x1000, 0)};
    WarpScript script;
    script.load(1, {affine(0, 128)}).load(2, shared(128)).barrier().atomic(3, one_word).store({affine(0x4000)});
    return std::make_unique<ScriptedWorkload>(std::vector<CtaScript>{{script}}, 2);
}

AccessFacts facts_with(Change change, std::uint64_t number = 0) {
    return facts_of(std::make_unique<ChangedWorkload>(habits(), ChangePlan{change, number, number}));
}

TEST(WatchedWorkload, CountsSectorsPassesAtomicsAndBarriers) {
    const AccessFacts facts = facts_of(habits());
    EXPECT_EQ(facts.loads.accesses, 2u);
    EXPECT_EQ(facts.loads.sectors, 64u);
    EXPECT_EQ(facts.loads.least, 8u);
    EXPECT_EQ(facts.loads.lines, 64u);
    EXPECT_EQ(facts.loads.least_lines, 2u);
    EXPECT_EQ(facts.stores.sectors, 8u);
    EXPECT_EQ(facts.stores.least, 8u);
    EXPECT_EQ(facts.shared_passes, 64u);
    EXPECT_EQ(facts.least_shared_passes, 2u);
    EXPECT_EQ(facts.atomics, 64u);
    EXPECT_EQ(facts.hottest_atomics, 64u);
    EXPECT_EQ(facts.barriers, 2u);
    EXPECT_EQ(facts.warps_per_cta, std::vector<std::uint32_t>{1});
}

TEST(WatchedWorkload, ABroadcastWastesNothing) {
    WarpScript script;
    script.load(1, {affine(0x80, 0)}).load(2, shared(0));
    const AccessFacts facts = facts_of(std::make_unique<ScriptedWorkload>(script));
    EXPECT_EQ(facts.loads.sectors, 1u);
    EXPECT_EQ(facts.loads.least, 1u);
    EXPECT_EQ(facts.shared_passes, 1u);
}

TEST(ChangedWorkload, ChangesOneHabitAndNoOther) {
    const AccessFacts coalesced = facts_with(Change::coalesced);
    EXPECT_EQ(coalesced.loads.sectors, coalesced.loads.least);
    EXPECT_EQ(coalesced.shared_passes, 64u);
    EXPECT_EQ(coalesced.hottest_atomics, 64u);
    const AccessFacts conflict_free = facts_with(Change::conflict_free);
    EXPECT_EQ(conflict_free.shared_passes, conflict_free.least_shared_passes);
    EXPECT_EQ(conflict_free.loads.sectors, 64u);
    const AccessFacts spread = facts_with(Change::spread_atomics);
    EXPECT_EQ(spread.hottest_atomics, 1u);
    EXPECT_EQ(spread.atomics, 64u);
    EXPECT_EQ(facts_with(Change::no_barriers).barriers, 0u);
}

TEST(ChangedWorkload, ChangesTheAmountOfWork) {
    const auto instructions = [](Change change, std::uint64_t number) {
        ChangedWorkload workload(habits(), {change, number, number});
        return walk(workload);
    };
    EXPECT_EQ(instructions(Change::none, 0), 10u);
    EXPECT_EQ(instructions(Change::no_barriers, 0), 8u);
    EXPECT_EQ(instructions(Change::twice_the_warps, 0), 20u);
    EXPECT_EQ(instructions(Change::equal_ctas, 3), 6u);
    EXPECT_EQ(instructions(Change::whole_waves, 2), 10u);
    ScriptedWorkload five(std::vector<CtaScript>{{WarpScript().compute(OpClass::int_add, 1)}}, 5);
    ChangedWorkload waves(std::make_unique<ScriptedWorkload>(std::vector<CtaScript>{{WarpScript().compute(OpClass::int_add, 1)}}, 5),
                          {Change::whole_waves, 2, 0});
    EXPECT_EQ(walk(five), 5u);
    EXPECT_EQ(walk(waves), 4u);
}

TEST(Explanation, OfNothingSaysSo) {
    EXPECT_EQ(explain(RunResult(), AccessFacts()).headline, "no kernel ran");
}

}  // namespace
}  // namespace mergelane::explain
