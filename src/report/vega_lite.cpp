// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "report/chart.hpp"

namespace mergelane::report {

namespace {

constexpr double kLabelFont = 12;

/// Measured and published rows in one table, so that facets split both in the same way.
Json rows(const Chart& chart) {
    Json values = Json::array();
    const auto add = [&](const std::vector<Chart::Point>& points, const char* kind) {
        for (const Chart::Point& point : points) {
            Json row = {{"kind", kind}, {"y", point.y}};
            if (chart.numeric_x)
                row["x"] = chart.x_values[point.x];
            else
                row["x"] = chart.xs[point.x];
            if (point.series != Chart::kNone) row["series"] = chart.series[point.series];
            if (chart.kind == Chart::Kind::stacked && point.part != Chart::kNone) {
                row["part"] = chart.parts[point.part];
                row["order"] = point.part;
            }
            values.push_back(std::move(row));
        }
    };
    add(chart.points, "measured");
    add(chart.published, "published");
    return values;
}

Json only(const char* kind) {
    return {{"filter", {{"field", "kind"}, {"equal", kind}}}};
}

Json mean_names(const Chart& chart) {
    Json means = Json::array();
    for (std::size_t x = 0; x < chart.xs.size(); ++x) {
        if (!chart.numeric_x && is_mean(chart.xs[x])) means.push_back(chart.xs[x]);
    }
    return means;
}

std::string or_default(const std::string& title, const char* otherwise) {
    return title.empty() ? otherwise : title;
}

Json colour_encoding(const Chart& chart, double width) {
    const auto& told_apart = chart.colours();
    Json palette = Json::array();
    for (std::size_t i = 0; i < told_apart.size(); ++i) palette.push_back(chart.colour(i));
    const double room = width - (chart.published.empty() ? 0 : 100);
    const double entry = widest(told_apart, kLabelFont) + 36;
    const double columns = std::clamp(std::floor(room / entry), 1.0, static_cast<double>(told_apart.size() + 1));
    Json encoding = {{"field", chart.kind == Chart::Kind::stacked ? "part" : "series"},
                     {"type", "nominal"},
                     {"scale", {{"domain", Json(told_apart)}, {"range", palette}}},
                     {"legend", nullptr}};
    const bool needed = told_apart.size() > 1 || (told_apart.size() == 1 && !told_apart[0].empty());
    if (!needed) return encoding;
    if (chart.kind == Chart::Kind::lines)
        encoding["legend"] = {{"title", nullptr}, {"orient", "right"}};
    else
        encoding["legend"] = {{"title", nullptr}, {"orient", "top"}, {"columns", columns}, {"symbolType", "square"}};
    return encoding;
}

Json tooltip(const Chart& chart) {
    Json fields = Json::array();
    fields.push_back({{"field", "x"}, {"title", or_default(chart.x_title, "x")}});
    fields.push_back({{"field", "series"}, {"title", "series"}});
    if (chart.kind == Chart::Kind::stacked) fields.push_back({{"field", "part"}, {"title", "part"}});
    fields.push_back({{"field", "y"}, {"title", or_default(chart.y_title, "value")}, {"format", ".4~g"}});
    fields.push_back({{"field", "kind"}, {"title", "source"}});
    return fields;
}

Json y_encoding(const Chart& chart) {
    Json y = {{"field", "y"}, {"type", "quantitative"}, {"title", or_default(chart.y_title, "value")}};
    y["scale"] = {{"zero", chart.from_zero}, {"nice", true}};
    y["axis"] = {{"titleLimit", kPlotHeight + 20}};
    return y;
}

Json baseline_layer(const Chart& chart) {
    return {{"data", {{"values", Json::array({Json::object()})}}},
            {"mark", {{"type", "rule"}, {"color", "#222222"}, {"strokeWidth", 1.2}, {"strokeDash", {5, 3}}}},
            {"encoding", {{"y", {{"datum", *chart.baseline}}}}}};
}

/// White diamonds with a dark outline, visible on every colour. Their legend uses the opacity channel, which nothing else uses.
Json published_layer(const Chart& chart, Json position, const char* extra_filter) {
    Json transform = Json::array({only("published")});
    if (extra_filter != nullptr) transform.push_back({{"filter", extra_filter}});
    Json encoding = std::move(position);
    encoding["y"] = y_encoding(chart);
    encoding["tooltip"] = tooltip(chart);
    encoding["opacity"] = {{"field", "kind"},
                           {"type", "ordinal"},
                           {"scale", {{"domain", {"published"}}, {"range", {1}}}},
                           {"legend",
                            {{"title", nullptr},
                             {"orient", chart.kind == Chart::Kind::lines ? "right" : "top"},
                             {"symbolType", "diamond"},
                             {"encoding",
                              {{"symbols",
                                {{"update",
                                  {{"fill", {{"value", "white"}}},
                                   {"stroke", {{"value", "black"}}},
                                   {"strokeWidth", {{"value", 1.4}}},
                                   {"size", {{"value", 80}}}}}}}}}}}};
    return {{"transform", transform},
            {"mark",
             {{"type", "point"},
              {"shape", "diamond"},
              {"size", 64},
              {"filled", true},
              {"fill", "white"},
              {"stroke", "black"},
              {"strokeWidth", 1.4}}},
            {"encoding", encoding}};
}

Json bars(const Chart& chart) {
    const double width = chart_width(chart);
    const bool slanted = widest(chart.xs, kLabelFont) > (width - 90) / static_cast<double>(std::max<std::size_t>(chart.xs.size(), 1)) - 4;
    const Json means = mean_names(chart);

    Json axis = {{"labelAngle", slanted ? -40 : 0}, {"ticks", false}, {"labelPadding", 6}, {"titleLimit", width - 100}};
    if (!means.empty()) {
        axis["labelFontWeight"] = {{"condition", {{"test", {{"field", "value"}, {"oneOf", means}}}, {"value", "bold"}}},
                                   {"value", "normal"}};
    }
    const Json x = {{"field", "x"},
                    {"type", "nominal"},
                    {"sort", Json(chart.xs)},
                    {"title", or_default(chart.x_title, "x")},
                    {"axis", axis},
                    {"scale", {{"domain", Json(chart.xs)}, {"paddingInner", chart.series.size() > 1 ? 0.2 : 0.3}, {"paddingOuter", 0.1}}}};
    const Json offset = {{"field", "series"},
                         {"type", "nominal"},
                         {"sort", Json(chart.series)},
                         {"scale", {{"domain", Json(chart.series)}, {"paddingInner", 0.06}}}};

    Json layers = Json::array();
    if (!means.empty()) {
        layers.push_back({{"data", {{"values", Json::array()}}},
                          {"mark", {{"type", "rect"}, {"color", "#eceff3"}, {"width", {{"band", 1}}}}},
                          {"encoding", {{"x", x}}}});
        for (const Json& mean : means) layers.back()["data"]["values"].push_back({{"x", mean}});
    }
    Json bar = {
        {"transform", Json::array({only("measured")})},
        {"mark", {{"type", "bar"}}},
        {"encoding",
         {{"x", x}, {"xOffset", offset}, {"y", y_encoding(chart)}, {"color", colour_encoding(chart, width)}, {"tooltip", tooltip(chart)}}}};
    bar["encoding"]["y"]["stack"] = nullptr;
    if (!chart.from_zero) bar["encoding"]["y2"] = {{"datum", chart.origin}};
    layers.push_back(std::move(bar));
    if (chart.baseline) layers.push_back(baseline_layer(chart));
    const auto some = [&](bool with_series) {
        return std::any_of(chart.published.begin(), chart.published.end(),
                           [&](const Chart::Point& point) { return (point.series != Chart::kNone) == with_series; });
    };
    if (some(true)) layers.push_back(published_layer(chart, {{"x", x}, {"xOffset", offset}}, "isValid(datum.series)"));
    if (some(false)) layers.push_back(published_layer(chart, {{"x", x}}, "!isValid(datum.series)"));
    return {{"width", width}, {"height", kPlotHeight}, {"autosize", fit_width()}, {"layer", layers}};
}

Json stacked(const Chart& chart) {
    const auto groups = static_cast<double>(std::max<std::size_t>(chart.xs.size(), 1));
    const auto members = static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
    constexpr double kSpacing = 8;
    const double width = chart_width(chart);
    const double step = std::clamp((width - 80 - kSpacing * (groups - 1)) / (groups * members), 7.0, 30.0);
    const bool slanted = widest(chart.xs, kLabelFont) > step * members + kSpacing - 4;

    const bool named = chart.series.size() > 1 || (chart.series.size() == 1 && !chart.series[0].empty());
    Json axis = nullptr;
    if (named)
        axis = {
            {"labelAngle", -90}, {"labelFontSize", std::min(11.0, step)}, {"ticks", false}, {"labelPadding", 4}, {"labelOverlap", false}};
    const Json x = {{"field", "series"},
                    {"type", "nominal"},
                    {"sort", Json(chart.series)},
                    {"title", nullptr},
                    {"axis", axis},
                    {"scale", {{"domain", Json(chart.series)}, {"paddingInner", 0.15}, {"paddingOuter", 0.08}}}};
    const Json means = mean_names(chart);
    Json layers = Json::array();
    if (!means.empty()) {
        layers.push_back({{"transform", Json::array({{{"filter", {{"field", "x"}, {"oneOf", means}}}},
                                                     {{"aggregate", Json::array({{{"op", "count"}, {"as", "rows"}}})}}})},
                          {"mark", {{"type", "rect"}, {"color", "#eceff3"}}}});
        layers.back()["encoding"] = Json::object();
    }
    Json bar = {{"transform", Json::array({only("measured")})},
                {"mark", {{"type", "bar"}, {"stroke", "#ffffff"}, {"strokeWidth", 0.4}}},
                {"encoding",
                 {{"x", x},
                  {"y", y_encoding(chart)},
                  {"color", colour_encoding(chart, width)},
                  {"order", {{"field", "order"}, {"type", "quantitative"}}},
                  {"tooltip", tooltip(chart)}}}};
    bar["encoding"]["y"]["stack"] = "zero";
    layers.push_back(std::move(bar));
    if (chart.baseline) layers.push_back(baseline_layer(chart));
    // The height of a published part does not determine its position in the stack: only totals are marked.
    const bool totals =
        std::any_of(chart.published.begin(), chart.published.end(), [](const Chart::Point& p) { return p.part == Chart::kNone; });
    if (totals) layers.push_back(published_layer(chart, {{"x", x}}, "!isValid(datum.part)"));
    Json header = {{"titleOrient", "bottom"}, {"labelOrient", "bottom"}, {"labelFontSize", kLabelFont},
                   {"titlePadding", 8},       {"labelPadding", 4},       {"titleLimit", width - 100}};
    if (slanted) header.update({{"labelAngle", -40}, {"labelAlign", "right"}});
    return {{"facet",
             {{"column",
               {{"field", "x"},
                {"type", "nominal"},
                {"sort", Json(chart.xs)},
                {"title", or_default(chart.x_title, "x")},
                {"header", header}}}}},
            {"spacing", kSpacing},
            {"spec", {{"width", {{"step", step}}}, {"height", kPlotHeight}, {"layer", layers}}}};
}

Json lines(const Chart& chart) {
    static const char* const kShapes[] = {"circle", "square", "triangle-up", "triangle-down", "cross", "triangle-right"};
    static const std::vector<std::vector<int>> kDashes = {{1, 0}, {6, 2}, {2, 2}, {8, 2, 2, 2}};
    Json shapes = Json::array();
    std::vector<Json> styles(kDashes.size() + 1, Json::array());  // names of the series of each; the last one: means
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        shapes.push_back(kShapes[i % std::size(kShapes)]);
        styles[is_mean(chart.series[i]) ? kDashes.size() : i % kDashes.size()].push_back(chart.series[i]);
    }
    Json x = {{"field", "x"}, {"title", or_default(chart.x_title, "x")}};
    if (chart.numeric_x) {
        x["type"] = "quantitative";
        x["scale"] = {{"zero", false}, {"nice", false}, {"padding", 14}};
        x["axis"] = {
            {"grid", false}, {"format", chart.x_values.back() < 1e4 ? ".4~g" : "~s"}, {"labelOverlap", "greedy"}, {"labelSeparation", 4}};
        if (chart.x_values.size() <= 16) x["axis"]["values"] = chart.x_values;
    } else {
        x["type"] = "ordinal";
        x["sort"] = Json(chart.xs);
        x["axis"] = {{"labelAngle", 0}};
    }
    const double width = chart_width(chart);
    x["axis"]["titleLimit"] = width - 100;
    const Json colours = colour_encoding(chart, width);
    Json shape = colours;
    shape["scale"]["range"] = shapes;
    Json layers = Json::array();
    if (chart.baseline) layers.push_back(baseline_layer(chart));
    // One layer per style instead of a scale of styles, which would have its own legend.
    for (std::size_t style = 0; style <= kDashes.size(); ++style) {
        if (styles[style].empty()) continue;
        const bool mean = style == kDashes.size();
        layers.push_back({{"transform", Json::array({only("measured"), {{"filter", {{"field", "series"}, {"oneOf", styles[style]}}}}})},
                          {"mark", {{"type", "line"}, {"strokeWidth", mean ? 3 : 1.8}, {"strokeDash", kDashes[mean ? 0 : style]}}},
                          {"encoding", {{"x", x}, {"y", y_encoding(chart)}, {"color", colours}}}});
    }
    layers.push_back(
        {{"transform", Json::array({only("measured")})},
         {"mark", {{"type", "point"}, {"filled", true}, {"size", 46}, {"opacity", 1}}},
         {"encoding", {{"x", x}, {"y", y_encoding(chart)}, {"color", colours}, {"shape", shape}, {"tooltip", tooltip(chart)}}}});
    if (!chart.published.empty()) layers.push_back(published_layer(chart, {{"x", x}}, nullptr));
    const double legend = std::max(110.0, widest(chart.series, kLabelFont) + 50);
    return {
        {"width", std::min(width + 90 + legend, kPageWidth)}, {"height", kPlotHeight + 40}, {"autosize", fit_width()}, {"layer", layers}};
}

}  // namespace

