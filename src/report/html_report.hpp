// SPDX-License-Identifier: MIT
// The report of a reproduced paper: one HTML page with figures, criteria and data; the same figures as plain SVG; all numbers as CSV.
// docs/report.md has the schema of the results. Every field may be missing or of the wrong type: what cannot be shown is omitted. Pure
// functions: nothing is printed or written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/finding.hpp"

namespace mergelane {

/// One self-contained page that needs neither network access nor other files. Charts are interactive if scripts may run, otherwise plain
/// SVG.
std::string html_report(const nlohmann::ordered_json& results);

/// One chart of the results as a stand-alone SVG file.
std::string svg_chart(const nlohmann::ordered_json& chart);

/// Criteria and the values of all charts in long form; docs/reproduction/README.md lists the columns.
std::string csv_of(const nlohmann::ordered_json& results);

/// Latency-throughput curves of a network as one page. `bench`: what `mergelane bench network --json` writes.
std::string network_page(const nlohmann::ordered_json& bench);

/// Microbenchmarks beside silicon. `results`: what `mergelane microbench --json` writes.
std::string microbench_page(const nlohmann::ordered_json& results);

/// The result of one run. `result`: what `mergelane run --json` writes. Kernels may have "launches", if they stand for several. Also shown
/// if present: "load_time" of the run and of kernels, "intervals" and "by_instruction" (docs/using.md).
std::string run_page(const nlohmann::ordered_json& result, const std::vector<Finding>& findings = {});

/// The first screen of that page, for a notebook: one element without scripts.
std::string run_head(const nlohmann::ordered_json& result);

/// What a workload requests from memory. `profile`: what `mergelane profile --json` writes.
std::string profile_page(const nlohmann::ordered_json& profile);

/// Machines on the same workloads, and its charts of ratios. `comparison`: what `mergelane compare --json` writes.
std::string compare_page(const nlohmann::ordered_json& comparison);
std::vector<nlohmann::ordered_json> comparison_charts(const nlohmann::ordered_json& comparison);

}  // namespace mergelane
