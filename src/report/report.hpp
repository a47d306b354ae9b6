// SPDX-License-Identifier: MIT
// From results to text people read and files programs load. Pure: nothing is printed or written here.
#pragma once

#include <string>

#include "core/result.hpp"

namespace mergelane {

/// A page for the terminal: rates, hit rates, latencies, bandwidth of every level against its peak, stalls.
std::string summary(const RunResult& result);

/// The whole result: identity, configuration, totals and one record per kernel.
std::string to_json(const RunResult& result);

/// Long form with a header line: one row per kernel and counter, kernel "total" last.
std::string to_csv(const RunResult& result);

}  // namespace mergelane
