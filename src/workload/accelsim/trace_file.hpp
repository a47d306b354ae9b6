// SPDX-License-Identifier: MIT
// One kernel's trace file (.traceg, plain or .xz, or .tracez) with random access. For text, a first pass finds the start of every warp of
// every CTA, so that CTAs can be opened in any order while memory holds only the index; a container brings its index along.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workload/accelsim/trace_header.hpp"
#include "workload/accelsim/tracez_file.hpp"

namespace mergelane::accelsim {

/// Progress callback of long operations: bytes done, total bytes (0: unknown).
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

enum class Packing : std::uint8_t { none, xz, tracez };

class TraceFile {
public:
    /// Opens and indexes `path`; a compressed trace is first unpacked into an unnamed temporary file.
    explicit TraceFile(const std::string& path, const ReadProgress& progress = {});
    /// The same for an open file positioned at its start; takes ownership of `descriptor`.
    TraceFile(int descriptor, std::string name, Packing packing, const ReadProgress& progress = {});
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    const TraceHeader& header() const { return container_ != nullptr ? container_->header() : header_; }
    /// The container, if it is one; the functions below are for text.
    const TracezFile* container() const { return container_.get(); }
    /// Start of the "warp = " line of a warp, and end of its CTA's text.
    std::uint64_t warp_begin(std::uint64_t cta, std::uint32_t warp) const { return row(cta)[warp]; }
    std::uint64_t cta_end(std::uint64_t cta) const { return row(cta)[header_.warps()]; }
    /// Copies up to `bytes` from `offset`; fewer only at the end of the file.
    std::size_t read(std::uint64_t offset, char* to, std::size_t bytes) const;
    /// Throws InputError with the file and the line of `offset`.
    [[noreturn]] void fail(std::uint64_t offset, std::string_view problem) const;
    /// For the kernel as a whole.
    [[noreturn]] void fail_at_start(std::string_view problem) const;

private:
    class Indexer;

    const std::uint64_t* row(std::uint64_t cta) const {
        return &offsets_[(rows_.empty() ? cta : rows_[cta]) * (std::uint64_t{header_.warps()} + 1)];
    }
    void close_all();

    std::string name_;
    int file_ = -1;    ///< the text
    int packed_ = -1;  ///< the compressed file it came from
    TraceHeader header_;
    std::unique_ptr<TracezFile> container_;
    std::vector<std::uint64_t> offsets_;  ///< per CTA in file order: start of every warp, then the end of the text
    std::vector<std::uint32_t> rows_;     ///< CTA -> position in the file; empty if they are in order
};

}  // namespace mergelane::accelsim
