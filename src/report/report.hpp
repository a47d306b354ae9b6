// SPDX-License-Identifier: MIT
// Converts results to text for people and files for programs. Pure functions: nothing is printed or written.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/timeline.hpp"
#include "report/finding.hpp"

namespace mergelane {

/// ", registers: 31, from the cubin"; empty if there is nothing to say about where the number comes from.
std::string registers_text(const KernelResult& kernel);

/// The terminal summary: rates, hit rates, latencies, bandwidth of every level relative to its peak, stalls.
std::string summary(const RunResult& result);

/// Of to_json(): docs/schema/run.json. Raised when a member changes its meaning or goes, not when one is added.
inline constexpr int kRunSchema = 1;
/// The complete result: identity, configuration, totals and one record per kernel.
std::string to_json(const RunResult& result);

/// The result as one self-contained HTML page that starts with what limits the run, or with the first of the findings if there are any.
/// Kernels of the same name share a row.
std::string to_html(const RunResult& result, const std::vector<Finding>& findings = {});

/// The first screen of that page as an element of another page, such as a notebook; it needs no scripts.
std::string to_html_head(const RunResult& result);

/// Long form with a header line: one row per kernel and counter, kernel "total" last.
std::string to_csv(const RunResult& result);

/// One row per interval: its start and length, then every counter.
std::string intervals_to_csv(const RunResult& result);

struct TimelineFile {
    std::string bytes;
    std::string left_out;  ///< a sentence; empty: nothing was left out
};
/// A trace for ui.perfetto.dev, in which a nanosecond is a core cycle.
TimelineFile to_perfetto(const RunResult& result, const Timeline& timeline, std::size_t most_bytes = std::size_t{64} << 20);

}  // namespace mergelane
