// SPDX-License-Identifier: MIT
// Study files: those in the repository are valid, without any run; and a table of mistakes with their error messages.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/error.hpp"
#include "study/study.hpp"
#include "study/study_judge.hpp"

namespace mergelane::study {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = MERGELANE_SOURCE_DIR;

const Published& published() {
    static const Published all = Published::read(kSource / "data/published.csv");
    return all;
}

TEST(StudyFiles, EveryStudyOfTheRepositoryIsRight) {
    const std::vector<StudyInfo> studies = list_studies({kSource / "studies"});
    EXPECT_FALSE(studies.empty());
    for (const StudyInfo& info : studies) {
        const StudySpec study = read_study(info.folder);
        EXPECT_EQ(study.paper, info.paper);
        EXPECT_FALSE(study.experiments.empty()) << info.paper;
        EXPECT_NO_THROW(check(study, published())) << info.paper;
    }
}

TEST(StudyFiles, ExperimentsAreInTheOrderOfTheirNumbers) {
    const StudySpec study = read_study(kSource / "studies/icc");
    ASSERT_EQ(study.experiments.size(), 14u);
    for (std::size_t i = 0; i < 14; ++i) EXPECT_EQ(study.experiments[i].id, "ICC-" + std::to_string(i));
}

TEST(StudyFiles, FamiliesAndBases) {
    const StudySpec study = read_study(kSource / "studies/icc");
    const auto overrides = [&](const char* name) { return study.find(name)->overrides; };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(overrides("D at 0.25x"), (Texts{"dispatch.scheduler=distributed", "gpu.noc_mhz=350", "gpu.l2_mhz=350"}));
    EXPECT_EQ(overrides("D at 1x"), overrides("D")) << "written out, it takes the place of the family's";
    EXPECT_EQ(overrides("DB+ICC+CC"),
              (Texts{"dispatch.scheduler=distributed_block", "cluster.icc.enabled=true", "cluster.cc.enabled=true"}));
    EXPECT_EQ(overrides("DB+ICC, 15 clusters"), (Texts{"dispatch.scheduler=distributed_block", "cluster.icc.enabled=true",
                                                       "gpu.clusters=15", "gpu.sms_per_cluster=4", "cluster.icc.entries=40"}));
    EXPECT_EQ(study.find("D at 3x"), nullptr);
}

constexpr const char* kStudy = R"toml(title = "A study"
machine = "icc60"
reference = "base"

[workloads]
HS = "hotspot"
LUD = "lud"

[list]
ways = [2, 4]

[measure]
"speedup(c)" = "ipc(c) / ipc('base')"

[configuration.base]
[configuration."{ways} ways"]
base = "base"
set = ["l1.ways={ways}"]
)toml";

constexpr const char* kExperiment = R"toml(id = "X-1"
figure = "Fig 1"
title = "Ways"
baseline = true
configurations = ["base", "{ways} ways"]

[measure]
hits = "stat('base', 'l1.sector_hits')"

[[criterion]]
kind = "M"
text = "gain of four ways"
value = "change(mean(speedup('4 ways')))"
published = "icc-ipc-db-avg"
unit = "%"

[[table]]
title = "IPC"
columns = "speedup('{ways} ways') for ways as '{ways} ways'"
digits = 2

[[chart]]
kind = "bars"
title = "IPC"
y_title = "IPC / IPC of base"
baseline = 1
series = "speedup('{ways} ways') for ways as '{ways} ways'"
[chart.published."4 ways"]
HS = "icc-ipc-db-hs"

[[note]]
text = "{mean(hits):0} hits."
when = "mean(hits) > 0"
)toml";

void load(const std::string& study, const std::string& experiment) {
    const StudySpec spec = parse_study("made", {"study.toml", study}, {{"one.toml", experiment}});
    check(spec, published());
}

TEST(StudyFiles, TheExampleIsRight) {
    EXPECT_NO_THROW(load(kStudy, kExperiment));
    const StudySpec spec = parse_study("made", {"study.toml", kStudy}, {{"one.toml", kExperiment}});
    const Experiment e = judge(spec.experiments[0], Measurements(spec, {}), published());
    EXPECT_EQ(e.verdict(), Verdict::not_run);
    EXPECT_EQ(e.tables[0].rows.size(), 4u) << "two workloads, mean, geometric mean";
    EXPECT_EQ(e.charts[0].data.size(), 6u);
    EXPECT_TRUE(e.notes.empty()) << "only when there are hits";
}

