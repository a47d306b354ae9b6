// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "report/html_report.hpp"
#include "report/page.hpp"

namespace mergelane {

using namespace report;

namespace {

/// One line per pattern: `y` of its points over the offered load relative to the bound. Latency beyond saturation depends on the
/// measurement time, so it is omitted.
Chart curve_chart(const Json& bench, const char* title, const char* y_title, const char* y, bool share, bool only_drained) {
    Json chart = {{"kind", "lines"}, {"title", title}, {"x_title", "offered load, fraction of the bound"}, {"y_title", y_title}};
    chart["data"] = Json::array();
    for (const Json& curve : list(bench, "curves")) {
        const double bound = number(curve, "bound").value_or(1);
        for (const Json& point : list(curve, "points")) {
            if (only_drained && member(point, "drained") != Json(true)) continue;
            chart["data"].push_back({{"x", number(point, "offered").value_or(0) / bound},
                                     {"series", text(curve, "pattern")},
                                     {"y", number(point, y).value_or(0) / (share ? bound : 1)}});
        }
    }
    return read_chart(chart);
}

std::string curve_table(const Json& curve) {
    std::string head, rows;
    for (const char* const name : {"offered", "accepted", "of the bound", "lowest node", "latency", "alone"}) head += head_cell(name, true);
    for (const Json& point : list(curve, "points")) {
        const auto value = [&](const char* key) { return number(point, key).value_or(0); };
        rows += "<tr>" + cell(fmt::format("{:.4f}", value("offered")), true) + cell(fmt::format("{:.4f}", value("accepted")), true) +
                cell(fmt::format("{:.1f} %", 100 * value("accepted") / number(curve, "bound").value_or(1)), true) +
                cell(fmt::format("{:.4f}", value("lowest")), true) +
                cell(fmt::format("{:.1f}{}", value("latency"), member(point, "drained") == Json(true) ? "" : " (saturated)"), true) +
                cell(fmt::format("{:.1f}", value("zero_load")), true) + "</tr>\n";
    }
    return table_of(head, rows, kWide);
}

}  // namespace

std::string network_page(const nlohmann::ordered_json& bench) {
    Page page(fmt::format("Latency and throughput: {}", text(bench, "network")));
    page.fact("Packets", text(bench, "flits") + " flits");
    page.fact("Cycles measured", text(bench, "measured"));
    page.fact("Warm-up", text(bench, "warm_up") + " cycles");
    page.fact("Mergelane", text(bench, "version"));
    page.section("Curves");
    page.add(curve_chart(bench, "Latency", "network cycles, mean", "latency", false, true));
    page.add(curve_chart(bench, "Throughput", "accepted load, fraction of the bound", "accepted", true, false));
    for (const Json& curve : list(bench, "curves")) {
        page.section(text(curve, "pattern"));
        page.add(fmt::format("<p>No more than {} flits per node and cycle can pass.</p>\n", readable(number(curve, "bound").value_or(0))));
        page.add(curve_table(curve));
    }
    page.footer(
        "<p>Loads are in flits per node and cycle. Latencies are in network cycles from generation until the tail is accepted, including "
        "one "
        "cycle on each edge link.</p>\n");
    return page.write();
}

}  // namespace mergelane
