// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/html_report.hpp"

namespace {

using Json = nlohmann::json;

Json fixture(const std::string& name) {
    std::ifstream file(std::string(MERGELANE_SOURCE_DIR) + "/tests/data/report/" + name);
    return Json::parse(file);
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
    return found;
}

/// The JSON inside of <script id="...">.
Json embedded(const std::string& page, const std::string& id) {
    const std::string start = "<script type=\"application/json\" id=\"" + id + "\">";
    const std::size_t from = page.find(start) + start.size();
    return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

/// Tags are balanced and nothing but tags has angle brackets: what an XML reader would check first.
::testing::AssertionResult well_formed(const std::string& svg) {
    std::vector<std::string> open;
    for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
        const std::size_t end = svg.find('>', at);
        if (end == std::string::npos) return ::testing::AssertionFailure() << "open tag at the end";
        const std::string tag = svg.substr(at + 1, end - at - 1);
        if (tag.find('<') != std::string::npos) return ::testing::AssertionFailure() << "bracket within " << tag;
        if (count(tag, "\"") % 2 != 0) return ::testing::AssertionFailure() << "quotes of " << tag;
        if (tag.back() == '/') continue;
        const std::string name = tag.substr(0, tag.find_first_of(" \n"));
        if (name[0] != '/')
            open.push_back(name);
        else if (open.empty() || "/" + open.back() != name)
            return ::testing::AssertionFailure() << "<" << name << "> closes nothing";
        else
            open.pop_back();
    }
    if (!open.empty()) return ::testing::AssertionFailure() << open.back() << " is not closed";
    if (count(svg, "nan") + count(svg, "inf") != 0) return ::testing::AssertionFailure() << "a coordinate is no number";
    return ::testing::AssertionSuccess();
}

TEST(HtmlReport, HasEverythingOfTheResults) {
    const Json results = fixture("icc.json");
    const std::string page = mergelane::html_report(results);
    EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
    EXPECT_NE(page.find("7 of 9 experiments pass, 1 fails, 1 without a verdict."), std::string::npos);
    for (const Json& experiment : results["experiments"]) {
        EXPECT_NE(page.find(experiment["title"].get<std::string>()), std::string::npos) << experiment["title"];
    }
    EXPECT_NE(page.find("<a href=\"#icc-5\">ICC-5</a>"), std::string::npos);
    EXPECT_NE(page.find("<section id=\"icc-5\">"), std::string::npos);
    EXPECT_NE(page.find("0123456789abcdef"), std::string::npos);
    EXPECT_NE(page.find("4 to 25\xC2\xA0%"), std::string::npos);
    EXPECT_NE(page.find("\xE2\x89\xA5 70\xC2\xA0%"), std::string::npos);
    EXPECT_NE(page.find("\xE2\x9C\x97 fail"), std::string::npos);
    EXPECT_NE(page.find("<th class=\"n\">NoC utilisation</th>"), std::string::npos);
    EXPECT_NE(page.find("<summary>18 runs</summary>"), std::string::npos);
    EXPECT_EQ(embedded(page, "results"), results);
    EXPECT_EQ(count(page, "data-chart=\""), 7u);
    EXPECT_EQ(count(page, "class=\"mergelane-chart drawn\""), 7u);
}

TEST(HtmlReport, NeedsNoOtherFile) {
    const std::string page = mergelane::html_report(fixture("icc.json"));
    for (const char* loading : {" src=", "<link", "<iframe", "<img", "@import", "sourceMappingURL"}) {
        // The bundles may speak of these things, the page itself may not.
        const std::string own = page.substr(0, page.find("<script>"));
        EXPECT_EQ(count(own, loading), 0u) << loading;
    }
    EXPECT_EQ(count(page, "//# sourceMappingURL"), 0u);
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
    EXPECT_GT(page.size(), 800'000u);
    EXPECT_NE(page.find("vegaEmbed"), std::string::npos);
    EXPECT_NE(page.find("University of Washington Interactive Data Lab"), std::string::npos);
}

TEST(HtmlReport, ChartsSayWhatTheyShow) {
    const Json charts = embedded(mergelane::html_report(fixture("icc.json")), "charts");
    ASSERT_EQ(charts.size(), 7u);
    const Json& bars = charts[2];
    std::size_t published = 0, measured = 0;
    for (const Json& row : bars["data"]["values"]) (row["kind"] == "published" ? published : measured) += 1;
    EXPECT_EQ(published, 3u);
    EXPECT_EQ(measured, 60u);  // 11 workloads and the mean, 5 techniques
    const std::string text = bars.dump();
    EXPECT_NE(text.find("IPC / IPC of D"), std::string::npos);
    EXPECT_NE(text.find("\"datum\":1.0"), std::string::npos);
    EXPECT_TRUE(charts[1].contains("facet"));
    EXPECT_EQ(charts[1]["facet"]["column"]["sort"][0], "HS");
    EXPECT_EQ(charts[0]["layer"][1]["encoding"]["x"]["type"], "quantitative");
}

TEST(HtmlReport, TextStaysText) {
    const std::string page = mergelane::html_report(fixture("odd.json"));
    EXPECT_EQ(count(page, "<script>alert"), 0u);
    // Three of data, three bundles, one of our own.
    EXPECT_EQ(count(page, "<script"), 7u);
    EXPECT_EQ(count(page, "</script>"), 7u);
    EXPECT_NE(page.find("&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)"), std::string::npos);
    // The same name twice: two anchors.
    EXPECT_NE(page.find("<section id=\"icc-1\">"), std::string::npos);
    EXPECT_NE(page.find("<section id=\"icc-1-2\">"), std::string::npos);
    // No verdict of its own: that of its criteria.
    EXPECT_NE(page.find("1 of 6 experiments pass, 1 fails"), std::string::npos);
}

TEST(HtmlReport, SurvivesAnyValueAnywhere) {
    Json deep = 1;
    for (int i = 0; i < 1000; ++i) deep = Json::array({std::move(deep)});
    const std::vector<Json> odd = {nullptr,
                                   true,
                                   -1,
                                   1e308,
                                   std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<std::uint64_t>::max(),
                                   "",
                                   "\xff\xfe broken \xc3",
                                   std::string("\0\x01", 2),
                                   Json::array(),
                                   Json::object(),
                                   Json::array({nullptr, Json::array(), 5}),
                                   Json{{"x", 1}, {"y", 2}},
                                   deep,
                                   Json::binary({1, 2, 3})};
    // A small report of which every value, at every depth, is replaced by every third odd one: all pairs would take two minutes with
    // sanitizers.
    const Json small =
        Json::parse(R"({"schema":1,"paper":"p","title":"t","version":"v","size":"s","machine":{"name":"m","hash":"h","facts":[["a","b"]]},
        "experiments":[{"id":"I","figure":"F","title":"T","verdict":"pass","criteria":[{"text":"c","kind":"S","measured":1,"published":2,"low":0,"high":3,"unit":"%","verdict":"pass"}],
        "charts":[{"kind":"bars","title":"t","x_title":"x","y_title":"y","baseline":1,"bars_from":"baseline","data":[{"x":"a","series":"s","y":1}],"published":[{"x":"a","series":"s","y":1}]},
                  {"kind":"stacked","data":[{"x":"a","series":"s","part":"p","y":1}],"published":[{"x":"a","series":"s","y":1}]},
                  {"kind":"lines","baseline":1,"data":[{"x":1,"series":"s","y":1},{"x":2,"series":"mean","y":1}],"published":[{"x":1,"y":1}]}],
        "tables":[{"title":"t","columns":["c"],"rows":[["1"]]}],"notes":["n"]}],
        "workloads":[{"name":"w","properties":[["p","1"]]}],"runs":[{"key":"k","gpu":"g","overrides":["o"],"workload":"w","digest":"d","cycles":1}]})");
    std::vector<Json::json_pointer> places = {Json::json_pointer("")};
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Json& at = small[places[i]];
        if (at.is_object()) {
            for (const auto& entry : at.items()) places.push_back(places[i] / entry.key());
        } else if (at.is_array()) {
            for (std::size_t k = 0; k < at.size(); ++k) places.push_back(places[i] / k);
        }
    }
    EXPECT_GT(places.size(), 90u);
    for (std::size_t p = 0; p < places.size(); ++p) {
        const Json::json_pointer& place = places[p];
        for (std::size_t v = p % 3; v < odd.size(); v += 3) {
            Json results = small;
            results[place] = odd[v];
            const std::string page = mergelane::html_report(results);
            EXPECT_TRUE(page.ends_with("</html>\n")) << place.to_string();
            if (count(page, "data-chart=") != 0) {
                EXPECT_NO_THROW(embedded(page, "charts")) << place.to_string();
            }
            mergelane::csv_of(results);
            if (results.is_object() && results["experiments"].is_array() && !results["experiments"].empty() &&
                results["experiments"][0].is_object() && results["experiments"][0]["charts"].is_array()) {
                for (const Json& chart : results["experiments"][0]["charts"])
                    EXPECT_TRUE(well_formed(mergelane::svg_chart(chart))) << place.to_string();
            }
        }
    }
}