Json fit_width() {
    return {{"type", "fit-x"}, {"contains", "padding"}};
}

Json chart_style() {
    const Json words = {{"labelFontSize", kLabelFont},
                        {"titleFontSize", kLabelFont},
                        {"titleFontWeight", 600},
                        {"labelColor", "#1b1f24"},
                        {"titleColor", "#1b1f24"}};
    Json axis = words, header = words, legend = words;
    axis.update({{"titlePadding", 8}, {"gridColor", "#dde2e8"}, {"labelLimit", 160}, {"domainColor", "#555b63"}, {"tickColor", "#555b63"}});
    header["labelLimit"] = 160;
    legend.update(
        {{"labelLimit", 420}, {"symbolSize", 110}, {"columnPadding", 14}, {"layout", {{"top", {{"anchor", "start"}, {"margin", 18}}}}}});
    return {{"font", kChartFont},
            {"view", {{"stroke", "#c8ced6"}}},
            {"title", {{"fontSize", 14}, {"color", "#1b1f24"}, {"subtitleColor", "#1b1f24"}, {"subtitleFontStyle", "italic"}}},
            {"axis", axis},
            {"header", header},
            {"legend", legend}};
}

Json vega_lite(const Chart& chart) {
    Json spec = Json::object();
    switch (chart.kind) {
        case Chart::Kind::bars: spec = bars(chart); break;
        case Chart::Kind::stacked: spec = stacked(chart); break;
        case Chart::Kind::lines: spec = lines(chart); break;
    }
    spec["data"] = {{"values", rows(chart)}};
    spec["background"] = "#ffffff";
    // The page narrows charts for small screens (page.js), but not below this.
    const auto bars_drawn = static_cast<double>(chart.xs.size() * std::max<std::size_t>(chart.series.size(), 1));
    spec["usermeta"] = {{"least", chart.kind == Chart::Kind::bars ? 90 + bars_drawn * 9 : 300},
                        {"entry", widest(chart.colours(), kLabelFont) + 36}};
    if (const std::string note = chart.axis_note(); !chart.title.empty() || !note.empty())
        spec["title"] = {{"text", chart.title}, {"subtitle", note}, {"anchor", "start"}, {"offset", 10}, {"limit", kPageWidth - 100}};
    spec["config"] = chart_style();
    return spec;
}

}  // namespace mergelane::report
