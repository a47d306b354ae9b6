// SPDX-License-Identifier: MIT
// Native rendering of charts: for browsers without scripts, for papers and slides.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/chart.hpp"

namespace mergelane::report {

namespace {

constexpr double kFont = 12;

struct Scale {
    double low = 0, high = 1;  // of the values
    double from = 0, to = 1;   // of the pixels
    std::vector<double> ticks;
    double operator()(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

/// A scale whose ends are round numbers that enclose [low, high].
Scale round_scale(double low, double high, double from, double to) {
    if (!(high - low > std::max(1e-90, std::abs(low) * 1e-9))) {
        const double margin = std::abs(low) < 1e-80 ? 1 : std::abs(low) * 0.1;
        low -= margin;
        high += margin;
    }
    const double rough = (high - low) / 6;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = power * 10;
    for (const double nice : {1.0, 2.0, 2.5, 5.0}) {
        if (nice * power >= rough) {
            step = nice * power;
            break;
        }
    }
    Scale scale{std::floor(low / step) * step, std::ceil(high / step) * step, from, to, {}};
    if (!(scale.high > scale.low)) scale.high = scale.low + step;
    const double count = std::round((scale.high - scale.low) / step);
    for (double i = 0; i <= count && i < 50; ++i) {
        const double tick = scale.low + i * step;
        scale.ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
    }
    return scale;
}

std::string shortened(const std::string& text, double width, double font) {
    if (text_width(text, font) <= width) return text;
    std::string kept;
    for (const char c : text) {
        const bool starts = (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
        if (starts && text_width(kept, font) + 2 * font > width) break;
        kept += c;
    }
    return kept + "\xE2\x80\xA6";
}

class Drawing {
public:
    explicit Drawing(const Chart& chart) : chart_(chart) {}

    std::string draw() {
        width_ = chart_.kind == Chart::Kind::lines ? std::min(chart_width(chart_) + 60, kPageWidth) : chart_width(chart_);
        if (chart_.kind == Chart::Kind::stacked) {
            const auto stacks = static_cast<double>(chart_.xs.size() * std::max<std::size_t>(chart_.series.size(), 1));
            width_ = std::max(width_, 90 + stacks * 8);
        }
        left_ = 66;
        right_ = width_ - 16;
        double y = 8;
        if (!chart_.title.empty()) {
            y += 14;
            text(8, y, shortened(chart_.title, width_ - 16, 14), "start", "font-size=\"14\" font-weight=\"bold\"");
            y += 12;
        }
        if (const std::string note = chart_.axis_note(); !note.empty()) {
            y += 6;
            text(8, y, note, "start", "font-style=\"italic\"");
            y += 4;
        }
        y = legend(y);
        top_ = y + 12;
        bottom_ = top_ + kPlotHeight;
        y_ = value_scale();
        value_axis();
        const double labels = chart_.kind == Chart::Kind::lines ? lines() : grouped();
        if (chart_.baseline) level(left_, right_, y_(*chart_.baseline), "stroke=\"#222222\" stroke-width=\"1.2\" stroke-dasharray=\"5 3\"");
        out_ += markers_;
        const double height = bottom_ + labels + 30;
        text((left_ + right_) / 2, height - 10, chart_.x_title.empty() ? "x" : chart_.x_title, "middle", "font-weight=\"600\"");
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mergelane-chart drawn\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"{2}\" font-size=\"{3}\" fill=\"#1b1f24\">\n<title>{4}</title>\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{5}</svg>\n",
            width_, height, kChartFont, kFont, escaped(chart_.title.empty() ? "chart" : chart_.title), out_);
    }

private:
    void text(double x, double y, const std::string& words, const char* anchor, const char* more = "") {
        out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor, more, escaped(words));
    }
    void turned(double x, double y, int degrees, const std::string& words, double font, const char* more = "") {
        out_ +=
            fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate({})\" text-anchor=\"end\" font-size=\"{:.1f}\" {}>{}</text>\n",
                        x, y, degrees, font, more, escaped(words));
    }
    void rectangle(double x, double y, double width, double height, const char* fill) {
        out_ +=
            fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y, width, height, fill);
    }
    void level(double from, double to, double y, const std::string& style) {
        out_ += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", from, to, y, y, style);
    }
    static std::string diamond(double x, double y) {
        return fmt::format("<path d=\"M{:.1f} {:.1f}l5 5.5l-5 5.5l-5 -5.5z\" fill=\"white\" stroke=\"black\" stroke-width=\"1.4\"/>\n", x,
                           y - 5.5);
    }
    static std::string shape(std::size_t kind, double x, double y, const char* fill) {
        static constexpr std::array kShapes = {"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
                                               "m-3.2 -3.2h6.4v6.4h-6.4z",
                                               "m0 -4l4 7h-8z",
                                               "m0 4l4 -7h-8z",
                                               "m-4 -1.2h2.8v-2.8h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8z",
                                               "m4 0l-7 4v-8z"};
        return fmt::format("<path d=\"M{:.1f} {:.1f}{}\" fill=\"{}\"/>\n", x, y, kShapes[kind % kShapes.size()], fill);
    }
    const char* dash(std::size_t series) const {
        static constexpr std::array kDashes = {"none", "6 2", "2 2", "8 2 2 2"};
        return kDashes[is_mean(chart_.series[series]) ? 0 : series % kDashes.size()];
    }

