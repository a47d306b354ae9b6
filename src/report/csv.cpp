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

}  // namespace

std::string csv_of(const nlohmann::json& results) {
    std::string out = "experiment,chart,x,series,part,value,published\n";
    for (const Json& experiment : list(results, "experiments")) {
        const Json& charts = list(experiment, "charts");
        for (std::size_t i = 0; i < charts.size(); ++i) {
            const Chart chart = read_chart(charts[i]);
            const std::string prefix = quoted(text(experiment, "id")) + "," + quoted(chart_name(chart, i));
            const auto row = [&](const Chart::Point& at, std::optional<double> value, std::optional<double> published) {
                const std::string x = chart.numeric_x ? fmt::format("{}", chart.x_values[at.x]) : quoted(chart.xs[at.x]);
                out += fmt::format("{},{},{},{},{},{}\n", prefix, x, at.series == Chart::kNone ? "" : quoted(chart.series[at.series]),
                                   at.part == Chart::kNone ? "" : quoted(chart.parts[at.part]), value ? fmt::format("{}", *value) : "",
                                   published ? fmt::format("{}", *published) : "");
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