TEST(SvgChart, DrawsEveryValue) {
    const Json bars = Json::parse(R"({"kind":"bars","title":"A < B","x_title":"workload","y_title":"IPC","baseline":1,
        "data":[{"x":"HS","series":"D","y":1},{"x":"HS","series":"DB","y":1.5},{"x":"mean","series":"D","y":2},{"x":"mean","series":"DB","y":0.5}],
        "published":[{"x":"mean","series":"DB","y":0.7}]})");
    const std::string svg = mergelane::svg_chart(bars);
    EXPECT_TRUE(well_formed(svg));
    for (const char* word : {"A &lt; B", ">workload<", ">IPC<", ">HS<", ">mean<", ">DB<", ">published<", "stroke-dasharray"}) {
        EXPECT_NE(svg.find(word), std::string::npos) << word;
    }
    // Two bars and one entry of the legend in each colour.
    EXPECT_EQ(count(svg, "fill=\"#0072B2\""), 3u);
    EXPECT_EQ(count(svg, "fill=\"#E69F00\""), 3u);
    EXPECT_EQ(count(svg, "l5 5.5l-5 5.5"), 2u);  // diamonds: one in the legend
}

TEST(SvgChart, BarsAreAsHighAsTheirValues) {
    const auto height = [](const std::string& svg, const char* colour) {
        const std::size_t fill = svg.rfind(std::string("fill=\"") + colour);
        const std::size_t at = svg.rfind("height=\"", fill) + 8;
        return std::stod(svg.substr(at));
    };
    Json bars = Json::parse(R"({"kind":"bars","baseline":1,"data":[{"x":"a","series":"s","y":3},{"x":"a","series":"t","y":1.5}]})");
    std::string svg = mergelane::svg_chart(bars);
    EXPECT_NEAR(height(svg, "#0072B2") / height(svg, "#E69F00"), 2, 0.01);
    bars["bars_from"] = "baseline";
    svg = mergelane::svg_chart(bars);
    EXPECT_NEAR(height(svg, "#0072B2") / height(svg, "#E69F00"), 4, 0.02);
    const Json stacked =
        Json::parse(R"({"kind":"stacked","data":[{"x":"a","series":"s","part":"p","y":3},{"x":"a","series":"s","part":"q","y":1}]})");
    svg = mergelane::svg_chart(stacked);
    EXPECT_NEAR(height(svg, "#0072B2") / height(svg, "#E69F00"), 3, 0.02);
}

