// SPDX-License-Identifier: MIT
// The container of Accel-Sim 2.0 (.tracez): the header as text, an optional zstd dictionary, the warps as sequences of sub-chunks, each a
// zstd frame of instruction lines, and an index at the end. docs/from-accel-sim.md describes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/accelsim/text_scan.hpp"
#include "workload/accelsim/trace_header.hpp"

struct ZSTD_DCtx_s;
struct ZSTD_DDict_s;

namespace mergelane::accelsim {

/// A sub-chunk, for messages.
struct ChunkPlace {
    std::uint64_t cta = 0;
    std::uint32_t warp = 0;
    std::uint32_t chunk = 0;  ///< counted from 0; messages count from 1
};

/// One warp as the index describes it.
struct WarpRecord {
    std::uint32_t instructions = 0;
    std::uint64_t offset = 0;               ///< of its header in the file
    std::span<const std::uint32_t> counts;  ///< instructions per sub-chunk
};

/// Header and index of a container, checked for consistency. Warps are read by a ChunkReader.
class TracezFile {
public:
    /// Does not own `file`.
    TracezFile(int file, const std::string& name);
    ~TracezFile();
    TracezFile(const TracezFile&) = delete;
    TracezFile& operator=(const TracezFile&) = delete;

    const TraceHeader& header() const { return header_; }
    const std::string& header_text() const { return header_text_; }
    /// Where the CTA at `position` of the index begins: eleven words, then its warps.
    std::size_t record_at(std::uint64_t position) const { return records_[position]; }
    std::size_t record(std::uint64_t cta) const { return records_[positions_.empty() ? cta : positions_[cta]]; }
    std::span<const std::uint32_t> words() const { return index_; }
    static constexpr std::size_t kCtaWords = 11;
    /// The warp at `word`, which moves to the next one.
    WarpRecord warp(std::size_t& word) const;

    /// Throw InputError with the file and the place.
    [[noreturn]] void fail(std::string_view problem) const;
    [[noreturn]] void fail(const ChunkPlace& place, std::string_view problem) const;
    [[noreturn]] void fail(const ChunkPlace& place, std::uint64_t instruction, std::string_view problem) const;

private:
    friend class ChunkReader;

    /// ZSTD_decompress_usingDDict with one of the file's unpackers.
    std::size_t unpack(char* to, std::size_t room, const char* from, std::size_t bytes) const;
    void read_exactly(std::uint64_t offset, char* to, std::size_t bytes) const;
    void read_header();
    void read_dictionary(std::uint64_t at);
    void read_index(std::uint64_t begin, std::uint64_t end);
    void check_cta(std::size_t& word);
    std::string place_text(const ChunkPlace& place) const;

    const int file_;
    const std::string& name_;
    std::uint64_t size_ = 0;  ///< of the file
    TraceHeader header_;
    std::string header_text_;
    ZSTD_DDict_s* dictionary_ = nullptr;
    std::uint64_t data_begin_ = 0;          ///< behind the dictionary
    std::uint64_t data_end_ = 0;            ///< where the index begins
    std::vector<std::uint32_t> index_;      ///< as in the file, without the number of CTAs
    std::vector<std::size_t> records_;      ///< of every CTA in `index_`, in file order
    std::vector<std::uint32_t> positions_;  ///< CTA -> position in the file; empty if they are in order
    /// Bytes of all open sub-chunks. Shared with the readers, which may outlive the file: a machine keeps the last CTAs of a kernel.
    const std::shared_ptr<std::atomic<std::uint64_t>> unpacked_ = std::make_shared<std::atomic<std::uint64_t>>(0);
    mutable std::mutex mutex_;
    mutable std::vector<ZSTD_DCtx_s*> unpackers_;  ///< that nobody uses
};

/// Reads and unpacks sub-chunks; only one thread at a time may use it.
class ChunkReader {
public:
    explicit ChunkReader(const TracezFile& file) : file_(file), unpacked_(file.unpacked_) {}
    ~ChunkReader();
    ChunkReader(const ChunkReader&) = delete;
    ChunkReader& operator=(const ChunkReader&) = delete;

    /// Compares the warp's header with the index. Returns where its first sub-chunk begins.
    std::uint64_t open(const ChunkPlace& place, const WarpRecord& warp);
    /// Unpacks the sub-chunk of `count` lines at `offset` between two line breaks, with zeros behind. Sets `bytes` to the size of the lines
    /// and returns where the next sub-chunk begins.
    std::uint64_t unpack(const ChunkPlace& place, std::uint64_t offset, std::uint32_t count, TextBuffer& to, std::size_t& bytes);

private:
    const char* fetch(const ChunkPlace& place, std::uint64_t offset, std::size_t bytes);
    void reserve(const ChunkPlace& place, std::size_t bytes, TextBuffer& to);

    const TracezFile& file_;
    const std::shared_ptr<std::atomic<std::uint64_t>> unpacked_;
    std::vector<char> packed_;  ///< a piece of the file
    std::uint64_t packed_at_ = 0;
    std::size_t packed_size_ = 0;
    std::uint64_t held_ = 0;  ///< bytes of the buffers that were made for it
};

/// The whole trace as Accel-Sim's text, piece by piece.
void write_text(const TracezFile& file, const std::function<void(std::string_view)>& put);

}  // namespace mergelane::accelsim
