// SPDX-License-Identifier: MIT
#include "report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

namespace mergelane::report {

namespace {

std::size_t index_of(std::vector<std::string>& names, std::map<std::string, std::size_t>& known, const std::string& name) {
    const auto [entry, fresh] = known.try_emplace(name, names.size());
    if (fresh) names.push_back(name);
    return entry->second;
}

std::optional<double> as_number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(std::abs(value) <= 1e100)) return std::nullopt;
    return value;
}

struct Reader {
    Chart& chart;
    std::map<std::string, std::size_t> xs, series, parts;
    std::map<std::string, double> exact_x;  // the number itself rather than its rounded text

    void read(const Json& rows, std::vector<Chart::Point>& points, bool published) {
        std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::size_t> seen;
        for (const Json& row : rows) {
            const auto y = number(row, "y");
            const Json& x = member(row, "x");
            if (!y || x.is_null() || x.is_structured()) continue;
            Chart::Point point;
            std::string name = text_of(x);
            if (const auto value = number_of(x)) {
                if (chart.kind == Chart::Kind::lines) name = fmt::format("{}", *value);
                exact_x[name] = *value;
            }
            point.x = index_of(chart.xs, xs, name);
            if (published && member(row, "series").is_null())
                point.series = chart.series.size() == 1 ? 0 : Chart::kNone;
            else
                point.series = index_of(chart.series, series, text(row, "series"));
            if (published && member(row, "part").is_null())
                point.part = chart.kind == Chart::Kind::stacked ? Chart::kNone : 0;
            else
                point.part = index_of(chart.parts, parts, chart.kind == Chart::Kind::stacked ? text(row, "part") : "");
            point.y = *y;
            const auto [place, fresh] = seen.try_emplace({point.x, point.series, point.part}, points.size());
            if (fresh)
                points.push_back(point);
            else
                points[place->second] = point;
        }
    }

    /// Lines: positions along the axis in ascending order, if every x is a number.
    void sort_by_number() {
        std::vector<std::pair<double, std::size_t>> order;
        for (std::size_t i = 0; i < chart.xs.size(); ++i) {
            const auto exact = exact_x.find(chart.xs[i]);
            const auto value = exact != exact_x.end() ? std::optional(exact->second) : as_number(chart.xs[i]);
            if (!value) return;
            order.emplace_back(*value, i);
        }
        if (order.empty()) return;
        std::sort(order.begin(), order.end());
        chart.numeric_x = true;
        std::vector<std::size_t> place(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            place[order[i].second] = i;
            chart.x_values.push_back(order[i].first);
        }
        std::vector<std::string> names(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) names[i] = readable(order[i].first);
        chart.xs = std::move(names);
        for (auto* points : {&chart.points, &chart.published}) {
            for (Chart::Point& point : *points) point.x = place[point.x];
        }
    }
};

/// Differences of a few percent must be visible: unless values are spread over a good part of the axis, it does not start at zero. Stacks
/// always do, because their parts are compared too.
void choose_axis(Chart& chart, bool from_baseline) {
    if (chart.kind == Chart::Kind::stacked) return;
    std::vector<double> values;
    for (const auto* points : {&chart.points, &chart.published}) {
        for (const Chart::Point& point : *points) values.push_back(point.y);
    }
    if (values.empty()) return;
    if (chart.baseline) values.push_back(*chart.baseline);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double span = *high - *low;
    const double least = chart.kind == Chart::Kind::lines ? 0.6 : 0.35;  // the height of a bar means more than that of a line
    const bool narrow = *low > 0 && span < least * *high && span > 1e-9 * *high;
    if (chart.kind == Chart::Kind::lines) {
        chart.from_zero = !narrow;
    } else if (chart.baseline && (from_baseline || narrow)) {
        chart.origin = *chart.baseline;
        chart.from_zero = chart.origin == 0;
    } else if (narrow) {
        // The lowest bar keeps some height, and the axis starts at a round number.
        const double step = std::pow(10.0, std::floor(std::log10(span)));
        const double below = std::floor((*low - 0.15 * span) / step) * step;
        chart.origin = below > 0 ? below : 0;
        chart.from_zero = chart.origin == 0;
    }
}

std::optional<double> find(const std::vector<Chart::Point>& points, std::size_t x, std::size_t series, std::size_t part) {
    for (const Chart::Point& point : points) {
        if (point.x == x && point.series == series && point.part == part) return point.y;
    }
    return std::nullopt;
}

}  // namespace

