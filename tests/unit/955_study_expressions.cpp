// SPDX-License-Identifier: MIT
// The expressions of study files: their values, propagation of missing values, and bounded evaluation time.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "core/error.hpp"
#include "formula/expression.hpp"
#include "study/measurements.hpp"

namespace mergelane::study {
namespace {

using Numbers = std::vector<double>;
using Measures = std::map<std::string, std::string>;

/// `a` is one value for each of three workloads, `hole` one with a missing value, and measures as given.
class TestScope final : public Scope {
public:
    explicit TestScope(const Measures& measures = {}) {
        for (const auto& [head, text] : measures) {
            Measure m;
            m.name = head.substr(0, head.find('('));
            if (m.name != head) m.parameters = {"x"};
            m.formula = parse_expression(text, "test.toml:" + std::to_string(measures_.size() + 1));
            measures_.push_back(std::move(m));
        }
    }
    const Measure* measure(std::string_view name) const override {
        for (const Measure& m : measures_) {
            if (m.name == name) return &m;
        }
        return nullptr;
    }
    const std::vector<Value>* list(std::string_view name) const override {
        static const std::vector<Value> size = {1.0, 2.0, 4.0};
        static const std::vector<Value> word = {"one", "two", "four"};
        return name == "size" ? &size : name == "word" ? &word : nullptr;
    }
    const FunctionInfo* function(std::string_view name) const override {
        static constexpr FunctionInfo list[] = {{"a", 0, 0, "a", ""}, {"hole", 0, 0, "hole", ""}};
        return name == "a" ? &list[0] : name == "hole" ? &list[1] : nullptr;
    }
    Value call(const FunctionInfo& function, std::span<const Value>) const override {
        return function.name == "a" ? Numbers{1, 2, 4} : Numbers{1, kMissing, 4};
    }
    std::vector<std::string> names() const override { return {"size", "word", "a", "hole"}; }

private:
    std::vector<Measure> measures_;
};

double number(const std::string& text, const TestScope& scope = TestScope()) {
    return Evaluator(scope).number(parse_expression(text, "test.toml:7"));
}

std::string wording(const std::string& text) {
    const TestScope scope;
    return Evaluator(scope).text(parse_wording(text, "test.toml:7"));
}

std::string refusal(const std::string& text, const TestScope& scope = TestScope()) {
    try {
        Evaluator(scope).sweep(parse_sweep(text, "test.toml:7"));
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(StudyExpressions, Arithmetic) {
    EXPECT_EQ(number("1 + 2 * 3 - 4 / 2"), 5);
    EXPECT_EQ(number("10 - 4 - 3"), 3) << "from the left";
    EXPECT_EQ(number("-(1 + 1) * -2"), 4);
    EXPECT_EQ(number("1e3 + .5"), 1000.5);
    EXPECT_EQ(number("2 <= 2"), 1);
    EXPECT_EQ(number("1 + 1 != 2"), 0);
    EXPECT_EQ(number("'a' == 'a'"), 1);
    EXPECT_EQ(number("change(1.25)"), 25);
    EXPECT_EQ(number("abs(-3) + sum(1, 2) + max(a) + min(a, 0.5)"), 3 + 3 + 4 + 0.5);
}

TEST(StudyExpressions, ValuesOfWorkloads) {
    EXPECT_DOUBLE_EQ(number("mean(a / a * 2)"), 2);
    EXPECT_EQ(number("geomean(a)"), 2);
    EXPECT_EQ(number("mean(1, 2, 6)"), 3) << "a mean of some";
    EXPECT_EQ(number("count(a > 1)"), 2);
    EXPECT_EQ(number("sum(change(a))"), 0 + 100 + 300);
    EXPECT_EQ(number("mean(percent(a, 0))"), 0) << "nothing of nothing is none";
    EXPECT_EQ(number("sum(each_max(a, 5 - a))"), 4 + 3 + 4) << "the best of each workload";
    EXPECT_EQ(number("sum(each_min(a * size for size))"), 1 + 2 + 4);
    EXPECT_EQ(number("sum(each_max(a * size for size where size < 4))"), 2 + 4 + 8);
}

TEST(StudyExpressions, MissingStaysMissing) {
    for (const char* text : {"1 / 0", "mean(hole)", "max(hole)", "min(hole)", "count(hole > 0)", "mean(a / hole)", "sum(hole < 1)",
                             "change(1 / 0)", "sum(each_max(a, hole))", "1 / 0 == 1 / 0", "mean(a / (a - a))"})
        EXPECT_TRUE(is_missing(number(text))) << text;
    EXPECT_EQ(wording("{1 / 0:1} and {1 / 0} and {1 / 0:+}"), "- and - and -");
}

TEST(StudyExpressions, Loops) {
    EXPECT_EQ(number("sum(size for size)"), 7);
    EXPECT_EQ(number("sum(size for size where size > 1, 10)"), 16);
    EXPECT_EQ(number("count(1 for size for word)"), 9);
    EXPECT_EQ(number("sum(before(size) for size)"), 1 + 1 + 2) << "of the first, itself";
    EXPECT_EQ(number("count(size for size where 1 / 0)"), 0) << "what is missing does not hold";
    EXPECT_EQ(wording("{texts('{size} {word}' for size for word where size > 2)}"), "4 one, 4 two, 4 four");
    EXPECT_EQ(wording("{texts('{size}={matching(size, word)}' for size)}."), "1=one, 2=two, 4=four.");
    EXPECT_EQ(wording("{texts('{size}={matching(size, 'wo{'rd'}')}' for size)}."), "1=one, 2=two, 4=four.") << "a list by its name";
    EXPECT_EQ(wording("{texts()}"), "");
}

TEST(StudyExpressions, RankCorrelation) {
    EXPECT_EQ(number("rank_correlation(a, a * a)"), 1);
    EXPECT_EQ(number("rank_correlation(a, -a)"), -1);
    EXPECT_TRUE(is_missing(number("rank_correlation(a, a - a)"))) << "nothing rises";
    EXPECT_TRUE(is_missing(number("rank_correlation(a, hole)")));
}

TEST(StudyExpressions, BootstrapIntervals) {
    const double low = number("geomean_low(a)"), high = number("geomean_high(a)");
    EXPECT_GE(low, number("min(a)"));
    EXPECT_LE(low, number("geomean(a)"));
    EXPECT_LE(number("geomean(a)"), high);
    EXPECT_LE(high, number("max(a)"));
    EXPECT_EQ(number("geomean_low(a)"), low) << "the same samples every time";
    EXPECT_NEAR(number("geomean_low(5 * a)"), 5 * low, 1e-9 * low) << "it scales";
    EXPECT_NEAR(number("geomean_low(3)"), 3, 1e-12) << "one value has no spread";
    EXPECT_TRUE(is_missing(number("geomean_high(hole)")));
}

TEST(StudyExpressions, Medians) {
    EXPECT_EQ(number("median(3)"), 3);
    EXPECT_EQ(number("median(5, 1, 2)"), 2);
    EXPECT_EQ(number("median(5, 1, 2, 4)"), 3);
    EXPECT_TRUE(is_missing(number("median(hole)")));
}

TEST(StudyExpressions, MeansOfSomeWorkloads) {
    EXPECT_NEAR(number("geomean_where(a, a == a)"), number("geomean(a)"), 1e-12);
    EXPECT_NEAR(number("geomean_where(a, a == max(a))"), number("max(a)"), 1e-12);
    EXPECT_TRUE(is_missing(number("geomean_where(a, a < 0)"))) << "of none";
    EXPECT_TRUE(is_missing(number("geomean_where(a, hole)")));
}

TEST(StudyExpressions, SweepsAndWordings) {
    const TestScope scope;
    Evaluator evaluator(scope);
    const auto swept = evaluator.sweep(parse_sweep("a * size for size as '{size}x', 'part {size}'", "test.toml:7"));
    ASSERT_EQ(swept.size(), 3u);
    EXPECT_EQ(swept[1].label, "2x");
    EXPECT_EQ(swept[1].part, "part 2");
    EXPECT_EQ(std::get<Numbers>(swept[1].value), (Numbers{2, 4, 8}));
    EXPECT_EQ(evaluator.sweep(parse_sweep("a for word", "test.toml:7"))[2].label, "four") << "without 'as', the value";
    EXPECT_EQ(wording("x = {2 / 3:2}, {0.25}, {10:+}, {-0.001:1}"), "x = 0.67, 0.25, +10, 0.0");
    EXPECT_EQ(names_in(parse_wording("{word}, {size} of {word}", "test.toml:7")), (std::vector<std::string>{"word", "size"}));
}

TEST(StudyExpressions, Measures) {
    EXPECT_EQ(number("double(3) + half", TestScope({{"double(x)", "2 * x"}, {"half", "0.5"}})), 6.5);
    const std::string inner = refusal("outer", TestScope({{"outer", "inner + 1"}, {"inner", "1 + x"}}));
    EXPECT_EQ(inner.find("test.toml:1: \"1 + x\" has unknown name 'x'"), 0u) << inner;
    EXPECT_NE(inner.find("(used at test.toml:2)"), std::string::npos) << inner;
    EXPECT_NE(refusal("sum(half(size) for size)", TestScope(Measures{{"half(x)", "size / 2"}})).find("unknown name 'size'"),
              std::string::npos)
        << "a measure sees its parameters only";
}

TEST(StudyExpressions, MistakesAreExplained) {
    const std::pair<const char*, const char*> mistakes[] = {
        {"1 +", "ends where a number, a name"},
        {"1 2", "has '2' where the end is expected"},
        {"(1", "ends where ')' is expected"},
        {"mean(a", "ends where ',' or ')' is expected"},
        {"'open", "the closing quote"},
        {"'{a", "ends where '}' is expected"},
        {"'a}'", "'}' without '{'"},
        {"'{1:x}'", "a number of digits or '+'"},
        {"1 for", "ends where a name is expected"},
        {"1 for size where", "ends where a number"},
        {"1 as 2", "a text in single quotes"},
        {"for", "where a number, a name"},
        {"$", "has '$' where"},
        {"9e999", "a number is expected"},
        {"meen(a)", "unknown name 'meen'; did you mean 'mean'?"},
        {"max()", "passes max 0 arguments"},
        {"mean('a')", "passes mean(values) a text; it expects numbers"},
        {"each_max(1)", "passes each_max(values, values, ...) a number; it expects per-workload values"},
        {"max('x')", "passes max(a, b, ...) a text; it expects numbers"},
        {"1 + 'x'", "applies '+' to a number and a text"},
        {"-'x'", "a sign before a text"},
        {"'{a}'", "take mean(...)"},
        {"'{'x':1}'", "formats a text as a number"},
        {"1 for sizes", "there is no list 'sizes'"},
        {"1 for size where a > 1", "per-workload values after 'where'"},
        {"before(size)", "write before(LIST)"},
        {"matching(size, a) for size", "write matching(LIST, OTHER)"},
    };
    for (const auto& [text, message] : mistakes) {
        const std::string given = refusal(text);
        EXPECT_NE(given.find(message), std::string::npos) << text << "\n" << given;
        EXPECT_EQ(given.find("test.toml:7: "), 0u) << given;
    }
}

TEST(StudyExpressions, NothingTakesLong) {
    const auto refused = [](const std::string& text, const char* message, const TestScope& scope = TestScope()) {
        const std::string given = refusal(text, scope);
        EXPECT_NE(given.find(message), std::string::npos) << given;
        EXPECT_LT(given.size(), 500u);
    };
    refused(std::string(3000, '1'), "at most 2000");
    refused(std::string(500, '(') + "1" + std::string(500, ')'), "nested deeper than 24");
    refused(std::string(500, '-') + "1", "too many signs");
    std::string chain = "1";
    for (int i = 0; i < 100; ++i) chain += "+1";
    refused(chain, "operators in a row");
    std::string quotes;
    for (int i = 0; i < 100; ++i) quotes += "'{";
    refused(quotes, "nested deeper than 24");
    std::string loops = "1";
    for (int i = 0; i < 30; ++i) loops += " for size";
    refused("sum(" + loops + ")", "more than 4096 arguments");
    refused("sum(" + loops + " where 0)", "takes more than 200000 steps");
    Measures doubling{{"m0", "'x'"}}, recursion{{"m", "1 + m"}}, deep{{"m0", "1"}};
    for (int i = 1; i < 12; ++i) doubling["m" + std::to_string(i)] = "'{m" + std::to_string(i - 1) + "}{m" + std::to_string(i - 1) + "}'";
    for (int i = 1; i < 40; ++i) deep["m" + std::to_string(i)] = "m" + std::to_string(i - 1);
    refused("m11", "a text of more than 2000 characters", TestScope(doubling));
    refused("m", "defines measure 'm' in terms of itself", TestScope(recursion));
    refused("m39", "more than 12 deep", TestScope(deep));
}

TEST(StudyExpressions, EveryFunctionIsInTheTableOfTheManual) {
    std::ifstream in(MERGELANE_SOURCE_DIR "/docs/reproduction/README.md");
    const std::string manual{std::istreambuf_iterator<char>(in), {}};
    std::vector<FunctionInfo> all = builtin_functions();
    for (const FunctionInfo& function : StudyScope::functions()) all.push_back(function);
    EXPECT_GT(all.size(), 30u);
    std::set<std::string_view> names;
    for (const FunctionInfo& function : all) {
        EXPECT_TRUE(names.insert(function.name).second) << function.name << " is there twice";
        EXPECT_FALSE(function.meaning.empty()) << function.name;
        EXPECT_TRUE(function.usage.starts_with(function.name)) << function.usage;
        const std::string quoted = "`" + std::string(function.name);
        const bool listed = manual.find(quoted + "(") != std::string::npos || manual.find(quoted + "`") != std::string::npos;
        EXPECT_TRUE(listed) << function.name;
    }
}

TEST(StudyExpressions, AMistypedFunctionIsAnsweredWithTheNearest) {
    EXPECT_NE(refusal("geomeen(a)").find("unknown name 'geomeen'; did you mean 'geomean'?"), std::string::npos) << refusal("geomeen(a)");
}

}  // namespace
}  // namespace mergelane::study