TEST(SvgChart, OfEveryFixture) {
    for (const char* name : {"icc.json", "odd.json"}) {
        const Json results = fixture(name);
        for (const Json& experiment : results["experiments"]) {
            if (!experiment.is_object() || !experiment.contains("charts")) continue;
            for (const Json& chart : experiment["charts"]) EXPECT_TRUE(well_formed(mergelane::svg_chart(chart)));
        }
    }
}

TEST(ReportCsv, IsLongForm) {
    const Json results = Json::parse(R"({"experiments":[{"id":"ICC-5","figure":"Fig 10","criteria":[
        {"text":"more, always","kind":"S","measured":1.5,"published":null,"low":0,"strict":true,"unit":"%","verdict":"pass","seeds":{"least":1,"most":2}},
        {"text":"placed","kind":"exact","measured":"1,2","verdict":"fail"}],"charts":[
        {"kind":"bars","title":"IPC, normalised","y_title":"IPC","data":[{"x":"HS","series":"D","y":1},{"x":"HS","series":"DB","y":1.07},{"x":"mean","series":"DB","y":1.0625}],
         "published":[{"x":"mean","series":"DB","y":1.04},{"x":"mean","y":1.1}]},
        {"kind":"stacked","data":[{"x":"HS","series":"D","part":"a \"b\"","y":2}],"published":[{"x":"HS","series":"D","y":3}]},
        {"kind":"lines","data":[{"x":2,"series":"s","y":1},{"x":0.25,"series":"s","y":0.123456789}]}]}]})");
    EXPECT_EQ(
        mergelane::csv_of(results),
        "experiment,figure,row,chart,name,series,part,kind,measured,published,low,high,strict,unit,verdict,seeds_least,seeds_most,level\n"
        "ICC-5,Fig 10,criterion,,\"more, always\",,,S,1.5,,0,,1,%,pass,1,2,\n"
        "ICC-5,Fig 10,criterion,,placed,,,exact,\"1,2\",,,,,,fail,,,\n"
        "ICC-5,Fig 10,data,\"IPC, normalised\",HS,D,,,1,,,,,IPC,,,,\n"
        "ICC-5,Fig 10,data,\"IPC, normalised\",HS,DB,,,1.07,,,,,IPC,,,,\n"
        "ICC-5,Fig 10,data,\"IPC, normalised\",mean,DB,,,1.0625,1.04,,,,IPC,,,,\n"
        "ICC-5,Fig 10,data,\"IPC, normalised\",mean,,,,,1.1,,,,IPC,,,,\n"
        "ICC-5,Fig 10,data,chart 2,HS,D,\"a \"\"b\"\"\",,2,,,,,,,,,\n"
        "ICC-5,Fig 10,data,chart 2,HS,D,,,,3,,,,,,,,\n"
        "ICC-5,Fig 10,data,chart 3,2,s,,,1,,,,,,,,,\n"
        "ICC-5,Fig 10,data,chart 3,0.25,s,,,0.123456789,,,,,,,,,\n");
}

}  // namespace