TEST(StudyFiles, WorkloadsApartBelongToExperimentsThatNameThem) {
    std::string study = kStudy, experiment = kExperiment;
    study.replace(study.find("LUD = \"lud\""), 11, "LUD = { program = \"lud\", apart = true }");
    const auto names = [&] {
        const StudySpec spec = parse_study("made", {"study.toml", study}, {{"one.toml", experiment}});
        const StudySpec seen = spec.seen_by(spec.experiments[0]);
        EXPECT_EQ(seen.lists.at("workload").size(), seen.workloads.size());
        EXPECT_EQ(Study(spec, choose(spec, {}), "tiny", 1).plan().size(), 2 * seen.workloads.size()) << "icc60 has 4 ways";
        return seen.workload_names();
    };
    EXPECT_EQ(names(), (std::vector<std::string>{"HS"}));
    experiment.replace(experiment.find("baseline = true"), 15, "workloads = [\"LUD\"]");
    EXPECT_EQ(names(), (std::vector<std::string>{"LUD"}));
}

TEST(StudyFiles, AWorkloadMayHaveASizeOfItsOwn) {
    std::string study = kStudy;
    study.replace(study.find("LUD = \"lud\""), 11, "LUD = { program = \"hotspot\", size = \"large\" }");
    const StudySpec spec = parse_study("made", {"study.toml", study}, {{"one.toml", kExperiment}});
    const auto sizes = [&](const char* size) {
        const Study made(spec, choose(spec, {}), size, 1);
        std::multiset<std::string> found;
        for (std::size_t i = 0; i < made.plan().size(); ++i) found.insert(made.plan().run(i).spec.size);
        return found;
    };
    EXPECT_EQ(sizes("paper"), (std::multiset<std::string>{"large", "large", "paper", "paper"}));
    EXPECT_EQ(sizes("tiny"), (std::multiset<std::string>{"tiny", "tiny"})) << "quick runs stay quick";
}

TEST(StudyFiles, ChangesMayDifferByWorkload) {
    std::string study = kStudy;
    study.replace(study.find("ways = [2, 4]"), 13, "ways = [2, 4]\nslots_4 = [3, 5]\nslots_2 = [2, 1]");
    study.replace(study.find("set = [\"l1.ways={ways}\"]"), 24,
                  "set = [\"sm.cta_slots={matching(workload, 'slots_{ways}')}\", \"l1.ways={ways}\"]");
    study += "\n[configuration.seven]\nbase = \"4 ways\"\nset = [\"sm.cta_slots=7\"]\n";
    const StudySpec spec = parse_study("made", {"study.toml", study}, {{"one.toml", kExperiment}});
    EXPECT_NO_THROW(check(spec, published()));
    const auto of = [&](const char* configuration, std::size_t workload) {
        return overrides_of(*spec.find(configuration), spec.workloads[workload]);
    };
    EXPECT_EQ(of("4 ways", 0), (std::vector<std::string>{"l1.ways=4", "sm.cta_slots=3"}));
    EXPECT_EQ(of("4 ways", 1), (std::vector<std::string>{"l1.ways=4", "sm.cta_slots=5"}));
    EXPECT_EQ(of("2 ways", 1), (std::vector<std::string>{"l1.ways=2", "sm.cta_slots=1"}));
    EXPECT_EQ(of("base", 1), std::vector<std::string>());
    EXPECT_EQ(of("seven", 1), (std::vector<std::string>{"l1.ways=4", "sm.cta_slots=5", "sm.cta_slots=7"})) << "the last one counts";
}

/// In one of the files `from` becomes `to`, and the message names the place.
struct Mistake {
    const char* from;
    const char* to;
    const char* message;
};

