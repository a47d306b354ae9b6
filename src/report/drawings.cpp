// SPDX-License-Identifier: MIT
#include "report/drawings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/text.hpp"
#include "report/loose_json.hpp"

namespace mergelane::report {

namespace {

constexpr std::size_t kStackColours = 12;  // .c0 to .c11 in page.css
constexpr std::size_t kMostSquares = 1024;
constexpr double kLeastShare = 0.0005;  // less is not visible

std::string style_of(std::span<const StackPart> parts, std::size_t part) {
    if (!parts[part].style.empty()) return parts[part].style;
    const auto own = std::count_if(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(part),
                                   [](const StackPart& before) { return before.style.empty(); });
    return fmt::format("c{}", static_cast<std::size_t>(own) % kStackColours);
}

double sum_of(const StackRow& row) {
    return std::accumulate(row.values.begin(), row.values.end(), 0.0);
}

}  // namespace

std::string whole(double value) {
    return value >= 0 && value < 1e18 ? grouped(static_cast<std::uint64_t>(std::llround(value))) : readable(value);
}

std::string percent_text(double part, double whole) {
    return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0);
}

std::string stacks(std::span<const StackPart> parts, std::span<const StackRow> rows) {
    if (rows.empty()) return "";
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const StackRow& first = rows.front();
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return first.values[a] > first.values[b]; });
    std::string out = "<ul class=\"legend\">\n";
    for (const std::size_t part : order) {
        if (std::all_of(rows.begin(), rows.end(),
                        [&](const StackRow& row) { return row.values[part] < kLeastShare * sum_of(row) || row.values[part] <= 0; }))
            continue;
        out += fmt::format("<li title=\"{}\"><i class=\"{}\"></i>{} {}</li>\n", escaped(parts[part].meaning), style_of(parts, part),
                           escaped(parts[part].name), percent_text(first.values[part], sum_of(first)));
    }
    out += "</ul>\n<div class=\"stack\">\n";
    for (const StackRow& row : rows) {
        const double sum = sum_of(row);
        out += fmt::format("<b>{}</b><div{}>", escaped(row.label), &row == &first ? " class=\"all\"" : "");
        for (std::size_t part = 0; part < parts.size() && sum > 0; ++part) {
            if (row.values[part] < kLeastShare * sum) continue;
            out += fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\" title=\"{}: {}\"></i>", style_of(parts, part),
                               100 * row.values[part] / sum, escaped(parts[part].name), percent_text(row.values[part], sum));
        }
        out += "</div>\n";
    }
    return out + "</div>\n";
}

std::string heat_map(std::span<const double> values, std::size_t per_frame, const std::string& unit_name) {
    if (values.empty()) return "";
    const std::size_t shared = (values.size() + kMostSquares - 1) / kMostSquares;
    if (shared > 1) per_frame = 0;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    // Colour shows differences; noise of less than a percent is no difference.
    const bool even = *high - *low <= 0.01 * *high;
    std::string out = fmt::format("<p class=\"small\">Lowest {}, mean {}, highest {}{}{}</p>\n<div class=\"heat\">", readable(*low),
                                  readable(mean), readable(*high), even ? ": balanced within 1 %." : ". Pale: lowest, strong: highest.",
                                  shared > 1 ? fmt::format(" Each square is the mean of {} {}s.", shared, escaped(unit_name)) : "");
    for (std::size_t i = 0; i < values.size(); i += shared) {
        const std::size_t count = std::min(shared, values.size() - i);
        double value = 0;
        for (std::size_t k = 0; k < count; ++k) value += values[i + k] / static_cast<double>(count);
        const double heat = even ? 0.5 : 0.05 + 0.95 * (value - *low) / (*high - *low);
        if (per_frame != 0 && i % per_frame == 0) out += "<span>";
        out += fmt::format("<i style=\"--h:{:.2f}\" title=\"{} {}: {}\"></i>", heat, escaped(unit_name),
                           count == 1 ? fmt::format("{}", i) : fmt::format("{} to {}", i, i + count - 1), readable(value));
        if (per_frame != 0 && (i % per_frame == per_frame - 1 || i + 1 == values.size())) out += "</span>";
    }
    return out + "</div>\n";
}

}  // namespace mergelane::report