    /// Entries in rows from the left; returns the end of the legend.
    double legend(double y) {
        const auto& names = chart_.colours();
        double x = 10;
        bool any = false;
        const auto place = [&](const std::string& name) {
            const double needed = 22 + text_width(name, kFont) + 18;
            if (!any || x + needed > width_) {
                x = 10;
                y += 18;
            }
            any = true;
            const double at = x;
            x += needed;
            return at;
        };
        const bool needed = names.size() > 1 || (names.size() == 1 && !names[0].empty());
        for (std::size_t i = 0; needed && i < names.size(); ++i) {
            const std::string name = shortened(names[i], width_ - 60, kFont);
            const double at = place(name);
            if (chart_.kind == Chart::Kind::lines) {
                level(at, at + 18, y - 4,
                      fmt::format("stroke=\"{}\" stroke-width=\"1.8\" stroke-dasharray=\"{}\"", chart_.colour(i), dash(i)));
                out_ += shape(i, at + 9, y - 4, chart_.colour(i));
            } else {
                rectangle(at + 3, y - 10, 11, 11, chart_.colour(i));
            }
            text(at + 22, y, name, "start");
        }
        if (!chart_.published.empty()) {
            const double at = place("published");
            out_ += diamond(at + 9, y - 4);
            text(at + 22, y, "published", "start");
        }
        return any ? y + 4 : y;
    }

    /// Height of the stack, upwards and downwards.
    std::pair<double, double> stack(std::size_t x, std::size_t series) const {
        std::pair<double, double> sum{0, 0};
        for (std::size_t part = 0; part < chart_.parts.size(); ++part) {
            const double value = chart_.measured(x, series, part).value_or(0);
            (value < 0 ? sum.second : sum.first) += value;
        }
        return sum;
    }

    Scale value_scale() const {
        std::vector<double> values;
        if (chart_.from_zero) values.push_back(0);
        if (chart_.kind == Chart::Kind::bars) values.push_back(chart_.origin);
        if (chart_.baseline) values.push_back(*chart_.baseline);
        for (const Chart::Point& point : chart_.published) {
            if (shown(point)) values.push_back(point.y);
        }
        for (const Chart::Point& point : chart_.points) {
            if (chart_.kind != Chart::Kind::stacked) values.push_back(point.y);
        }
        for (std::size_t x = 0; chart_.kind == Chart::Kind::stacked && x < chart_.xs.size(); ++x) {
            for (std::size_t series = 0; series < chart_.series.size(); ++series) {
                const auto [up, down] = stack(x, series);
                values.insert(values.end(), {up, down});
            }
        }
        if (values.empty()) values = {0, 1};
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        return round_scale(*low, *high, bottom_, top_);
    }
    bool shown(const Chart::Point& published) const { return chart_.kind != Chart::Kind::stacked || published.part == Chart::kNone; }

    void value_axis() {
        rectangle(left_, top_, right_ - left_, bottom_ - top_, "#ffffff");
        for (const double tick : y_.ticks) {
            level(left_, right_, y_(tick), "stroke=\"#dde2e8\"");
            text(left_ - 6, y_(tick) + 4, readable(tick), "end");
        }
        out_ += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"#555b63\"/>\n", left_, top_, bottom_, right_);
        out_ += fmt::format("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\" font-weight=\"600\">{}</text>\n",
                            (top_ + bottom_) / 2,
                            escaped(shortened(chart_.y_title.empty() ? "value" : chart_.y_title, kPlotHeight + 40, kFont)));
    }