const Mistake kMistakes[] = {
    // study.toml
    {"LUD = \"lud\"", "LUD = { program = \"lud\", kernels = \"0\" }",
     "study.toml:7: --kernels '0' is not a range; kernels are counted from 1"},
    {"LUD = \"lud\"", "LUD = { kernels = \"1\" }", "study.toml:7: workload 'LUD' has no 'program'; add program = ..."},
    {"LUD = \"lud\"", "LUD = { program = \"lud\", kernel = \"1\" }", "study.toml:7: unknown key of workload 'LUD' 'kernel'"},
    {"set = [\"l1.ways={ways}\"]", "machine = \"icc61\"", "configuration '2 ways': "},
    {"kind = \"M\"\n", "kind = \"M\"\nlevel = \"main\"\n", "one.toml:12: unknown level 'main'"},
    {"title = \"A study\"\n", "", "study.toml:1: study.toml has no 'title'"},
    {"title = \"A study\"", "title = 3", "study.toml:1: 'title' must be a text in quotes"},
    {"machine = \"icc60\"", "machin = \"icc60\"", "study.toml:1: study.toml has no 'machine'; is 'machin' meant to be it?"},
    {"machine = \"icc60\"", "machine = \"icc61\"", "unknown GPU 'icc61'; did you mean 'icc60'?"},
    {"reference = \"base\"", "reference = \"bass\"", "study.toml:3: unknown configuration 'bass'; did you mean 'base'?"},
    {"reference = \"base\"", "reference = \"base\"\nsize = 3", "study.toml:4: unknown key of study.toml 'size'"},
    {"reference = \"base\"", "reference = base", "study.toml:3: not valid TOML"},
    {"reference = \"base\"", "reference = \"base\"\nseeded = [\"H\"]", "study.toml:4: unknown workload 'H'"},
    {"HS = \"hotspot\"", "HS = \"hotspott\"", "study.toml:6: unknown workload 'hotspott'"},
    {"HS = \"hotspot\"\nLUD = \"lud\"", "", "study.toml:5: no workloads; add one"},
    {"[workloads]\nHS = \"hotspot\"\nLUD = \"lud\"", "workloads = 3", "'workloads' must be a table; write [workloads]"},
    {"ways = [2, 4]", "ways = []", "study.toml:10: list 'ways' must have 1 to 64 values"},
    {"ways = [2, 4]", "ways = 4", "study.toml:10: list 'ways' must have 1 to 64 values"},
    {"ways = [2, 4]", "ways = [2, inf]", "study.toml:10: a list contains numbers or texts"},
    {"ways = [2, 4]", "ways = [2, true]", "study.toml:10: a list contains numbers or texts"},
    {"ways = [2, 4]", "ways = [2, 4]\nworkload = [1]", "study.toml:11: 'workload' is not a valid name of a list"},
    {"ways = [2, 4]", "ways = [2, 4, 2]", "study.toml:16: duplicate configuration '2 ways'"},
    {"ways = [2, 4]", "ways = [2, 4]\n\"4x\" = [1]", "'4x' is not a valid name of a list"},
    {"\"speedup(c)\" =", "\"speedup(c\" =", "study.toml:13: 'speedup(c' is not a valid name of a measure"},
    {"\"speedup(c)\" =", "ways =", "study.toml:13: a measure or list 'ways' already exists"},
    {"ipc('base')", "ipc('bas')", "study.toml:13: \"ipc(c) / ipc('bas')\" has unknown configuration 'bas'; did you mean 'base'?"},
    {"ipc(c) / ipc('base')", "ipc(c) / ipc('base'", "study.toml:13: \"ipc(c) / ipc('base'\" ends where ',' or ')' is expected"},
    {"ipc(c) /", "ipc() /", "passes ipc 0 arguments; write ipc('CONFIGURATION')"},
    {"ipc(c) /", "speedup(c) /", "defines measure 'speedup' in terms of itself"},
    {"[configuration.base]", "[configuration.base]\nsett = []",
     "study.toml:16: unknown key of [configuration.\"base\"] 'sett'; did you mean 'set'?"},
    {"\"{ways} ways\"]", "\"{way} ways\"]", "study.toml:16: unknown list 'way'; did you mean 'ways'?"},
    {"base = \"base\"", "base = \"bas\"", "study.toml:16: unknown base 'bas'; did you mean 'base'?"},
    {"base = \"base\"", "base = \"{ways} ways\"", "nested more than 8 deep or form a cycle"},
    {"set = [\"l1.ways", "set = [\"l1.wayz", "study.toml:16: configuration '2 ways': --set l1.wayz=2: unknown key"},
    {"set = [\"l1.ways={ways}\"]", "set = [3]", "study.toml:18: 'set' must be a text in quotes"},
    // one.toml
    {"id = \"X-1\"\n", "", "one.toml:1: the experiment has no 'id'"},
    {"baseline = true", "workloads = [\"LUT\"]", "one.toml:4: unknown workload 'LUT'; did you mean 'LUD'?"},
    {"LUD = \"lud\"", "LUD = { program = \"lud\", size = \"huge\" }", "study.toml:7: unknown size 'huge'"},
    {"HS = \"hotspot\"\nLUD = \"lud\"", "HS = { program = \"hotspot\", apart = true }",
     "one.toml:1: the experiment has no workloads: all of study.toml are marked apart; list some with workloads = [...]"},
    {"baseline = true", "baseline = \"yes\"", "one.toml:4: 'baseline' must be true or false"},
    {"baseline = true", "basline = true", "one.toml:4: unknown key of the experiment 'basline'; did you mean 'baseline'?"},
    {"[\"base\", \"{ways} ways\"]", "[\"base\", \"8 ways\"]", "one.toml:5: unknown configuration '8 ways'; did you mean '2 ways'?"},
    {"[\"base\", \"{ways} ways\"]", "[\"base\", \"2 ways\"]", "uses configuration '4 ways', which the experiment does not run"},
    {"hits = \"stat('base', 'l1.sector_hits')\"", "hits = \"stat('base', 'l1.sector_hit')\"",
     "one.toml:8: \"stat('base', 'l1.sector_hit')\" has unknown statistic 'l1.sector_hit'; did you mean 'l1.sector_hits'?"},
    {"hits = \"stat(", "speedup = \"stat(", "one.toml:8: a measure or list 'speedup' already exists"},
    {"kind = \"M\"", "kind = \"m\"", "one.toml:11: unknown kind 'm'; did you mean"},
    {"kind = \"M\"", "kind = \"S\"", "one.toml:10: a criterion requires a rule"},
    {"kind = \"M\"", "kind = \"M\"\nlow = 3\nabove = 2", "one.toml:10: a criterion has exactly one rule"},
    {"kind = \"M\"", "kind = \"M\"\nrising = \"1 for ways\"", "one.toml:10: a criterion requires either value or rising"},
    {"kind = \"M\"", "kind = \"M\"\nlow = [3]", "one.toml:12: 'low' must be a number or an expression in quotes"},
    {"kind = \"M\"", "kind = \"M\"\nlow = \"nothing\"", "one.toml:12: \"nothing\" has unknown name 'nothing'"},
    {"kind = \"M\"", "kind = \"M\"\nstep = 1", "one.toml:12: 'step' requires 'rising'"},
    {"value = \"change(mean(", "value = \"change(meen(",
     "one.toml:13: \"change(meen(speedup('4 ways')))\" has unknown name 'meen'; did you mean 'mean'?"},
    {"value = \"change(mean(speedup('4 ways')))\"", "value = \"speedup('4 ways')\"",
     "one.toml:13: \"speedup('4 ways')\" gives per-workload values where a number is expected"},
    {"value = \"change(mean(speedup('4 ways')))\"", "value = \"at(speedup('4 ways'), 'HZ')\"",
     "has unknown workload 'HZ'; did you mean 'HS'?"},
    {"value = \"change(mean(speedup('4 ways')))\"", "value = \"mean(energy('base', 'gpuwattch_gtx480_40nm', 'nok'))\"",
     "has unknown component 'nok'; did you mean 'noc'?"},
    {"value = \"change(mean(speedup('4 ways')))\"", "value = \"mean(energy('base', 'gpuwatch', 'noc'))\"",
     "one.toml:13: \"mean(energy('base', 'gpuwatch', 'noc'))\" "},
    {"value = \"change(mean(speedup('4 ways')))\"", "value = \"storage('WarpPool', 'queues', 'bits')\"", "has unknown structure 'queues'"},
    {"value = \"change(mean(speedup('4 ways')))\"\n", "value = \"placed('greedie', 2, 2, 2, 10, 0)\"\nequals = \"''\"\n",
     "has unknown CTA scheduler 'greedie'; did you mean 'greedy'?"},
    {"published = \"icc-ipc-db-avg\"", "published = \"icc-ipc-db-avgs\"",
     "has unknown published number 'icc-ipc-db-avgs'; did you mean 'icc-ipc-db-avg'?"},
    {"unit = \"%\"", "unit = \"{%}\"", "one.toml:15: \"{%}\" has '%}' where"},
    {"columns = \"speedup", "columns = \"mean(speedup", "one.toml:19: "},
    {"columns = \"speedup('{ways} ways') for ways as '{ways} ways'\"", "columns = \"1 for ways\"",
     "one.toml:19: \"1 for ways\" must give per-workload values"},
    {"columns = \"speedup('{ways} ways') for ways as '{ways} ways'\"", "columns = \"speedup('base')\"",
     "one.toml:19: \"speedup('base')\" has no label"},
    {"digits = 2", "digits = 12", "one.toml:20: 'digits' must be 0 to 9"},
    {"digits = 2", "rows = \"way\"", "one.toml:20: unknown list 'way'; did you mean 'ways'?"},
    {"kind = \"bars\"", "kind = \"bar\"", "one.toml:23: unknown kind 'bar'; did you mean 'bars'?"},
    {"kind = \"bars\"", "kind = \"stacked\"", "one.toml:22: stacked bars require parts"},
    {"kind = \"bars\"", "kind = \"lines\"", "one.toml:22: [[chart]] has no 'x_title'"},
    {"HS = \"icc-ipc-db-hs\"", "HS = \"icc-ipc-db-hz\"", "one.toml:29: the chart has unknown published number 'icc-ipc-db-hz'"},
    {"HS = \"icc-ipc-db-hs\"", "HZ = \"icc-ipc-db-hs\"", "one.toml:29: unknown point of the chart '4 ways.HZ'; did you mean '4 ways.HS'?"},
    {"[chart.published.\"4 ways\"]\nHS = \"icc-ipc-db-hs\"", "published = 3", "'published' must be a table"},
    {"text = \"{mean(hits):0} hits.\"", "text = \"{mean(hits:0} hits.\"", "one.toml:32: "},
    {"text = \"{mean(hits):0} hits.\"", "text = \"{hits} hits.\"", "one.toml:32: \"{hits} hits.\" puts per-workload values into a text"},
    {"when = \"mean(hits) > 0\"", "when = \"mean(hits) >\"", "one.toml:33: \"mean(hits) >\" ends where a number"},
    {"[[note]]", "[note]", "'note' must be a list of at most 256 tables; write [[note]]"},
};

