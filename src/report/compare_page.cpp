// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "report/html_report.hpp"
#include "report/page.hpp"

namespace mergelane {

using namespace report;

namespace {

std::string machine_label(const Json& machine) {
    std::string label = text(machine, "gpu");
    for (const Json& value : list(machine, "overrides")) label += (label == text(machine, "gpu") ? " with " : ", ") + text_of(value);
    return label;
}

std::string named_machine(const Json& machine) {
    return fmt::format("{} ({})", text(machine, "name"), machine_label(machine));
}

/// The ratio of this machine to the first one, if it can be divided by.
std::optional<double> ratio_of(const Json& ratios, std::size_t machine) {
    const auto ratio = machine < ratios.size() ? number_of(ratios[machine]) : std::nullopt;
    return ratio && *ratio > 0 ? ratio : std::nullopt;
}

/// "; from 0.9 times (bfs) to 1.3 times (gemm)": how much faster than the first machine.
std::string range_of(const Json& quantity, std::size_t machine) {
    std::string most, least;
    double high = 0, low = 1e300;
    for (const Json& row : list(quantity, "values")) {
        const auto ratio = ratio_of(list(row, "ratios"), machine);
        if (!ratio) continue;
        if (1 / *ratio > high) most = text(row, "workload"), high = 1 / *ratio;
        if (1 / *ratio < low) least = text(row, "workload"), low = 1 / *ratio;
    }
    if (low >= high) return "";
    return fmt::format(", from {:.3f} ({}) to {:.3f} ({})", low, escaped(least), high, escaped(most));
}

/// Which machine is fastest by the first quantity, which is time.
std::string compare_lead(const Json& machines, const Json& quantity) {
    const Json& ratios = list(quantity, "geometric_mean_ratios");
    std::size_t fastest = 0;
    std::string others;
    for (std::size_t m = 1; m < machines.size(); ++m) {
        const auto ratio = ratio_of(ratios, m);
        if (!ratio) continue;
        if (*ratio < ratio_of(ratios, fastest).value_or(1)) fastest = m;
        others += fmt::format("<li>{}: {:.3f} times as fast as {}{}</li>\n", escaped(named_machine(machines[m])), 1 / *ratio,
                              escaped(text(machines[0], "name")), range_of(quantity, m));
    }
    if (others.empty())
        return "<div class=\"bottleneck\"><p><strong>There is nothing to compare: runs failed or are missing.</strong></p></div>\n";
    const bool tie = std::abs(1 / ratio_of(ratios, fastest).value_or(1) - 1) < 0.0005;
    const std::string verdict =
        tie && fastest != 0 ? "All are about equally fast" : escaped(named_machine(machines[fastest])) + " is fastest";
    return fmt::format("<div class=\"bottleneck\"><p><strong>{}</strong></p><p>Geometric means of the {}:</p><ul>\n{}</ul></div>\n",
                       verdict, escaped(text(quantity, "name")), others);
}

bool all_equal(const Json& quantity) {
    const Json& rows = list(quantity, "values");
    return std::all_of(rows.begin(), rows.end(), [](const Json& row) {
        const Json& ratios = list(row, "ratios");
        return std::all_of(ratios.begin(), ratios.end(), [](const Json& ratio) { return ratio == Json(1.0); });
    });
}

/// Ratios to the first machine, by workload.
Json ratio_chart(const Json& machines, const Json& quantity) {
    const std::string first = machines.empty() ? "" : text(machines[0], "name");
    Json chart = {{"kind", "bars"},        {"title", fmt::format("{}, relative to {}", text(quantity, "name"), first)},
                  {"x_title", "workload"}, {"y_title", fmt::format("relative to {}", first)},
                  {"baseline", 1},         {"bars_from", "baseline"},
                  {"data", Json::array()}};
    const auto add = [&](const std::string& x, const Json& ratios) {
        for (std::size_t m = 1; m < std::min(ratios.size(), machines.size()); ++m) {
            if (ratios[m].is_number()) chart["data"].push_back({{"x", x}, {"series", named_machine(machines[m])}, {"y", ratios[m]}});
        }
    };
    for (const Json& row : list(quantity, "values")) add(text(row, "workload"), list(row, "ratios"));
    add("geometric mean", list(quantity, "geometric_mean_ratios"));
    return chart;
}

std::string number_cells(const Json& numbers) {
    std::string cells;
    for (const Json& value : numbers) cells += cell(value.is_null() ? "-" : text_of(value), true);
    return cells;
}

/// Values with the half-widths of their intervals, where these are known.
std::string interval_cells(const Json& numbers, const Json& half_widths) {
    std::string cells;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::string value = numbers[i].is_null() ? "-" : text_of(numbers[i]);
        const auto width = i < half_widths.size() ? number_of(half_widths[i]) : std::nullopt;
        cells += cell(width && !numbers[i].is_null() ? fmt::format("{} +- {:.3g}", value, *width) : value, true);
    }
    return cells;
}

std::string quantity_table(const Json& machines, const Json& quantity) {
    const std::string unit = text(quantity, "unit");
    const bool compared = member(quantity, "compared") == Json(true);
    std::string head = "<th>workload</th>", rows;
    for (const Json& machine : machines) head += head_cell(fmt::format("{}, {}", text(machine, "name"), unit), true);
    for (std::size_t m = 1; compared && m < machines.size(); ++m)
        head += head_cell(fmt::format("{} / {}", text(machines[m], "name"), text(machines[0], "name")), true);
    const auto ratios = [&](const Json& all) { return compared && !all.empty() ? number_cells(Json(all.begin() + 1, all.end())) : ""; };
    const auto add = [&](const std::string& label, const std::string& cells) {
        rows += fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n", escaped(label), cells);
    };
    for (const Json& row : list(quantity, "values")) {
        const Json& all = list(row, "ratios");
        const Json& widths = list(row, "ratio_half_widths");
        std::string cells = interval_cells(list(row, "values"), list(row, "half_widths"));
        if (compared && !all.empty())
            cells +=
                widths.empty() ? ratios(all) : interval_cells(Json(all.begin() + 1, all.end()), Json(widths.begin() + 1, widths.end()));
        add(text(row, "workload"), cells);
    }
    std::string blank;
    for (std::size_t m = 0; m < machines.size(); ++m) blank += cell("", true);
    if (compared) {
        add("mean", blank + ratios(list(quantity, "mean_ratios")));
        add("geometric mean", blank + ratios(list(quantity, "geometric_mean_ratios")));
    }
    return table_of(head, rows, kWide);
}

}  // namespace

