// SPDX-License-Identifier: MIT
// A trace file (.mlt) as a workload. Opening it reads the index only; a kernel costs its program and 12 bytes per CTA; of
// CTAs only those that are open are in memory.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/kernel.hpp"
#include "workload/tracefile/format.hpp"

namespace mergelane::tracefile {

/// Ignoring them lets a fuzzer see behind them.
enum class Checksums : std::uint8_t { verify, ignore };

class TraceFile {
public:
    /// Throws InputError, a sentence that begins with the file's name.
    explicit TraceFile(const std::string& path);
    /// The same for an open file; takes `descriptor` over.
    TraceFile(int descriptor, std::string name, Checksums checksums = Checksums::verify);
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    const std::string& name() const { return name_; }
    std::uint64_t bytes() const { return bytes_; }
    const Index& index() const { return index_; }

    /// Reads a block's frame into `frame` and checks its hash. `what` names it in complaints.
    void read_block(const Block& block, std::string& frame, std::string_view what) const;
    [[noreturn]] void fail(std::string_view problem) const;

    /// The kernel must not outlive the file. `number` counts from 0.
    std::unique_ptr<KernelSource> kernel(std::size_t number) const;

private:
    void load();
    void read(std::uint64_t offset, char* to, std::uint64_t bytes) const;

    std::string name_;
    int file_;
    Checksums checksums_;
    std::uint64_t bytes_ = 0;
    Index index_;
};

/// The kernels from `first` to `last`, counted from 1.
std::unique_ptr<Workload> open_trace_file(const std::string& path, std::uint64_t first = 1, std::uint64_t last = ~std::uint64_t{0});
/// The same for an open file; takes `descriptor` over.
std::unique_ptr<Workload> open_trace_file(int descriptor, std::string name, std::uint64_t first, std::uint64_t last);

}  // namespace mergelane::tracefile
