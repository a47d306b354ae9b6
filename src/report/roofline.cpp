// SPDX-License-Identifier: MIT
#include "report/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/drawings.hpp"
#include "report/page.hpp"

namespace mergelane::report {

namespace {

constexpr double kGiga = 1e9;

/// Corners of every roof between these intensities.
Json roof_rows(std::span<const Roof> roofs, double from, double to, double issue_rate) {
    Json rows = Json::array();
    for (const Roof& roof : roofs) {
        const double ridge = std::clamp(issue_rate / roof.bytes_per_second, from, to);
        for (const double x : {from, ridge, to})
            rows.push_back({{"level", roof.level}, {"x", x}, {"y", std::min(roof.bytes_per_second * x, issue_rate) / kGiga}});
    }
    return rows;
}

}  // namespace

Json roofline(std::span<const Roof> roofs, std::span<const RooflinePoint> points, double issue_rate) {
    double from = points.front().per_byte, to = from, lowest = issue_rate;
    Json dots = Json::array(), levels = Json::array();
    for (const RooflinePoint& point : points) {
        from = std::min(from, point.per_byte);
        to = std::max(to, point.per_byte);
        lowest = std::min(lowest, point.per_second);
        dots.push_back({{"level", point.level},
                        {"x", point.per_byte},
                        {"y", point.per_second / kGiga},
                        {"share", 100 * point.share},
                        {"kernel", point.kernel}});
    }
    for (const Roof& roof : roofs) {
        levels.push_back(roof.level);
        from = std::min(from, issue_rate / roof.bytes_per_second);
        to = std::max(to, issue_rate / roof.bytes_per_second);
    }
    from /= 3;
    to *= 3;
    const Json x = {{"field", "x"},
                    {"type", "quantitative"},
                    {"title", "warp instructions per byte"},
                    {"axis", {{"format", ".2~g"}, {"grid", false}, {"labelOverlap", "greedy"}}},
                    {"scale", {{"type", "log"}, {"domain", {from, to}}, {"nice", false}}}};
    const Json y = {{"field", "y"},
                    {"type", "quantitative"},
                    {"title", "G warp instructions per second"},
                    {"axis", {{"format", ".3~g"}}},
                    {"scale", {{"type", "log"}, {"domain", {lowest / 3 / kGiga, 2 * issue_rate / kGiga}}, {"nice", false}}}};
    const Json colour = {{"field", "level"},
                         {"type", "nominal"},
                         {"scale", {{"domain", levels}, {"range", {"#009E73", "#0072B2", "#D55E00"}}}},
                         {"legend", {{"title", nullptr}, {"orient", "top"}}}};
    const Json lines = {{"data", {{"values", roof_rows(roofs, from, to, issue_rate)}}},
                        {"mark", {{"type", "line"}, {"strokeWidth", 2}, {"clip", true}}},
                        {"encoding", {{"x", x}, {"y", y}, {"color", colour}}}};
    const Json tooltip = Json::array({{{"field", "kernel"}, {"title", "kernel"}},
                                      {{"field", "level"}, {"title", "level"}},
                                      {{"field", "x"}, {"title", "per byte"}, {"format", ".3~g"}},
                                      {{"field", "y"}, {"title", "G per second"}, {"format", ".3~g"}},
                                      {{"field", "share"}, {"title", "% of the time"}, {"format", ".1f"}}});
    const Json size = {
        {"field", "share"}, {"type", "quantitative"}, {"scale", {{"domain", {0, 100}}, {"range", {40, 400}}}}, {"legend", nullptr}};
    const Json marks = {{"data", {{"values", dots}}},
                        {"mark", {{"type", "point"}, {"filled", true}, {"opacity", 0.85}, {"stroke", "#1b1f24"}, {"strokeWidth", 0.8}}},
                        {"encoding", {{"x", x}, {"y", y}, {"color", colour}, {"size", size}, {"tooltip", tooltip}}}};
    return {{"width", 760},
            {"height", kPlotHeight + 40},
            {"autosize", fit_width()},
            {"background", "#ffffff"},
            {"usermeta", {{"least", 320}}},
            {"config", chart_style()},
            {"layer", Json::array({lines, marks})}};
}

std::string roofline_table(std::span<const Roof> roofs, std::span<const RooflinePoint> points, double issue_rate) {
    std::string rows;
    for (const RooflinePoint& point : points) {
        double limit = issue_rate;
        for (const Roof& roof : roofs) {
            if (roof.level == point.level) limit = std::min(limit, roof.bytes_per_second * point.per_byte);
        }
        rows += fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}{}</tr>\n", escaped(point.kernel), cell(point.level),
                            cell(readable(point.per_byte), true), cell(readable(point.per_second / kGiga), true),
                            cell(percent_text(point.per_second, limit), true));
    }
    return table_of(
        "<th>kernel</th><th>level</th><th class=\"n\">warp instr per byte</th><th class=\"n\">G warp instr/s</th><th class=\"n\">of the "
        "roof</th>",
        rows);
}

}  // namespace mergelane::report
