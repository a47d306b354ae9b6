// SPDX-License-Identifier: MIT
// Differences of two results: what changed, the largest effect first; hostile files are refused or bounded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "report/run_diff.hpp"

using namespace mergelane;

namespace {

/// A result with two counters of one unit and one of another.
std::string run(int cycles, int reads, int hits, int waits, const std::string& more = "") {
    return fmt::format(
        R"({{"version":"1","model":1,"workload":"w","gpu":"g","digest":"{0}","complete":true,"cycles":{0},"machine":{{"sms":1}},)"
        R"("stats":{{"l1.reads":{1},"l1.hits":{2},"l1.waits":{3}}},"units":{{"l1.reads":"sectors","l1.hits":"sectors","l1.waits":"cycles"}},)"
        R"("highest":{{"x":1}},"config":{{"l1.ways":4,"same":true}}{4}}})",
        cycles, reads, hits, waits, more);
}

RunDiff diff(const std::string& a, const std::string& b) {
    return diff_runs(read_run(a, "a"), "a", read_run(b, "b"), "b");
}

const ChangedGroup* group(const RunDiff& d, const std::string& id) {
    for (const ChangedGroup& g : d.groups) {
        if (g.id == id) return &g;
    }
    return nullptr;
}

void expect_refused(const std::string& text, const std::string& why) {
    try {
        read_run(text, "bad.json");
        FAIL() << "accepted: " << text.substr(0, 60);
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        EXPECT_EQ(std::string(error.what()).rfind("bad.json", 0), 0u) << error.what();
    }
}

}  // namespace

TEST(RunDiff, OrdersByEffectWithTimeFirst) {
    const RunDiff d = diff(run(100, 1000, 10, 5), run(150, 999, 400, 5));
    ASSERT_EQ(d.groups.size(), 2u);
    EXPECT_EQ(d.groups[0].id, "time");
    EXPECT_EQ(d.groups[0].numbers[0].name, "cycles");
    EXPECT_DOUBLE_EQ(d.groups[0].numbers[0].effect, 0.5);
    const ChangedGroup& counters = d.groups[1];
    ASSERT_EQ(counters.numbers.size(), 2u);  // the waits are equal
    EXPECT_EQ(counters.numbers[0].name, "l1.hits");
    EXPECT_DOUBLE_EQ(counters.numbers[0].effect, 0.39);  // of the largest counter in sectors
    EXPECT_EQ(counters.small, 1u);
    EXPECT_EQ(to_text(d, false).find("l1.reads"), std::string::npos);
    EXPECT_NE(to_text(d, true).find("l1.reads"), std::string::npos);
}

TEST(RunDiff, EqualRunsHaveNoDifferences) {
    const RunDiff d = diff(run(100, 1000, 10, 5), run(100, 1000, 10, 5));
    EXPECT_TRUE(d.identical);
    EXPECT_TRUE(d.groups.empty());
    EXPECT_TRUE(d.notes.empty());
    EXPECT_NE(to_text(d, false).find("digests are equal"), std::string::npos);
}

TEST(RunDiff, ListsKeysOfEitherConfiguration) {
    const RunDiff d = diff_runs(report::Json::parse(R"({"config":{"a":1,"b":true,"only.a":"x"}})"), "a",
                                report::Json::parse(R"({"config":{"a":2,"b":true,"only.b":false}})"), "b");
    ASSERT_EQ(d.configuration.size(), 3u);
    EXPECT_EQ(d.configuration[0].key, "a");
    EXPECT_EQ(d.configuration[0].b, "2");
    EXPECT_EQ(d.configuration[1].b, "");
    EXPECT_EQ(d.configuration[2].a, "");
}

TEST(RunDiff, ComparesLoadLatencyPerLoadIfBothHaveIt) {
    const auto time = [](int loads, int l2) {
        return fmt::format(R"(,"load_time":{{"loads":{},"cycles":{},"stages":{{"l1":100,"l2":{}}},"stalled":{{}}}})", loads, 100 + l2, l2);
    };
    EXPECT_EQ(group(diff(run(1, 1, 1, 1, time(10, 100)), run(1, 1, 1, 1)), "load_time"), nullptr);
    const RunDiff d = diff(run(1, 1, 1, 1, time(10, 100)), run(1, 1, 1, 1, time(10, 300)));
    const ChangedGroup* stack = group(d, "load_time");
    ASSERT_NE(stack, nullptr);
    ASSERT_EQ(stack->numbers.size(), 2u);
    EXPECT_EQ(stack->numbers[1].name, "l2");
    EXPECT_DOUBLE_EQ(stack->numbers[1].a, 10);
    EXPECT_DOUBLE_EQ(stack->numbers[1].b, 30);
}

