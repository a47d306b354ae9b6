// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "report/embedded.hpp"
#include "report/html_report.hpp"
#include "report/loose_json.hpp"

namespace mergelane {

namespace {

using report::escaped;
using report::list;
using report::number;

/// One line per pattern: `y` of its points over the offered load relative to the bound. Latency beyond saturation depends on the
/// measurement time, so it is omitted.
std::string curve_chart(const nlohmann::json& bench, const char* title, const char* y_title, const char* y, bool share, bool only_drained) {
    nlohmann::json chart = {{"kind", "lines"}, {"title", title}, {"x_title", "offered load, fraction of the bound"}, {"y_title", y_title}};
    for (const nlohmann::json& curve : list(bench, "curves")) {
        const double bound = number(curve, "bound").value_or(1);
        for (const nlohmann::json& point : list(curve, "points")) {
            if (only_drained && !point.value("drained", false)) continue;
            chart["data"].push_back({{"x", number(point, "offered").value_or(0) / bound},
                                     {"series", report::text(curve, "pattern")},
                                     {"y", number(point, y).value_or(0) / (share ? bound : 1)}});
        }
    }
    return "<figure>" + svg_chart(chart) + "</figure>";
}

std::string curve_table(const nlohmann::json& curve) {
    std::string out = fmt::format(
        "<h2>{}</h2><p>No more than {} flits per node and cycle can pass.</p><div class=\"scroll\"><table class=\"wide\"><thead><tr>"
        "<th class=\"n\">offered</th><th class=\"n\">accepted</th><th class=\"n\">of the bound</th><th class=\"n\">lowest node</th>"
        "<th class=\"n\">latency</th><th class=\"n\">alone</th></tr></thead><tbody>",
        escaped(report::text(curve, "pattern")), report::readable(number(curve, "bound").value_or(0)));
    for (const nlohmann::json& point : list(curve, "points")) {
        const auto value = [&](const char* key) { return number(point, key).value_or(0); };
        out += fmt::format(
            "<tr><td class=\"n\">{:.4f}</td><td class=\"n\">{:.4f}</td><td class=\"n\">{:.1f} %</td><td class=\"n\">{:.4f}</td>"
            "<td class=\"n\">{:.1f}{}</td><td class=\"n\">{:.1f}</td></tr>",
            value("offered"), value("accepted"), 100 * value("accepted") / number(curve, "bound").value_or(1), value("lowest"),
            value("latency"), point.value("drained", false) ? "" : " (saturated)", value("zero_load"));
    }
    return out + "</tbody></table></div>";
}

}  // namespace

std::string network_page(const nlohmann::json& bench) {
    const std::string title = fmt::format("Latency and throughput: {}", report::text(bench, "network"));
    std::string out = fmt::format(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{1}</style></head><body><h1>{0}</h1>"
        "<p class=\"small\">packets of {2} flits; {3} cycles measured after {4}; flits per node and cycle, latencies in network cycles "
        "from "
        "generation until the tail is accepted, including one cycle on each edge link; mergelane {5}</p>",
        escaped(title), report::embedded::page_style(), report::text(bench, "flits"), report::text(bench, "measured"),
        report::text(bench, "warm_up"), escaped(report::text(bench, "version")));
    out += curve_chart(bench, "Latency", "network cycles, mean", "latency", false, true);
    out += curve_chart(bench, "Throughput", "accepted load, fraction of the bound", "accepted", true, false);
    for (const nlohmann::json& curve : list(bench, "curves")) out += curve_table(curve);
    return out + "</body></html>\n";
}

}  // namespace mergelane
