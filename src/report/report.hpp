// SPDX-License-Identifier: MIT
// Converts results to text for people and files for programs. Pure functions: nothing is printed or written.
#pragma once

#include <string>

#include "core/result.hpp"

namespace mergelane {

/// The terminal summary: rates, hit rates, latencies, bandwidth of every level relative to its peak, stalls.
std::string summary(const RunResult& result);

/// The complete result: identity, configuration, totals and one record per kernel.
std::string to_json(const RunResult& result);

/// Long form with a header line: one row per kernel and counter, kernel "total" last.
std::string to_csv(const RunResult& result);

}  // namespace mergelane
