// SPDX-License-Identifier: MIT
// A trace file (.mlt) as a workload. Opening it reads only the index; a kernel takes its program and 12 bytes per CTA; only open CTAs are
// in memory.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "workload/record/checksums.hpp"
#include "workload/tracefile/format.hpp"

namespace mergelane::tracefile {

using record::Checksums;

class TraceFile {
public:
    /// Throws InputError that begins with the file name.
    explicit TraceFile(const std::string& path);
    /// The same for an open file; takes ownership of `descriptor`.
    TraceFile(int descriptor, std::string name, Checksums checksums = Checksums::verify);
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    const std::string& name() const { return name_; }
    std::uint64_t bytes() const { return bytes_; }
    const Index& index() const { return index_; }

    /// Reads a block, checks its hash and unpacks it to block.raw bytes at `to`. `what` names it in error messages. Throws InputError, or
    /// Damage if it cannot be unpacked. Several threads may do so at once.
    void unpack(const Block& block, char* to, const UnpackDictionary* dictionary, std::string_view what) const;
    [[noreturn]] void fail(std::string_view problem) const;

    /// The kernel must not outlive the file. `number` counts from 0.
    std::unique_ptr<KernelSource> kernel(std::size_t number) const;

private:
    /// What unpacking a block takes. Contexts are large, so there are only as many as are used at the same time, not one per stream.
    struct Bench {
        Unpacker unpacker;
        std::string frame;
    };
    std::unique_ptr<Bench> take_bench() const;

    void load();
    void read(std::uint64_t offset, char* to, std::uint64_t bytes) const;

    std::string name_;
    int file_;
    Checksums checksums_;
    std::uint64_t bytes_ = 0;
    Index index_;
    mutable std::mutex benches_mutex_;
    mutable std::vector<std::unique_ptr<Bench>> benches_;  ///< unused ones
};

/// The kernels from `first` to `last`, 1-based.
std::unique_ptr<Workload> open_trace_file(const std::string& path, std::uint64_t first = 1, std::uint64_t last = ~std::uint64_t{0});
/// The same for an open file; takes ownership of `descriptor`.
std::unique_ptr<Workload> open_trace_file(int descriptor, std::string name, std::uint64_t first, std::uint64_t last);

}  // namespace mergelane::tracefile
