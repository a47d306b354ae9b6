// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "runs/plan.hpp"
#include "runs/sample_choice.hpp"
#include "study/study.hpp"

namespace mergelane::study {
namespace {

const StudySpec& icc() {
    static const StudySpec study = read_study(MERGELANE_SOURCE_DIR "/studies/icc");
    return study;
}

const RunSpec kRun{"icc60", {"l1.ways=2"}, "hotspot", "tiny", 1};

TEST(StudyPlan, KeysDependOnWhateverAResultDependsOn) {
    std::set<std::string> keys;
    keys.insert(run_key("c", kRun, "w", 1));
    EXPECT_EQ(run_key("c", kRun, "w", 1), *keys.begin()) << "and on nothing else";
    EXPECT_EQ(keys.begin()->size(), 32u);
    keys.insert(run_key("other", kRun, "w", 1));
    keys.insert(run_key("c", kRun, "other", 1));
    keys.insert(run_key("c", kRun, "w", 2));
    RunSpec changed = kRun;
    changed.seed = 2;
    keys.insert(run_key("c", changed, "w", 1));
    changed = kRun;
    changed.size = "paper";
    keys.insert(run_key("c", changed, "w", 1));
    changed = kRun;
    changed.workload = "bfs";
    keys.insert(run_key("c", changed, "w", 1));
    changed = kRun;
    changed.kernels = "1";
    keys.insert(run_key("c", changed, "w", 1));
    EXPECT_EQ(keys.size(), 8u);
}

TEST(StudyPlan, WhatIsSwitchedOffMakesNoNewRun) {
    Plan plan;
    const std::size_t first = plan.add(kRun);
    RunSpec other = kRun;
    other.overrides.push_back("cluster.icc.entries=7");
    EXPECT_EQ(plan.add(other), first);
    other.overrides.push_back("cluster.icc.enabled=true");
    EXPECT_NE(plan.add(other), first);
}

TEST(StudyPlan, KeysOfTheFirstModelStayWhatTheyAre) {
    EXPECT_EQ(kSchema, 3) << "stores of other schemas must be converted";
    EXPECT_EQ(run_key("c", kRun, "w", 1, "", 2), "7322220a25aebb25e09e8de9af1b2bb5");
    EXPECT_EQ(run_key("c", kRun, "w", 1), "1cd431c47bfb815a279262392a4b27a6");
}

TEST(StudyPlan, SampledRunsHaveKeysOfTheirOwn) {
    const auto key_with = [](const SampleChoice& choice) {
        RunSpec spec = kRun;
        spec.sample = sample_text(choice);
        return run_key("c", spec, "w", 1);
    };
    const SampleChoice usual;
    std::set<std::string> keys = {run_key("c", kRun, "w", 1)};
    keys.insert(key_with(usual));
    SampleChoice choice = usual;
    choice.error = 0.05;
    keys.insert(key_with(choice));
    choice = usual;
    choice.seed = 2;
    keys.insert(key_with(choice));
    choice = usual;
    choice.by = sampling::Selection::pka;
    keys.insert(key_with(choice));
    choice = usual;
    choice.segment = 3000;
    keys.insert(key_with(choice));
    EXPECT_EQ(keys.size(), 6u);
    EXPECT_EQ(key_with(usual), "87b0f82b712971ce0d5aa7286c97d65b") << "raise kSamplingVersion only if results change";

    Plan plan;
    const std::size_t full = plan.add(kRun);
    RunSpec sampled = kRun;
    sampled.sample = sample_text(usual);
    EXPECT_NE(plan.add(sampled), full);
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const PlannedRun run = plan.run(i);
        EXPECT_EQ(run.key, run_key(plan.machine_of(i).config_hash, run.spec, plan.workload_of(i).recording));
    }
    sampled.sample = "error=2%";
    EXPECT_THROW(plan.add(sampled), InputError);
}

TEST(SampleChoice, HasOneText) {
    EXPECT_EQ(sample_text({}), "error=0.02 seed=1 by=stratified");
    const SampleChoice choice{0.0005, kMostSampleSeed, sampling::Selection::sieve, 0};
    const SampleChoice back = parse_sample(sample_text(choice));
    EXPECT_EQ(sample_text(back), "error=0.0005 seed=4294967296 by=sieve segment=0");
    for (const char* wrong : {"", "error=0.02", "error=0.02 seed=1 by=stratified ", " error=0.02 seed=1 by=stratified",
                              "error=0.020 seed=1 by=stratified", "error=2 seed=1 by=stratified", "error=nan seed=1 by=stratified",
                              "error=0.02 seed=4294967297 by=stratified", "error=0.02 seed=1 by=random", "seed=1 error=0.02 by=stratified",
                              "error=0.02 seed=1 by=stratified segment=20000000", "error=0.02 seed=1 by=stratified segment=1 x=1"})
        EXPECT_THROW(parse_sample(wrong), InputError) << wrong;
}

TEST(SampleChoice, ErrorsAreWrittenAsPeopleDo) {
    EXPECT_EQ(relative_error("2%"), 0.02);
    EXPECT_EQ(relative_error("35 %"), 0.35);
    EXPECT_EQ(relative_error("0.02"), 0.02);
    EXPECT_EQ(relative_error("0.05%"), 0.0005);
    for (const char* wrong : {"", "%", "2", "51%", "0.04%", "nan", "inf%", "2%%", "two", "-2%"})
        EXPECT_EQ(relative_error(wrong), std::nullopt) << wrong;
}

TEST(StudyPlan, TheSameSimulationIsPlannedOnce) {
    Plan plan;
    const std::size_t first = plan.add(kRun);
    RunSpec written_differently = kRun;
    written_differently.overrides = {"l1.ways=8", "l1.ways=2", "l1.size_kib=48"};  // the last is the preset's
    EXPECT_EQ(plan.add(written_differently), first);
    RunSpec other = kRun;
    other.overrides = {"l1.ways=8"};
    EXPECT_NE(plan.add(other), first);
    EXPECT_EQ(plan.size(), 2u);
    EXPECT_GT(plan.run(0).threads, 0);
}

TEST(StudyPlan, RefusesWhatThereIsNot) {
    Plan plan;
    RunSpec wrong = kRun;
    wrong.workload = "hotspt";
    EXPECT_THROW(plan.add(wrong), InputError);
    wrong = kRun;
    wrong.gpu = "icc61";
    EXPECT_THROW(plan.add(wrong), InputError);
    wrong = kRun;
    wrong.overrides = {"l1.wayz=2"};
    EXPECT_THROW(plan.add(wrong), InputError);
    EXPECT_EQ(plan.size(), 0u);
}

TEST(StudyPlan, ExperimentsShareTheirRuns) {
    const Study all(icc(), choose(icc(), {}), "tiny", 1);
    EXPECT_EQ(all.experiments().size(), 14u);
    EXPECT_EQ(all.plan().size(), 550u);  // 50 machines, 11 workloads
    const auto runs = [&](const char* id) { return all.runs_of(*choose(icc(), {{id}, {}, false}).front()); };
    EXPECT_EQ(runs("ICC-5").size(), 66u);
    EXPECT_EQ(runs("ICC-6"), runs("ICC-5"));
    EXPECT_EQ(runs("ICC-7"), runs("ICC-5"));
    EXPECT_EQ(runs("ICC-8"), runs("ICC-5"));
    EXPECT_TRUE(runs("ICC-0").empty());
    const Study again(icc(), choose(icc(), {}), "tiny", 1);
    for (std::size_t i = 0; i < again.plan().size(); ++i) EXPECT_EQ(again.plan().run(i).key, all.plan().run(i).key);
}

TEST(StudyPlan, BaselineNeedsNoMechanism) {
    const Study baseline(icc(), choose(icc(), {{}, {}, true}), "tiny", 1);
    EXPECT_EQ(baseline.experiments().size(), 6u);
    EXPECT_EQ(baseline.plan().size(), 198u);  // four schedulers and two times seven clocks
    for (std::size_t i = 0; i < baseline.plan().size(); ++i) {
        for (const std::string& change : baseline.plan().machine_of(i).overrides) {
            EXPECT_EQ(change.find("block"), std::string::npos) << change;
            EXPECT_EQ(change.find("cc."), std::string::npos) << change;
        }
    }
}

TEST(StudyPlan, ExperimentsAreFoundByNumberAndFigure) {
    const auto id = [](const Choice& choice) { return choose(icc(), choice).at(0)->id; };
    EXPECT_EQ(id({{"ICC-5"}, {}, false}), "ICC-5");
    EXPECT_EQ(id({{"5"}, {}, false}), "ICC-5");
    EXPECT_EQ(id({{}, {"2"}, false}), "ICC-1");
    EXPECT_EQ(id({{}, {"Fig 15"}, false}), "ICC-11");
    EXPECT_EQ(id({{}, {"6.4"}, false}), "ICC-12");
    EXPECT_EQ(choose(icc(), {{"ICC-12", "ICC-1"}, {"10"}, false}).size(), 3u);
    EXPECT_THROW(choose(icc(), {{"ICC-14"}, {}, false}), InputError);
    EXPECT_THROW(choose(icc(), {{}, {"9"}, false}), InputError);
    EXPECT_THROW(choose(icc(), {{"ICC-5"}, {}, true}), InputError);
}

}  // namespace
}  // namespace mergelane::study
