// SPDX-License-Identifier: MIT
// Writes trace files (.mlt) from any workload, without simulation.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/kernel.hpp"

namespace mergelane::tracefile {

struct WriteProgress {
    std::uint64_t kernel = 0;  ///< 1-based
    std::uint64_t ctas_done = 0;
    std::uint64_t ctas_total = 0;
};

struct WriteOptions {
    std::string writer;  ///< program and version, kept in the file
    /// Called after every CTA; an exception ends the recording.
    std::function<void(const WriteProgress&)> progress;
};

struct WriteTotals {
    std::uint64_t kernels = 0;
    std::uint64_t ctas = 0;
    std::uint64_t warp_instructions = 0;
    std::uint64_t memory_instructions = 0;
    std::uint64_t bytes = 0;  ///< of the file
};

/// A trace that is written kernel by kernel, for callers that do not have them all at once. The file appears under its name with finish();
/// without it, nothing is left (files/atomic_file.hpp).
class TraceRecorder {
public:
    /// `source`: what is recorded, kept in the file.
    TraceRecorder(const std::string& path, std::string source, WriteOptions options = {});
    ~TraceRecorder();
    TraceRecorder(const TraceRecorder&) = delete;
    TraceRecorder& operator=(const TraceRecorder&) = delete;

    /// When this returns, everything the kernel does has been written to the operating system.
    void add(const KernelSource& kernel);
    /// Call at most once, after at least one kernel.
    WriteTotals finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// All kernels of the workload, CTA by CTA. The file appears under its name when it is complete. Memory holds one CTA, the program and 16
/// bytes per CTA.
WriteTotals write_trace(Workload& workload, const std::string& path, const WriteOptions& options = {});

}  // namespace mergelane::tracefile