TEST(StudyFiles, MistakesAreRefusedWithPlaceCauseAndRemedy) {
    EXPECT_GE(std::size(kMistakes), 50u);
    for (const Mistake& mistake : kMistakes) {
        std::string study = kStudy;
        std::string experiment = kExperiment;
        const std::size_t in_study = study.find(mistake.from);
        const std::size_t in_experiment = experiment.find(mistake.from);
        if (in_study != std::string::npos)
            study.replace(in_study, std::string_view(mistake.from).size(), mistake.to);
        else if (in_experiment != std::string::npos)
            experiment.replace(in_experiment, std::string_view(mistake.from).size(), mistake.to);
        else
            ADD_FAILURE() << "nothing to change: " << mistake.from;
        std::string message;
        try {
            load(study, experiment);
        } catch (const InputError& error) {
            message = error.what();
        }
        EXPECT_NE(message.find(mistake.message), std::string::npos)
            << mistake.to << "\n  expected: " << mistake.message << "\n  got: " << message;
        EXPECT_TRUE(message.starts_with("study.toml:") || message.starts_with("one.toml:")) << message;
        EXPECT_TRUE(message.find("; ") != std::string::npos || message.find(" must be ") != std::string::npos) << "no remedy: " << message;
        EXPECT_LT(message.size(), 2000u);
    }
}

