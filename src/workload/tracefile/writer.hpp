// SPDX-License-Identifier: MIT
// Writes trace files (.mlt) from any workload, without simulating.
#pragma once

#include <functional>
#include <string>

#include "core/kernel.hpp"

namespace mergelane::tracefile {

struct WriteProgress {
    std::uint64_t kernel = 0;  ///< counted from 1
    std::uint64_t ctas_done = 0;
    std::uint64_t ctas_total = 0;
};

struct WriteOptions {
    std::string writer;  ///< program and version, kept in the file
    /// Called after every CTA; what it throws ends the recording.
    std::function<void(const WriteProgress&)> progress;
};

struct WriteTotals {
    std::uint64_t kernels = 0;
    std::uint64_t ctas = 0;
    std::uint64_t warp_instructions = 0;
    std::uint64_t memory_instructions = 0;
    std::uint64_t bytes = 0;  ///< of the file
};

/// All kernels of the workload, CTA by CTA. The file appears under its name when it is complete; until then it is called
/// PATH.part, which is removed if something goes wrong. Memory holds one CTA, the program and 16 bytes per CTA.
WriteTotals write_trace(Workload& workload, const std::string& path, const WriteOptions& options = {});

}  // namespace mergelane::tracefile
