// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "study/judge.hpp"
#include "study/published.hpp"

namespace mergelane::study {
namespace {

TEST(StudyJudge, BandsIncludeTheirEnds) {
    const auto verdict = [](double measured) { return within("M", "x", measured, "%", 10, 4, 25).verdict; };
    EXPECT_EQ(verdict(4), Verdict::pass);
    EXPECT_EQ(verdict(25), Verdict::pass);
    EXPECT_EQ(verdict(3.99), Verdict::fail);
    EXPECT_EQ(verdict(25.01), Verdict::fail);
    EXPECT_EQ(verdict(kMissing), Verdict::not_run);
    EXPECT_EQ(within("S", "x", -100, "", {}, {}, 0).verdict, Verdict::pass);
    EXPECT_EQ(within("S", "x", 100, "", {}, 0, {}).verdict, Verdict::pass);
    EXPECT_EQ(above("S", "x", 1, "", {}, 1).verdict, Verdict::fail);
    EXPECT_EQ(above("S", "x", 1.01, "", {}, 1).verdict, Verdict::pass);
    EXPECT_EQ(above("S", "x", kMissing, "", {}, 1).verdict, Verdict::not_run);
}

TEST(StudyJudge, RisingNumbers) {
    EXPECT_EQ(rising("S", "x", {1, 2, 3}, "").verdict, Verdict::pass);
    EXPECT_EQ(rising("S", "x", {1, 2, 2}, "").verdict, Verdict::fail) << "equal is not more";
    EXPECT_EQ(rising("S", "x", {1, 2, 1.5}, "", -1).verdict, Verdict::pass) << "within what is allowed";
    EXPECT_EQ(rising("S", "x", {1, 2, 0.9}, "", -1).verdict, Verdict::fail);
    EXPECT_EQ(rising("S", "x", {1, kMissing, 3}, "").verdict, Verdict::not_run);
    EXPECT_EQ(std::get<std::string>(rising("S", "x", {1, kMissing}, "").measured), "1.00, -");
}

TEST(StudyJudge, ExactMeansExact) {
    EXPECT_EQ(exact("x", 276, 276, "bytes").verdict, Verdict::pass);
    EXPECT_EQ(exact("x", 277, 276, "bytes").verdict, Verdict::fail);
    EXPECT_EQ(exact_text("x", "1,2", "1,2").verdict, Verdict::pass);
    EXPECT_EQ(exact_text("x", "1,2", "2,1").verdict, Verdict::fail);
    EXPECT_EQ(exact_text("x", "1,2", "2,1").expected, "2,1");
}

TEST(StudyJudge, SeriesKnowMeansAndPlaces) {
    const Series s{"s", {1, 4, 2, 4}};
    EXPECT_DOUBLE_EQ(s.mean(), 2.75);
    EXPECT_NEAR(s.geometric_mean(), 2.3784, 1e-4);
    EXPECT_EQ(s.highest(), 4);
    EXPECT_EQ(s.rank(0), 4);
    EXPECT_EQ(s.rank(2), 3);
    EXPECT_EQ(s.rank(1), 2) << "of equals each has the worse place";
    EXPECT_DOUBLE_EQ((s / Series{"t", {2, 2, 2, 2}}).at(1), 2);
    EXPECT_TRUE(is_missing((s / Series{"t", {0, 2, 2, 2}}).mean()));
    const Series hole{"h", {1, kMissing, 2}};
    EXPECT_TRUE(is_missing(hole.mean()) && is_missing(hole.rank(0)) && is_missing(hole.highest()));
    EXPECT_EQ(top_third(11), 4u);
    EXPECT_EQ(top_third(12), 4u);
    EXPECT_EQ(number_text(-0.0001, 2), "0.00");
}

TEST(StudyJudge, ExperimentsPassOnlyAsAWhole) {
    const auto verdict = [](std::initializer_list<Verdict> list) {
        Experiment e;
        for (const Verdict v : list) {
            e.criteria.emplace_back();
            e.criteria.back().verdict = v;
        }
        return e.verdict();
    };
    EXPECT_EQ(verdict({Verdict::pass, Verdict::pass}), Verdict::pass);
    EXPECT_EQ(verdict({Verdict::pass, Verdict::not_run}), Verdict::not_run);
    EXPECT_EQ(verdict({Verdict::not_run, Verdict::fail}), Verdict::fail);
    EXPECT_EQ(verdict({}), Verdict::reported);
    EXPECT_EQ(verdict({Verdict::not_judged, Verdict::not_judged}), Verdict::not_judged);
    EXPECT_EQ(verdict({Verdict::not_judged, Verdict::not_run}), Verdict::not_run);
}

TEST(StudyJudge, HeadlinesDecideAndDetailsAreCounted) {
    Experiment e;
    const auto add = [&](Level level, Verdict verdict) {
        e.criteria.emplace_back();
        e.criteria.back().level = level;
        e.criteria.back().verdict = verdict;
    };
    add(Level::detail, Verdict::fail);
    EXPECT_EQ(e.verdict(), Verdict::reported) << "without a headline there is nothing to pass";
    add(Level::headline, Verdict::pass);
    add(Level::detail, Verdict::pass);
    EXPECT_EQ(e.verdict(), Verdict::pass);
    EXPECT_EQ(e.met(Level::headline), 1u);
    EXPECT_EQ(e.of(Level::headline), 1u);
    EXPECT_EQ(e.met(Level::detail), 1u);
    EXPECT_EQ(e.of(Level::detail), 2u);
    add(Level::headline, Verdict::fail);
    EXPECT_EQ(e.verdict(), Verdict::fail);
    e.do_not_judge();
    EXPECT_EQ(e.verdict(), Verdict::not_judged);
    EXPECT_EQ(to_text(Verdict::reported), "reported");
    EXPECT_EQ(to_text(Level::detail), "detail");
}

TEST(StudyPublished, ReadsTheTable) {
    const Published all = Published::read(MERGELANE_SOURCE_DIR "/data/published.csv");
    EXPECT_GT(all.all().size(), 900u);
    EXPECT_EQ(all.value("icc-icl-w2000-avg"), 19.4);
    EXPECT_EQ(all.change("icc-ipc-dbicccc-avg"), 15);
    EXPECT_EQ(all.change("icc-en-dbicccc-avg"), -6);
    EXPECT_NE(all.at("icc-icl-avg-abstract").note.find("19.4, Sec"), std::string::npos) << "commas in quotes";
    EXPECT_THROW(all.value("icc-no-such"), InputError);
    EXPECT_THROW(Published::parse("head\na,b,c\n", "x.csv"), InputError);
    EXPECT_THROW(Published::parse("head\np,i,w,m,t,b,l,many,u,n\n", "x.csv"), InputError);
    EXPECT_EQ(Published::parse("head\np,i,w,m,t,b,l,1e1,u,\"say \"\"so\"\"\"\n", "x.csv").at("i").note, "say \"so\"");
}

}  // namespace
}  // namespace mergelane::study
