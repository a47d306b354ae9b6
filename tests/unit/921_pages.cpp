// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "report/html_report.hpp"
#include "report/report.hpp"

namespace {

using Json = nlohmann::ordered_json;

Json run_fixture() {
    std::ifstream file(std::string(MERGELANE_SOURCE_DIR) + "/tests/data/report/run.json");
    return Json::parse(file);
}

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
    return found;
}

/// What a reader sees: the page without styles and scripts, which come first and last.
std::string words_of(const std::string& page) {
    const std::size_t body = page.find("<body>");
    return page.substr(body, page.rfind("</footer>") - body);
}

std::string lead_of(const std::string& page) {
    const std::size_t from = page.find("<div class=\"bottleneck\">");
    return page.substr(from, page.find("</div>", from) - from);
}

/// Every value at every depth is replaced by every odd one; `page` must still return a page.
template <class Write>
void survive(const Json& good, Write&& page) {
    const std::vector<Json> odd = {nullptr,
                                   true,
                                   -1,
                                   1e308,
                                   std::numeric_limits<double>::quiet_NaN(),
                                   "",
                                   "\xff broken </script>",
                                   Json::array(),
                                   Json::object(),
                                   Json::array({nullptr, Json::object(), 5}),
                                   Json{{"x", 1}, {"cycles", "?"}}};
    std::vector<Json::json_pointer> places = {Json::json_pointer("")};
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Json& at = good[places[i]];
        if (at.is_object()) {
            for (const auto& entry : at.items()) places.push_back(places[i] / entry.key());
        } else if (at.is_array()) {
            for (std::size_t k = 0; k < at.size(); ++k) places.push_back(places[i] / k);
        }
    }
    for (const Json::json_pointer& place : places) {
        for (const Json& value : odd) {
            Json changed = good;
            changed[place] = value;
            const std::string text = page(changed);
            ASSERT_TRUE(text.ends_with("</html>\n")) << place.to_string();
            ASSERT_EQ(count_of(words_of(text), "<script"), 0u) << place.to_string();
        }
    }
}

const char* const kSmallRun =
    R"({"gpu":"g","workload":"w","cycles":100,"machine":{"sms":4,"sms_per_cluster":2,"schedulers_per_sm":2,"core_mhz":1000},
    "kernels":[{"name":"k","launches":3,"ctas":4,"cycles":90,"stats":{"sm.warp_instructions":500,"dram.sector_reads":7},
                "load_time":{"loads":2,"cycles":20,"stages":{"b":15,"a":5},"stalled":{"b":1}}}],
    "stats":{"sm.warp_instructions":500,"sm.stall_memory":200,"dram.sector_reads":7},"load_time":{"loads":2,"cycles":20,"stages":{"b":15,"a":5},"stalled":{"b":1}},
    "bandwidth":[{"level":"DRAM","bytes":224,"peak_gb_per_s":100}],"per_unit":{"sm.warp_instructions":[1,2,3,494],"dram.requests":[1,2]},
    "intervals":{"start":[0,50],"cycles":[50,50],"stats":{"sm.warp_instructions":[400,100]}},
    "by_instruction":[{"kernel":"k","launches":1,"instructions":[{"pc":8,"file":"a/b.cu","line":3,"ptx_line":8,"opcode":"ld","executions":5,"loads":5,
    "latency":99,"stalled":2}]}],"energy":{"t":{"total_fj":5,"components_fj":{"sm":5}}}})";

TEST(RunPage, NamesTheBottleneckFirst) {
    Json run = run_fixture();
    const std::string page = mergelane::run_page(run);
    const std::string lead = lead_of(page);
    EXPECT_NE(lead.find("<strong>Load/store unit busy</strong>"), std::string::npos) << lead;
    EXPECT_NE(lead.find("56.3 % of the issue slots are lost"), std::string::npos) << lead;
    EXPECT_NE(lead.find("in <b>request network</b>"), std::string::npos) << lead;
    EXPECT_LT(page.find("class=\"bottleneck\""), page.find("<nav"));
    // Most slots issue: that is what limits the run.
    run["stats"]["sm.warp_instructions"] = 1'900'000'0;
    EXPECT_NE(lead_of(mergelane::run_page(run)).find("<strong>Instruction issue</strong>"), std::string::npos);
    // A command that looked further has the first word.
    const std::string explained = mergelane::run_page(run, {{"Row <misses>", "Few.", {{"rate", "9 %"}}, 1.5}, {"Second", "Less.", {}, {}}});
    EXPECT_NE(lead_of(explained).find("<strong>Row &lt;misses&gt;</strong>"), std::string::npos);
    EXPECT_NE(lead_of(explained).find("1.50 times as fast"), std::string::npos);
    EXPECT_NE(explained.find("<h3>Second</h3>"), std::string::npos);
}