TEST(RunDiff, ChangesOfEstimatesHaveIntervals) {
    const auto sampled = [](int kernel_cycles, double width, double requested = 0.02) {
        return fmt::format(R"(,"kernels":[{{"name":"k","cycles":1}},{{"name":"k","cycles":{2}}}],"kernel_cycles":{0},"sample":{{)"
                           R"("requested_error":{3},"cycles":{{"half_width":{1}}},"kernel_cycles":{{"half_width":{1}}},)"
                           R"("stats":{{"l1.reads":{{"half_width":{1}}}}}}})",
                           kernel_cycles, width, kernel_cycles / 2, requested);
    };
    const RunDiff d = diff(run(1000, 100, 1, 1, sampled(900, 30)), run(500, 300, 1, 1, sampled(450, 20)));
    EXPECT_EQ(group(d, "kernels"), nullptr) << "only some launches are listed";
    const std::vector<ChangedNumber>& time = group(d, "time")->numbers;
    ASSERT_EQ(time.size(), 3u);
    EXPECT_EQ(time[0].name, "cycles");
    EXPECT_DOUBLE_EQ(time[0].change_width(), std::hypot(30, 20));
    EXPECT_DOUBLE_EQ(time[0].ratio_width(), 0.5 * std::hypot(30 / 1000.0, 20 / 500.0));
    EXPECT_EQ(time[1].name, "kernel time");
    EXPECT_EQ(time[1].a, 900) << "the estimate, not the sum over the launches simulated";
    EXPECT_FALSE(time[2].has_interval()) << "launch overhead";
    EXPECT_DOUBLE_EQ(group(d, "counters")->numbers[0].ratio_width(), 3 * std::hypot(30 / 100.0, 20 / 300.0));
    EXPECT_NE(to_text(d, true).find("-50.0 +- 2.5 %"), std::string::npos) << to_text(d, true);
    EXPECT_NE(to_text(d, true).find("note: A is sampled"), std::string::npos);
    EXPECT_NE(to_json(d, true).find("ratio_half_width"), std::string::npos);
    // One full run, and a method that states no error.
    const std::string kernels = R"(,"kernels":[{"name":"k","cycles":900}])";
    const RunDiff half = diff(run(1000, 100, 1, 1, kernels), run(500, 300, 1, 1, sampled(450, 20)));
    EXPECT_DOUBLE_EQ(half.groups[0].numbers[0].change_width(), 20);
    const RunDiff none = diff(run(1000, 100, 1, 1, kernels), run(500, 300, 1, 1, sampled(450, 20, 0)));
    EXPECT_FALSE(none.groups[0].numbers[0].has_interval());
}

TEST(RunDiff, SaysWhatMakesRunsIncomparable) {
    std::string other = run(100, 1, 1, 1);
    other.replace(other.find("\"model\":1"), 9, "\"model\":2");
    other.replace(other.find("\"workload\":\"w\""), 14, "\"workload\":\"v\"");
    other.replace(other.find("\"complete\":true"), 15, "\"complete\":false,\"stopped_because\":\"interrupted\"");
    EXPECT_EQ(diff(run(100, 1, 1, 1), other).notes.size(), 3u);
}

TEST(RunDiff, RefusesWhatIsNoResult) {
    expect_refused("", "not valid JSON");
    expect_refused("{\n\"cycles\": oops}", "bad.json:2: is not valid JSON");
    expect_refused("[]", "no 'cycles'");
    expect_refused(R"({"cycles": "many", "stats": {}})", "no 'cycles'");
    expect_refused(R"({"cycles": 1, "stats": []})", "no 'stats'");
    expect_refused(R"({"cycles": 1e999, "stats": {}})", "number out of range");
    expect_refused(R"({"cycles": 1, "stats": )" + std::string(1 << 20, '['), "nested more than 16 deep");
    expect_refused(R"({"cycles": 1, "other": )" + std::string(1 << 20, '['), "nested more than 16 deep");
    std::string many = R"({"cycles": 1, "kernels": [0)";
    for (int i = 0; i < 1'100'000; ++i) many += ",0";
    expect_refused(many + "]}", "more than 1000000 values");
}

TEST(RunDiff, SurvivesMembersOfOtherTypes) {
    const std::string odd =
        R"({"cycles":1,"stats":{"a":"text","b":[1],"c":1e300,"d":-5},"units":7,"config":[1],"kernels":{"x":{"y":{"z":1}}},)"
        R"("machine":"m","energy":[{"joules":1}],"load_time":3,"sample":{"requested_error":1,"cycles":7,"stats":{"c":{"half_width":"x"}}},"workload":"\u001b[31mred","digest":null})";
    for (const auto& [a, b] : {std::pair(odd, run(2, 1, 1, 1)), {run(2, 1, 1, 1), odd}, {odd, odd}}) {
        const RunDiff d = diff(a, b);
        EXPECT_EQ(to_text(d, true).find('\x1b'), std::string::npos);
        EXPECT_TRUE(report::Json::accept(to_json(d, true)));
    }
}
