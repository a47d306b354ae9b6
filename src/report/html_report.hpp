// SPDX-License-Identifier: MIT
// What a reproduced paper looks like: one HTML page with its figures, criteria and data, the same figures as plain SVG, all of
// its numbers as CSV. docs/report.md has the schema of the results. Every field may be missing or of the wrong type: what cannot
// be shown is left out. Pure: nothing is printed or written here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mergelane {

/// One self-contained page that needs neither network nor neighbouring files. Charts are interactive where scripts may run and plain
/// SVG where they may not.
std::string html_report(const nlohmann::json& results);

/// One chart of the results as a stand-alone SVG file.
std::string svg_chart(const nlohmann::json& chart);

/// Criteria and all charts' values in long form; docs/reproduction/README.md has the columns.
std::string csv_of(const nlohmann::json& results);

}  // namespace mergelane
