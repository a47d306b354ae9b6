// SPDX-License-Identifier: MIT
// One file of a store, line by line: plain (.jsonl) or packed (.jsonl.zst: blocks of lines, each a zstd frame). Memory does not grow with
// the file, so that a store of millions of runs can be read; nor with what a hostile file unpacks to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "files/atomic_file.hpp"

namespace mergelane::study {

/// Whether the name is that of a file of records, and of a packed one.
bool is_record_file(const std::filesystem::path& path);
bool is_packed_file(const std::filesystem::path& path);
/// Of stores of schema 2.
bool is_xz_file(const std::filesystem::path& path);

inline constexpr std::string_view kPlainSuffix = ".jsonl";
inline constexpr std::string_view kPackedSuffix = ".jsonl.zst";

/// The longest line: a run of 300,000 kernels, or a merge of as many files. Longer ones are neither written nor read.
inline constexpr std::size_t kMostLine = std::size_t{16} << 20;
/// Throws InputError for a line of `file` that is longer.
void check_length(std::size_t length, const std::filesystem::path& file);
/// Throws InputError when a file of `packed` bytes unpacks to more than any store does: records are unlike each other.
void check_ratio(std::uint64_t packed, std::uint64_t unpacked, const std::filesystem::path& file);

/// Sentences about lines, of which a damaged file may have millions: the first are kept, all are counted.
class LineNotes {
public:
    static constexpr std::size_t kKept = 10;
    void add(std::string sentence) {
        if (++size_ <= kKept) kept_.push_back(std::move(sentence));
    }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const std::vector<std::string>& kept() const { return kept_; }

private:
    std::vector<std::string> kept_;
    std::size_t size_ = 0;
};

/// Where a line is: `block` is where the frame of a packed file begins, 0 in plain files.
struct LinePlace {
    std::uint64_t block = 0;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
};

struct FileLine {
    std::string_view text;  ///< without its end
    std::uint64_t number = 0;
    bool whole = true;  ///< false: the last one, not written to its end
    LinePlace place;
};

/// Bytes of other files whose records a merged file holds.
using CoveredFiles = std::vector<std::pair<std::string, std::uint64_t>>;

class FileIsGone : public InputError {
public:
    explicit FileIsGone(const std::filesystem::path& path)
        : InputError("'" + path.string() + "' went away while the store was read; wait until whoever removes files has ended") {}
};

class RecordFile {
public:
    /// Throws InputError when it cannot be read, FileIsGone when it is not there.
    explicit RecordFile(std::filesystem::path path);
    ~RecordFile();
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    /// Every line from byte `from` on, which begins a line (packed files are always read from their beginning).
    void scan(std::uint64_t from, const std::function<void(const FileLine&)>& use);
    /// A line that was seen by scan(); valid until the next call.
    std::string_view read(const LinePlace& place);
    /// Of the line there, from 1. Reads all before it: for messages.
    std::uint64_t number_of(const LinePlace& place);
    /// Appends to the buffer; fewer bytes only at the end of the file.
    std::size_t read_at(std::uint64_t offset, std::size_t most, std::string& buffer) const;
    /// As it was when it was opened.
    std::uint64_t bytes() const { return bytes_; }
    /// Bytes of memory it holds for read().
    std::size_t held() const { return text_.capacity(); }

private:
    void scan_plain(std::uint64_t from, const std::function<void(const FileLine&)>& use);
    void scan_packed(const std::function<void(const FileLine&)>& use);
    void read_block(std::uint64_t block);
    [[noreturn]] void damaged() const;

    std::filesystem::path path_;
    bool packed_;
    int fd_;
    std::uint64_t bytes_ = 0;
    std::string text_;               ///< of a packed file its last block, of a plain one its last line
    std::uint64_t block_ = ~0ull;    ///< that text_ is of
    std::uint64_t block_bytes_ = 0;  ///< it takes in the file
};

/// Writes a packed file, which appears when it is complete.
class PackedWriter {
public:
    /// `quick`: for millions of runs, each block is small and quick to reach. `dense`: a third smaller, for files that are kept for years.
    enum class Density { quick, dense };

    /// Throws InputError, as all of them do, when it cannot be written; nothing is left behind then.
    explicit PackedWriter(std::filesystem::path path, Density density = Density::quick);
    ~PackedWriter();
    PackedWriter(const PackedWriter&) = delete;
    PackedWriter& operator=(const PackedWriter&) = delete;

    /// A line without its end.
    void add(std::string_view line);
    /// The file takes its name.
    void finish();
    std::uint64_t bytes() const { return file_.size(); }

private:
    void write_block();

    struct Compressor;
    AtomicFile file_;
    std::unique_ptr<Compressor> compressor_;
    std::string pending_;
    std::size_t block_;
};

/// One write() of all bytes, or an InputError that says what is kept.
void write_whole(int fd, std::string_view bytes, const std::filesystem::path& path);

}  // namespace mergelane::study