TEST(StudyFiles, WhatAMechanismCountsIsThereWhereItIsOn) {
    std::string study = kStudy;
    std::string experiment = kExperiment;
    study.replace(study.find("set = ["), 7, "set = [\"cluster.icc.enabled=true\", ");
    experiment.replace(experiment.find("l1.sector_hits"), 14, "icc.merged");
    try {
        load(study, experiment);
        FAIL() << "not counted is not zero";
    } catch (const InputError& error) {
        EXPECT_TRUE(std::string_view(error.what())
                        .starts_with("one.toml:8: \"stat('base', 'icc.merged')\" uses 'icc.merged' of configuration 'base', in which the "
                                     "mechanism that counts it is disabled; configuration '2 ways' counts it"))
            << error.what();
    }
    experiment.replace(experiment.find("stat('base'"), 11, "stat('2 ways'");
    EXPECT_NO_THROW(load(study, experiment));
}

TEST(StudyFiles, ConfigurationsMayHaveAMachineAndWorkloadsKernelsOfTheirOwn) {
    std::string text = kStudy;
    text.replace(text.find("LUD = \"lud\""), 11, "LUD_2 = { program = \"lud\", kernels = \"2-\", set = [\"l1.mshrs=16\"] }");
    text.replace(text.find("[configuration.base]\n"), 21, "[configuration.base]\nmachine = \"icc60-gpgpusim\"\n");
    text += "[configuration.other]\nmachine = \"icc60\"\nset = [\"l1.mshrs=8\"]\n";
    const StudySpec study = parse_study("made", {"study.toml", text}, {{"one.toml", kExperiment}});
    EXPECT_NO_THROW(check(study, published()));
    EXPECT_EQ(study.machine_of(*study.find("base")), "icc60-gpgpusim");
    EXPECT_EQ(study.machine_of(*study.find("4 ways")), "icc60-gpgpusim") << "that of its base";
    EXPECT_EQ(study.machine_of(*study.find("other")), "icc60");
    EXPECT_EQ(study.workloads[0].kernels, "");
    EXPECT_EQ(study.workloads[1].name, "LUD_2");
    EXPECT_EQ(study.workloads[1].program, "lud");
    EXPECT_EQ(study.workloads[1].kernels, "2-");
    EXPECT_EQ(overrides_of(*study.find("other"), study.workloads[1]), (std::vector<std::string>{"l1.mshrs=8", "l1.mshrs=16"}))
        << "the workload's own come last";
}