Chart read_chart(const Json& json) {
    Chart chart;
    const std::string kind = text(json, "kind");
    chart.kind = kind == "stacked" ? Chart::Kind::stacked : kind == "lines" ? Chart::Kind::lines : Chart::Kind::bars;
    chart.title = text(json, "title");
    chart.x_title = text(json, "x_title");
    chart.y_title = text(json, "y_title");
    chart.baseline = number(json, "baseline");
    Reader reader{chart, {}, {}, {}, {}};
    reader.read(list(json, "data"), chart.points, false);
    reader.read(list(json, "published"), chart.published, true);
    if (chart.parts.empty()) chart.parts.emplace_back();
    if (chart.kind == Chart::Kind::lines) reader.sort_by_number();
    choose_axis(chart, text(json, "bars_from") == "baseline");
    return chart;
}

std::string Chart::axis_note() const {
    if (from_zero) return "";
    if (kind == Kind::lines) return "The y axis does not start at zero.";
    return fmt::format("Bars start at {}, not at zero.", readable(origin));
}

std::string chart_name(const Chart& chart, std::size_t index) {
    return chart.title.empty() ? fmt::format("chart {}", index + 1) : chart.title;
}

bool is_mean(const std::string& of) {
    std::string name = of;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
    for (const char* mean : {"mean", "average", "avg", "amean", "gmean", "geomean", "hmean", "geometric mean"}) {
        if (name == mean) return true;
    }
    return false;
}

std::optional<double> Chart::measured(std::size_t x, std::size_t in_series, std::size_t part) const {
    return find(points, x, in_series, part);
}

std::optional<double> Chart::published_value(std::size_t x, std::size_t in_series, std::size_t part) const {
    return find(published, x, in_series, part);
}

double text_width(const std::string& text, double font_size) {
    // UTF-8 continuation bytes do not count; capitals are wide.
    double width = 0;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xC0u) == 0x80u) continue;
        width += c >= 'A' && c <= 'Z' ? 0.68 : c == ' ' || c == '.' || c == ',' || c == 'i' || c == 'l' ? 0.33 : 0.56;
    }
    return width * font_size;
}

double widest(const std::vector<std::string>& texts, double font_size) {
    double width = 0;
    for (const std::string& text : texts) width = std::max(width, text_width(text, font_size));
    return width;
}

double chart_width(const Chart& chart) {
    double width = 760;
    if (chart.kind != Chart::Kind::lines) {
        const auto groups = static_cast<double>(chart.xs.size());
        const auto members = static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
        width = 90 + groups * std::max(members * 24 + 18, std::min(widest(chart.xs, 12) + 14, 110.0));
    } else if (!chart.numeric_x) {
        width = 90 + static_cast<double>(chart.xs.size()) * 70;
    }
    return std::clamp(std::max(width, text_width(chart.title, 15) + 60), 520.0, kPageWidth);
}

std::span<const std::pair<const char*, const char*>> dark_colours() {
    static constexpr std::pair<const char*, const char*> kDark[] = {
        {"#ffffff", "#14181e"},  // background
        {"#1b1f24", "#e4e9ef"},  // text
        {"#dde2e8", "#2b323b"},  // grid
        {"#c8ced6", "#39424d"},  // frame
        {"#555b63", "#9aa4af"},  // axes
        {"#eceff3", "#232a33"},  // behind a mean
        {"#222222", "#d5dbe2"},  // baseline
        {"#cfe3f1", "#1d3e55"},  // accepted band
        {"#000000", "#ffffff"}, {"#0072B2", "#4a8fe8"}, {"#D55E00", "#f07b2a"}, {"#7F7F7F", "#a0a0a0"}, {"#56B4E9", "#a6e0ff"},
        {"#332288", "#9b8df0"}, {"#882255", "#dd6c9d"}, {"#009E73", "#1fbd91"}, {"#AA4499", "#c86fba"},
    };
    return kDark;
}

const char* Chart::colour(std::size_t index) const {
    if (kind == Kind::lines && is_mean(series[index])) return "#000000";
    static constexpr std::array kColours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F",
                                            "#332288", "#882255", "#999933", "#44AA99", "#AA4499", "#F0E442"};
    return kColours[index % kColours.size()];
}

}  // namespace mergelane::report

namespace mergelane {

std::string svg_chart(const nlohmann::ordered_json& chart) {
    return report::svg(report::read_chart(chart));
}

}  // namespace mergelane
