// SPDX-License-Identifier: MIT
// The judgement of ICC-0 to ICC-12 on made-up runs: a world as the paper tells it passes everything, one without any effect fails, and
// a missing run leaves "not run".
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "sim/machine.hpp"
#include "study/study_judge.hpp"

namespace mergelane::study {
namespace {

using ByWorkload = std::map<std::string, double>;

double of(const ByWorkload& table, const std::string& workload, double otherwise) {
    const auto at = table.find(workload);
    return at == table.end() ? otherwise : at->second;
}

/// What is made up of each run.
struct Made {
    double ipc = 1;     ///< over D
    double reads = 1;   ///< over D
    double icl = 0;     ///< per cent at 2000 cycles
    double merged = 0;  ///< per cent of reads at the merge table
    double hits = 0;
};

class World {
public:
    virtual ~World() = default;
    virtual Made of(const std::string& configuration, const std::string& workload) const = 0;
};

/// As published, where there are numbers.
class PublishedWorld : public World {
public:
    Made of(const std::string& c, const std::string& w) const override {
        using study::of;
        Made made;
        const std::string variant = c.substr(0, c.find_first_of(", "));
        made.icl = of({{"HS", 48}, {"DCT", 45}, {"SRAD", 20}, {"LUD", 18}}, w, 10);
        if (variant == "RR2" || variant == "GRR" || variant == "GC") {
            made.ipc =
                1 / of({{"FDTD", 1.35}, {"BT", 1.12}, {"2DCONV", 1.10}, {"NN", 1.09}, {"LUD", 1.06}, {"SRAD", 0.89}, {"BP", 0.96}}, w, 1);
            made.icl *= variant == "RR2" ? 0.5 : 0.7;
        }
        if (const std::size_t at = c.find(" at "); at != std::string::npos)
            made.ipc *= of({{"0.25x", 0.5}, {"0.5x", 0.75}, {"0.75x", 0.9}, {"1.25x", 1.15}, {"1.5x", 1.28}, {"1.75x", 1.36}, {"2x", 1.42}},
                           c.substr(at + 4), 1);
        const ByWorkload db{{"FDTD", 1.15}, {"MM", 1.10}, {"2DCONV", 1.07}, {"HS", 1}, {"DCT", 1}};
        const ByWorkload icc{{"LUD", 1.28}, {"HS", 1.19}, {"DCT", 1.17}, {"2DCONV", 1.19}, {"FDTD", 1.16}, {"MM", 1.11}};
        if (variant == "DB") {
            made.ipc = of(db, w, 1.02);
            made.reads = of({{"FDTD", 0.76}, {"DCT", 0.85}, {"MM", 0.90}, {"2DCONV", 0.93}, {"HS", 1}, {"BT", 1}}, w, 0.95);
        }
        if (variant.find("+ICC") != std::string::npos) {
            made.ipc = of(icc, w, 1.03);
            made.reads = of({{"DCT", 0.54}, {"FDTD", 0.73}, {"HS", 0.82}, {"LUD", 0.83}, {"2DCONV", 0.84}, {"MM", 0.88}}, w, 0.92);
            made.merged = 12;
        }
        if (variant.starts_with("D+ICC"))
            made.ipc += of({{"HS", 0.02}, {"LUD", 0.02}, {"DCT", 0.02}, {"FDTD", -0.05}, {"MM", -0.05}, {"2DCONV", -0.05}}, w, 0);
        if (variant.ends_with("+CC")) {
            made.ipc = of({{"LUD", 1.67}, {"2DCONV", 1.46}}, w, made.ipc + 0.02);
            made.reads = of({{"DCT", 0.53}, {"2DCONV", 0.67}, {"LUD", 0.68}, {"HS", 0.71}, {"FDTD", 0.73}}, w, made.reads - 0.01);
            made.hits = 4;
        }
        if (c.ends_with("entries"))
            made.merged = of({{"8", 4}, {"16", 7}, {"32", 10}, {"64", 13}, {"96", 14}, {"160", 14.5}}, number(c), 12);
        if (c.ends_with("lines")) made.hits = of({{"8", 1}, {"16", 3}, {"48", 5}, {"96", 5.5}}, number(c), 4);
        if (c.ends_with("clusters"))
            made.ipc =
                variant == "D" ? 1 : of({{"6", 1.08}, {"10", 1.14}, {"15", 1.10}}, number(c), 1) + (variant.ends_with("+CC") ? 0.04 : 0);
        return made;
    }

private:
    /// "DB+ICC, 8 entries" -> "8"
    static std::string number(const std::string& c) {
        const std::size_t from = c.find(", ") + 2;
        return c.substr(from, c.find(' ', from) - from);
    }
};

class DullWorld : public World {
public:
    Made of(const std::string&, const std::string&) const override { return {}; }
};

/// One thing different from the published world.
class ChangedWorld : public PublishedWorld {
public:
    explicit ChangedWorld(std::function<void(const std::string&, const std::string&, Made&)> change) : change_(std::move(change)) {}
    Made of(const std::string& c, const std::string& w) const override {
        Made made = PublishedWorld::of(c, w);
        change_(c, w, made);
        return made;
    }

private:
    std::function<void(const std::string&, const std::string&, Made&)> change_;
};

/// Whatever a machine with all mechanisms of the paper counts, at zero.
const std::map<std::string, std::uint64_t>& nothing_counted() {
    static const std::map<std::string, std::uint64_t> zeros = [] {
        MachineSpec spec;
        spec.section<IccSpec>().on = spec.section<CoalescedCacheSpec>().on = spec.section<LocalitySpec>().on = true;
        const Machine machine(spec);
        StatFields fields;
        for (const Wiring::Part& part : machine.parts()) part.component->stats(fields, 0);
        std::map<std::string, std::uint64_t> names;
        for (const StatField& field : fields.list()) names[std::string(field.group) + "." + std::string(field.name)] = 0;
        return names;
    }();
    return zeros;
}

RunRecord record_of(const Made& made, const Configuration& c, const std::string& workload) {
    RunRecord r;
    r.key = c.name + workload;
    r.done = true;
    r.warp_instructions = 10'000'000;
    r.cycles = static_cast<std::uint64_t>(1e6 / made.ipc);
    r.stats = nothing_counted();
    const auto count = [&](const char* name, double value) { r.stats.at(name) = static_cast<std::uint64_t>(value + 0.5); };
    const double busy = workload == "2DCONV" || workload == "BFS" ? 2 : 1;  // what they ask of the network
    const double reads = 2e6 * made.reads * busy;
    count("noc.request.read_packets", reads);
    count("noc.request.packets", reads);
    count("noc.request.flits", reads);
    count("noc.reply.flits", 3 * reads);
    count("l2.requests", 0.1 * reads);
    count("l2.reads", 0.1 * reads);
    count("l2.sector_accesses", 0.1 * reads);
    count("l2.sector_hits", 0.1 * reads);
    count("sm.warp_instructions", 1e7);
    count("lanes.fp_mad", 1e9);
    count("sm.active_cycles", 60.0 * static_cast<double>(r.cycles));
    count("icc.reads", 1e6);
    count("icc.merged", 1e4 * made.merged);
    count("cc.hits", 1e4 * made.hits);
    count("locality.reads", 1e6);
    const bool data = workload == "HS" || workload == "LUD";
    for (const auto& [window, share] : std::map<std::string, double>{{"500", 0.4}, {"1000", 0.6}, {"1500", 0.8}, {"2000", 1}}) {
        count(("locality.line_sharing_" + window).c_str(), 1e4 * made.icl * share * (data ? 0.2 : 0.8));
        count(("locality.data_sharing_" + window).c_str(), 1e4 * made.icl * share * (data ? 0.8 : 0.2));
    }
    return r;
}

const Published& published() {
    static const Published all = Published::read(MERGELANE_SOURCE_DIR "/data/published.csv");
    return all;
}

const StudySpec& icc() {
    static const StudySpec study = read_study(MERGELANE_SOURCE_DIR "/studies/icc");
    return study;
}

/// The first name of the same machine: "DB+ICC" for "DB+ICC, 48 entries".
const std::string& first_name(const Configuration& c) {
    return std::find_if(icc().configurations.begin(), icc().configurations.end(),
                        [&](const Configuration& other) { return other.overrides == c.overrides; })
        ->name;
}

/// `missing`: a configuration that was not run.
Experiment judged(std::size_t experiment, const World& world, const std::string& missing = "") {
    std::map<std::string, RunRecord> records;
    Sources sources = installed_sources(icc());
    sources.run = [&](const Configuration& c, const StudyWorkload& w) -> const RunRecord* {
        const std::string& name = first_name(c);
        if (name == missing && w.name == "NN") return nullptr;
        const auto [at, is_new] = records.try_emplace(name + "\n" + w.name);
        if (is_new) at->second = record_of(world.of(name, w.name), c, w.name);
        return &at->second;
    };
    return judge(icc().experiments.at(experiment), Measurements(icc(), sources), published());
}

std::string listing(const Experiment& e) {
    std::string text = e.id + "\n";
    for (const Criterion& c : e.criteria) {
        const std::string* words = std::get_if<std::string>(&c.measured);
        text += "  " + std::string(to_text(c.verdict)) + "  " + c.text + ": " +
                (words ? *words : std::to_string(std::get<double>(c.measured))) + "\n";
    }
    return text;
}

TEST(IccCriteria, AWorldAsPublishedPassesEverything) {
    for (std::size_t i = 0; i <= 12; ++i) {
        const Experiment e = judged(i, PublishedWorld());
        EXPECT_EQ(e.verdict(), Verdict::pass) << listing(e);
        EXPECT_FALSE(e.tables.empty());
        for (const Chart& chart : e.charts) EXPECT_FALSE(chart.data.empty()) << e.id;
    }
}

TEST(IccCriteria, AWorldWithoutEffectsFailsWhateverIsMeasured) {
    for (std::size_t i = 1; i <= 11; ++i) EXPECT_EQ(judged(i, DullWorld()).verdict(), Verdict::fail) << listing(judged(i, DullWorld()));
    EXPECT_EQ(judged(0, DullWorld()).verdict(), Verdict::pass) << "placement needs no run";
    EXPECT_EQ(judged(12, DullWorld()).verdict(), Verdict::pass) << "nor does storage";
}

TEST(IccCriteria, AMissingRunIsNoVerdict) {
    for (const auto& [experiment, configuration] : std::map<std::size_t, const char*>{{1, "D at 2x"},
                                                                                      {2, "D"},
                                                                                      {3, "RR2"},
                                                                                      {4, "GC"},
                                                                                      {5, "DB+ICC+CC"},
                                                                                      {6, "DB+ICC+CC"},
                                                                                      {7, "DB+ICC+CC"},
                                                                                      {8, "DB+ICC"},
                                                                                      {9, "DB+ICC, 160 entries"},
                                                                                      {10, "DB+ICC, 10 clusters"},
                                                                                      {11, "DB+ICC, 6 clusters"}}) {
        const Experiment e = judged(experiment, PublishedWorld(), configuration);
        EXPECT_EQ(e.verdict(), Verdict::not_run) << listing(e);
    }
}

/// Each change breaks exactly the criteria whose text contains the words.
struct Break {
    std::size_t experiment;
    const char* words;
    std::function<void(const std::string&, const std::string&, Made&)> change;
};

TEST(IccCriteria, EachCriterionCanFail) {
    const auto at = [](const char* configuration, const char* workload, double Made::*member, double value) {
        return [=](const std::string& c, const std::string& w, Made& made) {
            if (c == configuration && (workload == std::string("all") || w == workload)) made.*member = value;
        };
    };
    const Break breaks[] = {
        {1, "never falls", at("D at 1.25x", "all", &Made::ipc, 0.98)},
        {1, "more than 10 %", at("D at 2x", "all", &Made::ipc, 1.09)},
        {1, "mean gain", at("D at 2x", "all", &Made::ipc, 1.81)},
        {1, "saturation", at("D at 1.5x", "all", &Made::ipc, 1.16)},
        {2, "HS is among", at("D", "HS", &Made::icl, 9)},
        {2, "DCT, 2000", at("D", "DCT", &Made::icl, 29)},
        {2, "mean locality, 2000", at("D", "all", &Made::icl, 36)},
        {3, "distributed is best", at("GC", "all", &Made::ipc, 1.1)},
        {3, "FDTD gains", at("RR2", "FDTD", &Made::ipc, 1)},
        {3, "FDTD gains most", at("RR2", "NN", &Made::ipc, 0.7)},
        {3, "SRAD or BP loses",
         [](const std::string& c, const std::string& w, Made& m) {
             if (c == "RR2" && (w == "SRAD" || w == "BP")) m.ipc = 1;
         }},
        {4, "highest mean", at("GC", "all", &Made::icl, 30)},
        {4, "round robin has the lowest", at("RR2", "all", &Made::icl, 15)},
        {5, "costs no workload", at("DB", "NN", &Made::ipc, 0.98)},
        {5, "means rise", at("DB+ICC+CC", "all", &Made::ipc, 1.1)},
        {5, "within 3 points", at("D+ICC", "NN", &Made::ipc, 1.6)},
        {5, "LUD among", at("DB+ICC+CC", "LUD", &Made::ipc, 1.04)},
        {5, "for HS, LUD, DCT",
         [](const std::string& c, const std::string& w, Made& m) {
             if (c == "D+ICC" && w != "LUD") m.ipc -= 0.03;
         }},
        {5, "for FDTD, MM, 2DCONV",
         [](const std::string& c, const std::string& w, Made& m) {
             if (c == "D+ICC" && (w == "FDTD" || w == "MM")) m.ipc += 0.06;
         }},
        {5, "HS: no effect", at("DB", "HS", &Made::ipc, 1.02)},
        {5, "mean gain of DB+ICC+CC", at("DB+ICC+CC", "NN", &Made::ipc, 4)},
        {6, "mean saving grows", at("DB+ICC", "all", &Made::reads, 1)},
        {6, "mean network energy", at("DB+ICC+CC", "all", &Made::reads, 0.97)},
        {7, "mean energy-delay", at("DB+ICC+CC", "all", &Made::ipc, 1)},
        {8, "each step", at("DB+ICC", "all", &Made::reads, 0.99)},
        {8, "DCT loses most", at("DB+ICC", "DCT", &Made::reads, 0.95)},
        {8, "FDTD loses most", at("DB", "FDTD", &Made::reads, 0.96)},
        {8, "CC removes most",
         [](const std::string& c, const std::string& w, Made& m) {
             if (c == "DB+ICC+CC" && (w == "HS" || w == "LUD")) m.reads = 0.83;
         }},
        {8, "BT: no effect", at("DB", "BT", &Made::reads, 0.9)},
        {8, "mean reads, DB+ICC+CC", at("DB+ICC+CC", "all", &Made::reads, 0.5)},
        {9, "merge table: mean share", at("DB+ICC, 64 entries", "all", &Made::merged, 10)},
        {9, "merge table: saturates", at("DB+ICC, 8 entries", "all", &Made::merged, 11.9)},
        {9, "48 entries", at("DB+ICC, 160 entries", "all", &Made::merged, 18)},
        {10, "every mean", at("DB+ICC, 6 clusters", "all", &Made::ipc, 1.005)},
        {10, "at least as much", at("DB+ICC, 15 clusters", "all", &Made::ipc, 1.2)},
        {10, "mean gain", at("DB+ICC, 10 clusters", "all", &Made::ipc, 1.36)},
        {11, "adds at every", at("DB+ICC+CC, 6 clusters", "all", &Made::ipc, 1.08)},
        {11, "15 clusters", at("DB+ICC+CC, 15 clusters", "all", &Made::ipc, 1.05)},
    };
    for (const Break& b : breaks) {
        const Experiment e = judged(b.experiment, ChangedWorld(b.change));
        bool found = false;
        for (const Criterion& c : e.criteria) {
            if (c.text.find(b.words) == std::string::npos) continue;
            found = true;
            if (c.verdict == Verdict::fail) break;
            EXPECT_EQ(c.verdict, Verdict::fail) << b.words << "\n" << listing(e);
        }
        EXPECT_TRUE(found) << "no criterion has the words '" << b.words << "'\n" << listing(e);
    }
}

TEST(IccCriteria, LineAndDataSharingAreToldApart) {
    // LUD shares data, SRAD lines; the record of one under the name of the other fails both.
    std::map<std::string, RunRecord> records;
    Sources sources;
    sources.run = [&](const Configuration& c, const StudyWorkload& w) -> const RunRecord* {
        const std::string name = w.name == "LUD" ? "SRAD" : w.name == "SRAD" ? "LUD" : w.name;
        const auto at = records.try_emplace(w.name, record_of(PublishedWorld().of("D", name), c, name)).first;
        return &at->second;
    };
    int failed = 0;
    for (const Criterion& c : judge(icc().experiments.at(2), Measurements(icc(), sources), published()).criteria) {
        if (c.verdict == Verdict::fail) ++failed;
    }
    EXPECT_EQ(failed, 2);
}

}  // namespace
}  // namespace mergelane::study
