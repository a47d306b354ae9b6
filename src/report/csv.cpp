// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/html_report.hpp"

namespace mergelane {

using namespace report;

namespace {

std::string quoted(const std::string& field) {
    if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
    std::string text = "\"";
    for (const char c : field) text.append(c == '"' ? 2 : 1, c);
    return text + "\"";
}

/// A number in full, or a text as it is.
std::string field(const Json& json, const char* key) {
    const auto value = number(json, key);
    return value ? fmt::format("{}", *value) : quoted(text(json, key));
}

std::string criterion_row(const Json& criterion) {
    const Json& seeds = member(criterion, "seeds");
    return fmt::format("criterion,,{},,,{},{},{},{},{},{},{},{},{},{}\n", field(criterion, "text"), field(criterion, "kind"),
                       field(criterion, "measured"), field(criterion, "published"), field(criterion, "low"), field(criterion, "high"),
                       member(criterion, "strict") == Json(true) ? "1" : "", field(criterion, "unit"), field(criterion, "verdict"),
                       field(seeds, "least"), field(seeds, "most"));
}

}  // namespace

std::string csv_of(const nlohmann::json& results) {
    std::string out =
        "experiment,figure,row,chart,name,series,part,kind,measured,published,low,high,strict,unit,verdict,seeds_least,seeds_most\n";
    for (const Json& experiment : list(results, "experiments")) {
        const std::string whose = field(experiment, "id") + "," + field(experiment, "figure") + ",";
        for (const Json& criterion : list(experiment, "criteria")) out += whose + criterion_row(criterion);
        const Json& charts = list(experiment, "charts");
        for (std::size_t i = 0; i < charts.size(); ++i) {
            const Chart chart = read_chart(charts[i]);
            const auto row = [&](const Chart::Point& at, std::optional<double> value, std::optional<double> published) {
                const std::string x = chart.numeric_x ? fmt::format("{}", chart.x_values[at.x]) : quoted(chart.xs[at.x]);
                out += fmt::format("{}data,{},{},{},{},,{},{},,,,{},,,\n", whose, quoted(chart_name(chart, i)), x,
                                   at.series == Chart::kNone ? "" : quoted(chart.series[at.series]),
                                   at.part == Chart::kNone ? "" : quoted(chart.parts[at.part]), value ? fmt::format("{}", *value) : "",
                                   published ? fmt::format("{}", *published) : "", quoted(chart.y_title));
            };
            for (const Chart::Point& point : chart.points) row(point, point.y, chart.published_value(point.x, point.series, point.part));
            for (const Chart::Point& point : chart.published) {
                if (!chart.measured(point.x, point.series, point.part)) row(point, std::nullopt, point.y);
            }
        }
    }
    return out;
}

}  // namespace mergelane