    /// Bars side by side, stacked or not; returns the height of the labels below.
    double grouped() {
        if (chart_.xs.empty()) return 8;
        const auto series = std::max<std::size_t>(chart_.series.size(), 1);
        const double group = (right_ - left_) / static_cast<double>(chart_.xs.size());
        const double slot = group * 0.86 / static_cast<double>(series);
        const double zero = y_(std::clamp(chart_.origin, y_.low, y_.high));
        const bool stacked = chart_.kind == Chart::Kind::stacked;
        const bool named = stacked && (chart_.series.size() > 1 || (chart_.series.size() == 1 && !chart_.series[0].empty()));
        double below = 4;
        if (named) below = std::max(below, std::min(widest(chart_.series, 11), 120.0) + 8);
        const double label = widest(chart_.xs, kFont);
        const bool slanted = label > group - 4;
        for (std::size_t x = 0; x < chart_.xs.size(); ++x) {
            const double start = left_ + group * static_cast<double>(x);
            if (is_mean(chart_.xs[x])) rectangle(start + 1, top_, group - 2, bottom_ - top_, "#eceff3");
            for (std::size_t s = 0; s < chart_.series.size(); ++s) {
                const double at = start + group * 0.07 + slot * static_cast<double>(s);
                const double centre = at + slot / 2;
                if (stacked)
                    stack_at(x, s, at + slot * 0.06, slot * 0.88);
                else if (const auto value = chart_.measured(x, s, 0))
                    rectangle(at + slot * 0.03, std::min(y_(*value), zero), slot * 0.94, std::abs(y_(*value) - zero), chart_.colour(s));
                if (const auto published = chart_.published_value(x, s, stacked ? Chart::kNone : 0))
                    markers_ += diamond(centre, y_(*published));
                if (named) turned(centre + 4, bottom_ + 5, -90, shortened(chart_.series[s], 120, 11), std::clamp(slot, 6.0, 11.0));
            }
            for (const std::size_t part : {std::size_t{0}, Chart::kNone}) {
                if (const auto published = chart_.published_value(x, Chart::kNone, part))
                    markers_ += diamond(start + group / 2, y_(*published));
            }
            const char* weight = is_mean(chart_.xs[x]) ? "font-weight=\"bold\"" : "";
            if (slanted)
                turned(start + group / 2 + 4, bottom_ + below + 10, -40, shortened(chart_.xs[x], 120, kFont), kFont, weight);
            else
                text(start + group / 2, bottom_ + below + 13, chart_.xs[x], "middle", weight);
        }
        return below + (slanted ? std::min(label, 120.0) * 0.65 + 16 : 16);
    }

    void stack_at(std::size_t x, std::size_t series, double left, double width) {
        double up = 0, down = 0;
        for (std::size_t part = 0; part < chart_.parts.size(); ++part) {
            const auto value = chart_.measured(x, series, part);
            if (!value) continue;
            double& base = *value < 0 ? down : up;
            const double a = y_(base), b = y_(base + *value);
            rectangle(left, std::min(a, b), width, std::abs(a - b), chart_.colour(part));
            base += *value;
        }
    }

    double lines() {
        if (chart_.xs.empty()) return 8;
        const auto count = static_cast<double>(chart_.xs.size());
        std::vector<double> at(chart_.xs.size());
        for (std::size_t x = 0; x < at.size(); ++x) {
            const double span = chart_.numeric_x ? chart_.x_values.back() - chart_.x_values.front() : count - 1;
            const double place = chart_.numeric_x ? chart_.x_values[x] - chart_.x_values.front() : static_cast<double>(x);
            at[x] = span > 0 ? left_ + 14 + (right_ - left_ - 28) * (place / span) : (left_ + right_) / 2;
        }
        double free_from = left_ - 20;
        for (std::size_t x = 0; x < at.size(); ++x) {
            const double half = text_width(chart_.xs[x], kFont) / 2;
            out_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#555b63\"/>\n", at[x], bottom_,
                                bottom_ + 4);
            if (at[x] - half < free_from) continue;
            text(at[x], bottom_ + 17, chart_.xs[x], "middle");
            free_from = at[x] + half + 4;
        }
        for (std::size_t s = 0; s < chart_.series.size(); ++s) {
            std::string path, marks;
            for (std::size_t x = 0; x < at.size(); ++x) {
                const auto value = chart_.measured(x, s, 0);
                if (!value) continue;
                path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at[x], y_(*value));
                marks += shape(s, at[x], y_(*value), chart_.colour(s));
            }
            if (path.empty()) continue;
            out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"/>\n{}", path,
                                chart_.colour(s), is_mean(chart_.series[s]) ? 3 : 1.8, dash(s), marks);
        }
        for (const Chart::Point& point : chart_.published) markers_ += diamond(at[point.x], y_(point.y));
        return 22;
    }

    const Chart& chart_;
    std::string out_, markers_;
    double width_ = 0, left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
    Scale y_;
};

}  // namespace

std::string svg(const Chart& chart) {
    return Drawing(chart).draw();
}

}  // namespace mergelane::report
