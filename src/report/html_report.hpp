// SPDX-License-Identifier: MIT
// The report of a reproduced paper: one HTML page with figures, criteria and data; the same figures as plain SVG; all numbers as CSV.
// docs/report.md has the schema of the results. Every field may be missing or of the wrong type: what cannot be shown is omitted. Pure
// functions: nothing is printed or written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mergelane {

/// One self-contained page that needs neither network access nor other files. Charts are interactive if scripts may run, otherwise plain
/// SVG.
std::string html_report(const nlohmann::json& results);

/// One chart of the results as a stand-alone SVG file.
std::string svg_chart(const nlohmann::json& chart);

/// Criteria and the values of all charts in long form; docs/reproduction/README.md lists the columns.
std::string csv_of(const nlohmann::json& results);

/// Latency-throughput curves of a network as one page. `bench`: what `mergelane bench network --json` writes.
std::string network_page(const nlohmann::json& bench);

}  // namespace mergelane
