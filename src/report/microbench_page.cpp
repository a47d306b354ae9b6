// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "report/html_report.hpp"
#include "report/page.hpp"

namespace mergelane {

using namespace report;

namespace {

std::string published_cells(const Json& benchmark) {
    const std::vector<Json> published = list(benchmark, "published");
    if (published.empty()) return cell("", true) + cell("", true) + cell("") + cell("");
    std::string sources;
    for (std::size_t i = 0; i < published.size(); ++i) {
        if (i != 0) sources += fmt::format("; also {} in ", readable(number(published[i], "value").value_or(0)));
        sources += text(published[i], "source");
    }
    return cell(readable(number(published.front(), "value").value_or(0)), true) +
           cell(fmt::format("{:+.1f} %", number(benchmark, "error_percent").value_or(0)), true) + cell(text(published.front(), "role")) +
           cell(sources);
}

}  // namespace

std::string microbench_page(const nlohmann::ordered_json& results) {
    Page page(fmt::format("Microbenchmarks of {}", text(results, "gpu")));
    page.fact("Against silicon", text(results, "summary"));
    page.fact("Configuration", text(results, "config_hash"));
    page.fact("Mergelane", text(results, "version"));
    page.section("Simulated and published");
    std::string head, rows;
    for (const char* const name : {"microbenchmark", "meaning"}) head += head_cell(name, false);
    for (const char* const name : {"simulated", "published", "error"}) head += head_cell(name, true);
    for (const char* const name : {"role", "source"}) head += head_cell(name, false);
    for (const Json& benchmark : list(results, "benchmarks")) {
        rows += "<tr>" + cell(text(benchmark, "name")) + cell(text(benchmark, "meaning")) +
                cell(fmt::format("{} {}", readable(number(benchmark, "measured").value_or(0)), text(benchmark, "unit")), true) +
                published_cells(benchmark) + "</tr>\n";
    }
    page.add(table_of(head, rows, kWide));
    page.footer(
        "<p>calibrates: values of the preset were chosen so that this number comes out. validates: held out; nothing was fitted to it. "
        "Latencies are in core cycles, bandwidths in bytes per core cycle.</p>\n");
    return page.write();
}

}  // namespace mergelane
