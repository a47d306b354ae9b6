// SPDX-License-Identifier: MIT
// A chart of the results, parsed once and rendered in several formats.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/loose_json.hpp"

namespace mergelane::report {

struct Chart {
    enum class Kind { bars, stacked, lines };
    static constexpr std::size_t kNone = ~std::size_t{0};
    /// Indices into xs, series and parts; a published value without a series has kNone and belongs to the whole group.
    struct Point {
        std::size_t x = 0, series = 0, part = 0;
        double y = 0;
    };

    Kind kind = Kind::bars;
    std::string title, x_title, y_title;
    std::optional<double> baseline;
    double origin = 0;             ///< where bars begin: zero, the baseline, or just below the bars if they differ little
    bool from_zero = true;         ///< the value axis contains zero
    bool numeric_x = false;        ///< lines only: x_values are positions
    std::vector<std::string> xs;   ///< in order of appearance; ascending if numeric
    std::vector<double> x_values;  ///< if numeric_x
    std::vector<std::string> series, parts;
    std::vector<Point> points, published;  ///< at most one per x, series and part

    std::optional<double> measured(std::size_t x, std::size_t series, std::size_t part) const;
    /// The published value; part kNone: of the whole stack.
    std::optional<double> published_value(std::size_t x, std::size_t series, std::size_t part) const;
    /// A sentence about an axis that does not contain zero, or nothing.
    std::string axis_note() const;
    /// The entries that colours distinguish.
    const std::vector<std::string>& colours() const { return kind == Kind::stacked ? parts : series; }
    /// Colour of the `index`th entry. Distinguishable with common kinds of colour blindness (Okabe and Ito's colours first).
    const char* colour(std::size_t index) const;
};

/// Colours of the charts, and what replaces them on a dark background.
std::span<const std::pair<const char*, const char*>> dark_colours();

Chart read_chart(const Json& chart);
/// Name of an experiment's `index`th chart: its title, or a number if it has none.
std::string chart_name(const Chart& chart, std::size_t index);

/// A group or line that summarises the others and is set apart.
bool is_mean(const std::string& name);
/// Width in pixels: a full page, or less if there is little to draw.
double chart_width(const Chart& chart);
/// Estimated width in pixels in the fonts of the charts.
double text_width(const std::string& text, double font_size);
/// Of the widest; 0 if there are none.
double widest(const std::vector<std::string>& texts, double font_size);

inline constexpr double kPageWidth = 1080;
inline constexpr double kPlotHeight = 260;
inline constexpr const char* kChartFont =
    "'Source Sans 3','Source Sans Pro','Noto Sans','Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif";

/// Fonts and colours of all specifications, as `config` of Vega-Lite.
Json chart_style();
/// Its `width` is that of the whole drawing.
Json fit_width();
/// The chart as a Vega-Lite specification.
Json vega_lite(const Chart& chart);
/// The chart as SVG.
std::string svg(const Chart& chart);

}  // namespace mergelane::report
