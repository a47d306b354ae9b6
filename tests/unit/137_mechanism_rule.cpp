// SPDX-License-Identifier: MIT
// A rule of mechanisms: what it reads, refuses and predicts; misses that SMs have in common.
#include <gtest/gtest.h>

#include <cmath>

#include "advise/mechanism_rule.hpp"
#include "core/error.hpp"
#include "profile/miss_sharing.hpp"

namespace mergelane::testing {
namespace {

constexpr const char* kRule = R"(
machine = "h2h64"
study = "headtohead"
method = "by hand"
planned = 4
programs = ["a", "b"]
near_percent = 3
least_time = 0.5
most_time = 1.5
[[accuracy]]
name = "this rule"
near = 1
lost = 2.5
[property.sharing]
meaning = "misses in common"
mean = 0.25
[[property.sharing.term]]
metric = "shared_misses.in_cluster_32"
kind = "percent"
[[property.sharing.term]]
metric = "caches.waves"
kind = "saturating"
half = 1
[[mechanism]]
name = "ICC+CC"
set = "cluster.icc.enabled=true"
time = 0.9
low = 0.9
high = 1.1
mean = 1.1
worst = 0.95
worst_program = "b"
weights = { sharing = -0.8 }
[[mechanism]]
name = "PC"
set = "noc.coalescing.enabled=true"
base = "the mesh"
named = false
time = 0.4
low = 1.0
high = 1.0
mean = 1.0
worst = 1.0
worst_program = "a"
)";

std::vector<ProfileMetric> metrics(double in_cluster, double waves) {
    return {{"shared_misses", "", "in_cluster_32", in_cluster, "%"}, {"caches", "", "waves", waves, ""}};
}

TEST(MechanismRule, PredictsAsItsNumbersSay) {
    const MechanismRule rule = parse_mechanism_rule(kRule, "rule");
    const MechanismAdvice advice = apply(rule, "w", metrics(100, 1));
    EXPECT_DOUBLE_EQ(advice.values.at(0), 0.5);
    EXPECT_DOUBLE_EQ(advice.gains.at(0).predicted, std::exp(0.8 * 0.25) / 0.9);
    EXPECT_NEAR(advice.gains.at(0).saved.at(0), 18.13, 0.01) << "1 - exp(-0.2)";
    EXPECT_DOUBLE_EQ(advice.gains.at(1).predicted, 2) << "not beyond what was measured";
    ASSERT_TRUE(advice.best.has_value());
    EXPECT_EQ(*advice.best, 0u) << "what needs another network is not recommended";
    EXPECT_EQ(advice.order, (std::vector<std::size_t>{1, 0}));
    EXPECT_NE(mechanism_text(rule, advice).find("Try ICC+CC: 1.36 times as fast"), std::string::npos) << mechanism_text(rule, advice);
}

TEST(MechanismRule, NamesNoneWhereNothingGains) {
    const MechanismRule rule = parse_mechanism_rule(kRule, "rule");
    const MechanismAdvice advice = apply(rule, "w", metrics(0, 1));
    EXPECT_DOUBLE_EQ(advice.gains.at(0).predicted, std::exp(-0.8 * 0.25) / 0.9);
    EXPECT_FALSE(advice.best.has_value());
    EXPECT_NE(mechanism_text(rule, advice).find("No mechanism is predicted to gain"), std::string::npos);
    EXPECT_NE(mechanism_json(rule, advice).find("\"recommended\": \"none\""), std::string::npos);
}

TEST(MechanismRule, RefusesWhatItCannotEvaluate) {
    const MechanismRule rule = parse_mechanism_rule(kRule, "rule");
    EXPECT_THROW(apply(rule, "w", {}), InputError);
    const auto broken = [](std::string from, const std::string& to) {
        std::string text = kRule;
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    for (const std::string& text :
         {broken("sharing = -0.8", "other = 1.0"), broken("\"percent\"", "\"share\""), broken("machine = \"h2h64\"", ""),
          broken("mean = 0.25", "mean = 2"), broken("programs = [\"a\", \"b\"]", "programs = 3")})
        EXPECT_THROW(parse_mechanism_rule(text, "rule"), InputError) << text;
}

TEST(MechanismRule, TheShippedRuleIsReadable) {
    const MechanismRule rule = read_mechanism_rule(default_mechanism_rule());
    EXPECT_EQ(rule.machine, "h2h64");
    EXPECT_GE(rule.mechanisms.size(), 5u);
    EXPECT_LE(rule.programs.size(), rule.planned);
}

TEST(MissSharing, CountsWhatAnotherSmMissedNotLongAgo) {
    MissSharing sharing(8, 4);
    sharing.starts();
    sharing.missed(0, 7);  // SM cluster 0
    sharing.missed(0, 7);  // its own: not shared
    EXPECT_EQ(sharing.in_cluster().back(), 0u);
    sharing.missed(1, 7);
    EXPECT_EQ(sharing.in_cluster().front(), 1u);
    EXPECT_EQ(sharing.in_gpu().front(), 1u);
    sharing.missed(4, 7);  // the other cluster
    EXPECT_EQ(sharing.in_cluster().front(), 1u);
    EXPECT_EQ(sharing.in_gpu().front(), 2u);
    for (Addr line = 100; line < 100 + 9 * 8; ++line) sharing.missed(2, line);
    sharing.missed(3, 7);  // 72 misses of a cluster of four: more than 8 per SM, at most 32
    EXPECT_EQ(sharing.in_cluster()[0], 1u);
    EXPECT_EQ(sharing.in_cluster()[1], 2u);
    sharing.starts();
    sharing.missed(0, 7);
    EXPECT_EQ(sharing.in_cluster()[1], 2u) << "launches share nothing";
    EXPECT_EQ(sharing.misses(), 4u + 72 + 2);
}

}  // namespace
}  // namespace mergelane::testing