TEST(StudyFiles, LevelsOfCriteria) {
    std::string text = kExperiment;
    text.replace(text.find("kind = \"M\"\n"), 11, "kind = \"M\"\nlevel = \"detail\"\n");
    const StudySpec study = parse_study("made", {"study.toml", kStudy}, {{"one.toml", text}});
    const Experiment e = judge(study.experiments[0], Measurements(study, {}), published());
    EXPECT_EQ(e.verdict(), Verdict::reported);
    EXPECT_EQ(e.of(Level::detail), 1u);
}

TEST(StudyFiles, TwoExperimentsHaveTwoNames) {
    try {
        parse_study("made", {"study.toml", kStudy}, {{"one.toml", kExperiment}, {"two.toml", kExperiment}});
        FAIL();
    } catch (const InputError& error) {
        EXPECT_STREQ(error.what(), "two.toml:1: 'X-1' is already the id of 'one.toml'; choose another one");
    }
}

TEST(StudyFiles, FoldersAreFoundByNameOrPath) {
    const std::vector<fs::path> dirs = {kSource / "studies"};
    EXPECT_EQ(find_study("icc", dirs), kSource / "studies/icc");
    EXPECT_EQ(find_study("./mine", dirs), "./mine");
    EXPECT_THROW(find_study("icd", dirs), InputError);
    EXPECT_THROW(read_study(kSource / "studies/none"), InputError);
    EXPECT_EQ(read_study(kSource / "studies/icc/").paper, "icc") << "with a slash, too";
}

}  // namespace
}  // namespace mergelane::study
