// SPDX-License-Identifier: MIT
// Trace files as text.
#pragma once

#include <string>

#include "core/kernel.hpp"
#include "workload/tracefile/trace_file.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane {

std::string record_summary(const std::string& path, const tracefile::WriteTotals& totals, double seconds);
std::string trace_summary(const tracefile::TraceFile& file);
/// One line; may expand `lanes`, which is nullptr for instructions without memory access.
std::string instruction_text(const StaticInst& inst, std::uint32_t active, LaneAddresses* lanes);

}  // namespace mergelane
