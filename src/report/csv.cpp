// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "core/text.hpp"
#include "report/chart.hpp"
#include "report/html_report.hpp"
#include "report/report.hpp"

namespace mergelane {

using namespace report;

std::string to_csv(const RunResult& result) {
    std::string text = "gpu,config_hash,version,workload,complete,kernel,stat,value,unit\n";
    const std::string identity = fmt::format("{},{},{},{},{}", csv_field(result.machine.name), result.config_hash, result.version,
                                             csv_field(result.workload), result.partial.empty());
    const auto rows = [&](std::string_view kernel, std::uint64_t cycles, const std::vector<StatValue>& stats,
                          const std::vector<EnergyReport>& energy) {
        const std::string prefix = fmt::format("{},{}", identity, csv_field(kernel));
        text += fmt::format("{},cycles,{},core cycles\n", prefix, cycles);
        for (const StatValue& stat : stats) text += fmt::format("{},{},{},{}\n", prefix, stat.name, stat.value, stat.unit);
        for (const EnergyReport& report : energy) {
            for (const auto& [component, fj] : report.components)
                text += fmt::format("{},energy.{}.{},{},fJ\n", prefix, report.table, component, fj);
            text += fmt::format("{},energy.{}.total,{},fJ\n", prefix, report.table, report.total_fj);
        }
    };
    for (const KernelResult& kernel : result.kernels) rows(kernel.name, kernel.cycles, result.stats_of(kernel), kernel.energy);
    rows("total", result.cycles, result.stats, result.energy);
    text += fmt::format("{0},total,kernel_cycles,{1},core cycles\n{0},total,launch_overhead_cycles,{2},core cycles\n", identity,
                        result.kernel_cycles(), result.launch_cycles());
    return text;
}

std::string intervals_to_csv(const RunResult& result) {
    std::string text = "start,cycles";
    for (const StatValue& stat : result.stats) text += "," + stat.name;
    text += '\n';
    for (std::size_t i = 0; i < result.intervals.size(); ++i) {
        text += fmt::format("{},{}", result.intervals.start(i), result.intervals.length(i));
        for (const std::uint64_t count : result.intervals.of(i)) text += fmt::format(",{}", count);
        text += '\n';
    }
    return text;
}

namespace {

/// A number with full precision, or a text verbatim.
std::string field(const Json& json, const char* key) {
    const auto value = number(json, key);
    return value ? fmt::format("{}", *value) : csv_field(text(json, key));
}

std::string criterion_row(const Json& criterion) {
    const Json& seeds = member(criterion, "seeds");
    return fmt::format("criterion,,{},,,{},{},{},{},{},{},{},{},{},{},{}\n", field(criterion, "text"), field(criterion, "kind"),
                       field(criterion, "measured"), field(criterion, "published"), field(criterion, "low"), field(criterion, "high"),
                       member(criterion, "strict") == Json(true) ? "1" : "", field(criterion, "unit"), field(criterion, "verdict"),
                       field(seeds, "least"), field(seeds, "most"), field(criterion, "level"));
}

}  // namespace

std::string csv_of(const nlohmann::ordered_json& results) {
    std::string out =
        "experiment,figure,row,chart,name,series,part,kind,measured,published,low,high,strict,unit,verdict,seeds_least,seeds_most,level\n";
    for (const Json& experiment : list(results, "experiments")) {
        const std::string whose = field(experiment, "id") + "," + field(experiment, "figure") + ",";
        for (const Json& criterion : list(experiment, "criteria")) out += whose + criterion_row(criterion);
        const Json& charts = list(experiment, "charts");
        for (std::size_t i = 0; i < charts.size(); ++i) {
            const Chart chart = read_chart(charts[i]);
            const auto row = [&](const Chart::Point& at, std::optional<double> value, std::optional<double> published) {
                const std::string x = chart.numeric_x ? fmt::format("{}", chart.x_values[at.x]) : csv_field(chart.xs[at.x]);
                out += fmt::format("{}data,{},{},{},{},,{},{},,,,{},,,,\n", whose, csv_field(chart_name(chart, i)), x,
                                   at.series == Chart::kNone ? "" : csv_field(chart.series[at.series]),
                                   at.part == Chart::kNone ? "" : csv_field(chart.parts[at.part]), value ? fmt::format("{}", *value) : "",
                                   published ? fmt::format("{}", *published) : "", csv_field(chart.y_title));
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