std::vector<nlohmann::ordered_json> comparison_charts(const nlohmann::ordered_json& comparison) {
    std::vector<Json> charts;
    for (const Json& quantity : list(comparison, "quantities")) {
        if (member(quantity, "compared") == Json(true)) charts.push_back(ratio_chart(list(comparison, "machines"), quantity));
    }
    return charts;
}

std::string compare_page(const nlohmann::ordered_json& comparison) {
    const Json& machines = list(comparison, "machines");
    const Json& quantities = list(comparison, "quantities");
    std::string title;
    for (const Json& machine : machines) title += (title.empty() ? "" : ", ") + printable(machine_label(machine));
    Page page(title);
    if (!quantities.empty() && !machines.empty()) page.lead(compare_lead(machines, quantities[0]));
    for (const Json& machine : machines)
        page.fact(text(machine, "name"), fmt::format("{}, {} MHz; validated: {}", machine_label(machine), text(machine, "core_mhz"),
                                                     text(machine, "validated").empty() ? "not stated" : text(machine, "validated")));
    page.fact("Size", text(comparison, "size"));
    std::string notes;
    for (const char* const kind : {"notes", "failures"}) {
        for (const Json& note : list(comparison, kind))
            notes += fmt::format("<li>{}{}</li>\n", kind == std::string_view("failures") ? "failed: " : "", escaped(text_of(note)));
    }
    if (!notes.empty()) page.intro("<ul class=\"notes\">\n" + notes + "</ul>\n");
    for (const Json& quantity : quantities) {
        page.section(text(quantity, "name"));
        if (member(quantity, "compared") != Json(true) || all_equal(quantity))
            page.add(all_equal(quantity) ? "<p>Equal on all workloads.</p>\n" : "");
        else
            page.add(read_chart(ratio_chart(machines, quantity)));
        page.add(quantity_table(machines, quantity));
    }
    return page.write();
}

}  // namespace mergelane