TEST(RunPage, ShowsWhatTheResultHas) {
    const Json run = run_fixture();
    const std::string page = words_of(mergelane::run_page(run));
    for (const char* anchor :
         {"issue-slots", "latency-of-loads", "bandwidth-and-roofline", "kernels", "over-time", "sms-slices-and-channels", "source"}) {
        EXPECT_EQ(count_of(page, std::string("<section id=\"") + anchor + "\">"), 1u) << anchor;
        EXPECT_EQ(count_of(page, std::string("<a href=\"#") + anchor + "\">"), 1u) << anchor;
    }
    EXPECT_EQ(count_of(page, "alert("), count_of(page, "script&gt;alert("));  // names of kernels, of the workload, of instructions
    EXPECT_NE(page.find("matmul.cu:12"), std::string::npos);
    EXPECT_EQ(page.find("/home/somebody"), std::string::npos);
    EXPECT_NE(page.find("<th scope=\"row\">matmul(float const*, float const*, float*, int)</th><td class=\"n\">1</td>"), std::string::npos);
    // Stages keep the order of the memory path.
    EXPECT_LT(page.find("title=\"issue queue: "), page.find("title=\"MSHR wait: "));
    EXPECT_LT(page.find("title=\"MSHR wait: "), page.find("title=\"L1 fill: "));
    Json less = run;
    for (const char* key : {"load_time", "intervals", "by_instruction", "per_unit"}) less.erase(key);
    const std::string shorter = words_of(mergelane::run_page(less));
    for (const char* anchor : {"latency-of-loads", "over-time", "sms-slices-and-channels", "source"})
        EXPECT_EQ(count_of(shorter, std::string("id=\"") + anchor + "\""), 0u) << anchor;
}

TEST(RunPage, SurvivesAnyValueAnywhere) {
    survive(Json::parse(kSmallRun), [](const Json& run) { return mergelane::run_page(run); });
}

TEST(OtherPages, SurviveAnyValueAnywhere) {
    survive(
        Json::parse(
            R"({"workload":"w","ctas":3,"window_study_sms":15,"total":{"instructions":{"warp_instructions":5,"active_lanes":32},"mix":{"int add":100},
        "global_memory":{"accesses":4,"lines_per_access":2.5,"sector_bytes_used":50},"accesses_by_lines":{"1":100},"mapping":{"a":100},
        "inter_warp_window":{"left_with_window_0":100,"left_with_window_8":50}},"kernels":[{"name":"k","instructions":{"warp_instructions":5}}],"units":{"mix":{"int add":"%"}}})"),
        [](const Json& profile) { return mergelane::profile_page(profile); });
    survive(Json::parse(
                R"({"machines":[{"name":"A","gpu":"x","overrides":["o"],"core_mhz":5},{"name":"B","gpu":"y"}],"size":"tiny","notes":["n"],
        "failures":["f"],"quantities":[{"name":"time","unit":"us","compared":true,"values":[{"workload":"w","values":[1,2],"ratios":[1,2]}],
        "mean_ratios":[1,2],"geometric_mean_ratios":[1,2]}]})"),
            [](const Json& comparison) { return mergelane::compare_page(comparison); });
    survive(
        Json::parse(
            R"({"network":"mesh","flits":4,"curves":[{"pattern":"p","bound":0.5,"points":[{"offered":0.1,"accepted":0.1,"latency":5,"drained":true}]}]})"),
        [](const Json& bench) { return mergelane::network_page(bench); });
}

TEST(RunPage, HasEveryKernelOfAProgramThatLaunchesManyOfThem) {
    mergelane::RunResult result;
    result.machine.sms = 4;
    result.machine.schedulers_per_sm = 1;
    result.machine.core_mhz = 1000;
    for (const char* name :
         {"sm.warp_instructions", "noc.request.flits", "noc.reply.flits", "l2.sector_accesses", "dram.sector_reads", "dram.sector_writes"})
        result.stats.push_back({name, "", "", 1000, 1000});
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        mergelane::KernelResult kernel;
        kernel.name = "kernel_" + std::to_string(i % 1000) + "#" + std::to_string(i);
        kernel.cycles = 1 + i % 1000;
        kernel.values.assign(result.stats.size(), 1);
        result.kernels.push_back(kernel);
    }
    result.cycles = 20'000'000;
    const std::string page = words_of(mergelane::to_html(result));
    EXPECT_NE(page.find("<dt>Launches</dt><dd>20,000</dd>"), std::string::npos);
    EXPECT_NE(page.find("<th scope=\"row\">kernel_999</th><td class=\"n\">20</td>"), std::string::npos);
    EXPECT_NE(page.find("<th scope=\"row\">750 other kernels</th><td class=\"n\">15,000</td>"), std::string::npos);
    EXPECT_LT(page.size(), 700'000u);
}

TEST(SvgChart, AxesShowSmallDifferences) {
    Json bars = Json::parse(R"({"kind":"bars","data":[{"x":"a","y":100},{"x":"b","y":103}]})");
    EXPECT_NE(mergelane::svg_chart(bars).find("Bars start at 99, not at zero."), std::string::npos);
    bars["baseline"] = 101;
    EXPECT_NE(mergelane::svg_chart(bars).find("Bars start at 101, not at zero."), std::string::npos);
    bars["kind"] = "lines";
    EXPECT_NE(mergelane::svg_chart(bars).find("The y axis does not start at zero."), std::string::npos);
    bars["kind"] = "stacked";
    EXPECT_EQ(mergelane::svg_chart(bars).find("not start"), std::string::npos);
    // Large differences, and none at all, are seen from zero.
    for (const double other : {20.0, 100.0, -5.0}) {
        const Json spread = {{"kind", "bars"}, {"data", {{{"x", "a"}, {"y", 100}}, {{"x", "b"}, {"y", other}}}}};
        EXPECT_EQ(mergelane::svg_chart(spread).find("zero"), std::string::npos) << other;
    }
}

}  // namespace
