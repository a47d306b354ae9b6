// SPDX-License-Identifier: MIT
#include "workload/accelsim/trace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/error.hpp"
#include "files/input_file.hpp"
#include "workload/accelsim/cta_order.hpp"
#include "workload/accelsim/text_scan.hpp"

namespace mergelane::accelsim {

namespace {

#ifdef MERGELANE_SMALL_BUFFERS  // so that a fuzzer's short inputs reach every boundary
constexpr std::size_t kChunk = 2 << 10;
constexpr std::size_t kMostHeader = 1 << 10;
#else
constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kMostHeader = 64 << 10;  ///< bytes before the first CTA; also the longest line of the first pass
#endif
constexpr std::size_t kPadding = 64;  ///< zeros behind every text buffer
constexpr std::uint64_t kMostDecoderMemory = 512ull << 20;
// Very regular traces compress to about a thousandth; only repetition of a few bytes compresses further.
constexpr std::uint64_t kMostExpansion = 4000;
constexpr std::uint64_t kTrustedBytes = 256ull << 20;  ///< unpacked text up to this size is not questioned

/// The source of the bytes of the first pass.
class Input {
public:
    virtual ~Input() = default;
    /// Returns fewer than `bytes` only at the end.
    virtual std::size_t read(char* to, std::size_t bytes) = 0;
};

class PlainInput final : public Input {
public:
    PlainInput(int file, const std::string& name, const ReadProgress& progress) : file_(file), name_(name), progress_(progress) {
        struct stat info {};
        if (::fstat(file, &info) == 0) total_ = static_cast<std::uint64_t>(info.st_size);
        ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    std::size_t read(char* to, std::size_t bytes) override {
        const std::size_t got = read_at(file_, done_, to, bytes, name_);
        done_ += got;
        if (progress_) progress_(done_, total_);
        return got;
    }

private:
    int file_;
    const std::string& name_;
    const ReadProgress& progress_;
    std::uint64_t done_ = 0;
    std::uint64_t total_ = 0;
};

/// An unnamed file that disappears when it is closed.
int temporary_file(const std::string& name) {
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
    if (failed)
        throw InputError(fmt::format("{}: there is no temporary folder to unpack it into: {}; set TMPDIR to one", name, failed.message()));
    std::string pattern = (folder / "mergelane-trace-XXXXXX").string();
    const int file = ::mkstemp(pattern.data());
    if (file < 0)
        throw InputError(fmt::format("{}: cannot make a temporary file in {}: {}; set TMPDIR to a folder with space for the unpacked trace",
                                     name, folder.string(), std::strerror(errno)));
    ::unlink(pattern.c_str());
    return file;
}

/// Unpacks, and keeps a copy of the text in `spool`, which is then read like a plain trace.
class XzInput final : public Input {
public:
    XzInput(int packed, int spool, const std::string& name, const ReadProgress& progress)
        : packed_(packed, name, progress), name_(name), spool_(spool) {
        if (lzma_stream_decoder(&stream_, kMostDecoderMemory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
    }
    ~XzInput() override { lzma_end(&stream_); }
    std::size_t read(char* to, std::size_t bytes) override {
        stream_.next_out = reinterpret_cast<std::uint8_t*>(to);
        stream_.avail_out = bytes;
        while (stream_.avail_out != 0 && !finished_) {
            if (stream_.avail_in == 0 && !input_ended_) {
                stream_.avail_in = packed_.read(buffer_.data(), buffer_.size());
                stream_.next_in = reinterpret_cast<const std::uint8_t*>(buffer_.data());
                input_ended_ = stream_.avail_in < buffer_.size();
            }
            const lzma_ret result = lzma_code(&stream_, input_ended_ ? LZMA_FINISH : LZMA_RUN);
            if (result == LZMA_STREAM_END)
                finished_ = true;
            else if (result != LZMA_OK)
                fail(result);
        }
        const std::size_t got = bytes - stream_.avail_out;
        if (stream_.total_out > kTrustedBytes && stream_.total_out / kMostExpansion > stream_.total_in)
            throw InputError(
                fmt::format("{}:1: unpacks to more than {} times its size, as no trace does; if it is one, unpack it with 'xz -d' "
                            "and name the .traceg file",
                            name_, kMostExpansion));
        keep(to, got);
        return got;
    }

private:
    [[noreturn]] void fail(lzma_ret result) const {
        const char* why = result == LZMA_MEMLIMIT_ERROR ? "needs more than 512 MiB to unpack; pack it again with 'xz -6'"
                          : result == LZMA_FORMAT_ERROR && stream_.total_out == 0
                              ? "is not an .xz file; rename it to .traceg if it is plain text"
                          : result == LZMA_BUF_ERROR     ? "ends before its compressed data does; copy or make it again"
                          : result == LZMA_MEM_ERROR     ? "cannot be unpacked: there is not enough memory; pack it again with 'xz -6'"
                          : result == LZMA_OPTIONS_ERROR ? "uses .xz options this liblzma does not know; pack it again with 'xz -6'"
                                                         : "is damaged: its compressed data are wrong; copy or make it again";
        throw InputError(fmt::format("{}:1: {}", name_, why));
    }
    void keep(const char* from, std::size_t bytes) {
        while (bytes != 0) {
            const ssize_t put = ::write(spool_, from, bytes);
            if (put < 0 && errno == EINTR) continue;
            if (put <= 0)
                throw InputError(fmt::format("{}: cannot unpack it to the temporary directory: {}; set TMPDIR to one with more space",
                                             name_, std::strerror(errno)));
            from += put;
            bytes -= static_cast<std::size_t>(put);
        }
    }

    PlainInput packed_;
    const std::string& name_;
    const int spool_;
    lzma_stream stream_ = LZMA_STREAM_INIT;
    std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 18);
    bool input_ended_ = false;
    bool finished_ = false;
};

}  // namespace

/// The first pass. It examines only the lines that structure a trace. These begin with '#' or 'w', which rarely occur elsewhere, so that
/// searching for these two bytes runs at memory speed.
class TraceFile::Indexer {
public:
    Indexer(TraceFile& trace, Input& input) : trace_(trace), input_(input) {}

    void run() {
        fill(0);
        std::size_t at = read_header();
        while (true) {
            at = scan(at);
            check_sense(at);
            if (ended_) break;
            fill(at);
            at = 0;
        }
        if (in_cta_)
            fail(size_, fmt::format("the file ends inside the thread block that began in line {}; it is cut off, copy or make it again",
                                    line_of_cta()));
        finish();
    }

private:
    /// Keeps the text from `from` on and appends more; ends with complete lines unless the file has ended.
    void fill(std::size_t from) {
        std::memmove(buffer_.get(), buffer_.get() + from, size_ - from);
        position_ += from;
        size_ -= from;
        const std::size_t got = input_.read(buffer_.get() + size_, kChunk - size_);
        ended_ = got < kChunk - size_;
        size_ += got;
        std::memset(buffer_.get() + size_, 0, kPadding);
        lines_end_ = size_;
        if (ended_) return;
        const void* last = ::memrchr(buffer_.get(), '\n', size_);
        lines_end_ = last == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(last) - buffer_.get()) + 1;
        if (size_ - lines_end_ > kMostHeader) fail(lines_end_, "this line is longer than 64 KiB; is this a trace in text form?");
    }

    /// Rejects input early that has the form of a trace but no content; `at` is how far the text has been scanned.
    void check_sense(std::size_t at) const {
        if (!in_cta_ && position_ + at > cta_offset_ + kMostHeader + kChunk)
            fail(at, fmt::format("no thread block within 1 MiB behind line {}; is the file damaged?", line_of_cta()));
        std::size_t blank = 0;
        while (blank < lines_end_ && (is_blank(buffer_[blank]) || buffer_[blank] == '\n')) ++blank;
        if (blank > kMostHeader) fail(blank - 1, "more than 64 KiB of empty lines; is the file damaged?");
    }

    [[noreturn]] void fail(std::size_t at, std::string_view problem) const { trace_.fail(position_ + at, problem); }
    std::uint64_t line_of_cta() const;

    std::string_view line_at(std::size_t at) const {
        const char* const begin = buffer_.get() + at;
        const void* end = std::memchr(begin, '\n', size_ - at);
        return {begin, end == nullptr ? size_ - at : static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
    }

    std::size_t read_header() {
        TraceHeader& header = trace_.header_;
        std::size_t at = 0;
        if (size_ == 0) fail(0, "the file is empty; copy or make it again");
        while (true) {
            if (at >= lines_end_ || at > kMostHeader)
                fail(std::min(at, size_), "the header has no end: a line starting with '#' must follow the '-key = value' lines");
            const std::string_view line = line_at(at);
            const std::string_view text = trimmed(line);
            if (text.starts_with('#')) break;
            if (!text.empty()) {
                if (const std::string problem = parse_header_line(text, header); !problem.empty()) fail(at, problem);
            }
            at += line.size() + 1;
        }
        if (const std::string problem = missing_in(header); !problem.empty()) fail(at, problem);
        if (header.kernel_name.empty()) header.kernel_name = "unnamed";
        warps_ = header.warps();
        return at;
    }

    /// Processes all complete structure lines; returns where to continue.
    std::size_t scan(std::size_t at) {
        const char* const text = buffer_.get();
        const auto next = [&](char c, std::size_t from) {
            const void* found = from < lines_end_ ? std::memchr(text + from, c, lines_end_ - from) : nullptr;
            return found == nullptr ? lines_end_ : static_cast<std::size_t>(static_cast<const char*>(found) - text);
        };
        std::size_t mark = next('#', at);
        std::size_t warp = next('w', at);
        while (mark != lines_end_ || warp != lines_end_) {
            const std::size_t found = std::min(mark, warp);
            if (begins_line(found)) {
                const std::size_t after = found == mark ? read_mark(found) : read_warp(found);
                if (after == 0) return line_begin(found);  // needs more text than is here
                at = after;
            } else {
                at = found + 1;
            }
            if (mark < at) mark = next('#', at);
            if (warp < at) warp = next('w', at);
        }
        return lines_end_;
    }

    std::size_t line_begin(std::size_t at) const {
        while (at > 0 && buffer_[at - 1] != '\n') --at;
        return at;
    }
    bool begins_line(std::size_t at) const {
        while (at > 0 && is_blank(buffer_[at - 1])) --at;
        return at == 0 || buffer_[at - 1] == '\n';
    }

    std::size_t read_mark(std::size_t at) {
        const std::string_view line = line_at(at);
        if (line.starts_with("#BEGIN_TB")) {
            if (in_cta_) fail(at, "a thread block begins inside another; '#END_TB' is missing before it");
            // "thread block = x,y,z" is the next line that is not empty.
            std::size_t from = at + line.size() + 1;
            std::string_view text;
            while (from < lines_end_ && (text = trimmed(line_at(from))).empty()) from += line_at(from).size() + 1;
            if (text.empty() && !ended_ && at != 0 && from - at < kMostHeader) return 0;
            constexpr std::string_view kKey = "thread block";
            const std::size_t equals = text.find('=');
            Dim3 id;
            if (equals == std::string_view::npos || trimmed(text.substr(0, equals)) != kKey || !parse_triple(text.substr(equals + 1), id))
                fail(std::min(from, size_), fmt::format("expected 'thread block = x,y,z' after '#BEGIN_TB', found '{}'", shown(text)));
            const std::size_t after = trace_.header_.version < 6 ? from + line_at(from).size() + 1 : read_cluster(at, from);
            if (after != 0) begin_cta(id, at, from);
            return after;
        }
        if (line.starts_with("#END_TB")) {
            if (!in_cta_) fail(at, "'#END_TB' without a thread block before it; '#BEGIN_TB' is missing");
            end_cta(at);
        }
        return at + line.size();
    }

    /// The lines between "thread block" and the first warp. Returns where they end; 0: needs more text than is here.
    std::size_t read_cluster(std::size_t begin, std::size_t at) {
        while (true) {
            at = std::min(at + line_at(at).size() + 1, lines_end_);
            if (at == lines_end_) return !ended_ && begin != 0 && at - begin < kMostHeader ? 0 : at;
            const std::string_view text = trimmed(line_at(at));
            if (text.empty()) continue;
            if (!text.starts_with("cluster")) return at;
            if (const std::string problem = parse_cluster_line(text, trace_.header_); !problem.empty()) fail(at, problem);
        }
    }

    void begin_cta(const Dim3& id, std::size_t at, std::size_t id_line) {
        if (const std::string problem = order_.add(id, trace_.header_.grid); !problem.empty()) fail(id_line, problem);
        in_cta_ = true;
        cta_offset_ = position_ + at;
        if (trace_.offsets_.size() > 1 << 27) fail(id_line, "the thread blocks so far have too many warps; split the trace");
        trace_.offsets_.resize(trace_.offsets_.size() + warps_ + 1, 0);
    }

    std::size_t read_warp(std::size_t at) {
        const std::string_view line = trimmed(line_at(at));
        if (!line.starts_with("warp")) return at + 1;
        const std::size_t equals = line.find('=');
        std::uint32_t warp = 0;
        if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != "warp" ||
            !parse_number(trimmed(line.substr(equals + 1)), 0xffffffff, warp))
            fail(at, fmt::format("expected 'warp = N', found '{}'", shown(line)));
        if (!in_cta_) fail(at, "a warp outside any thread block; '#BEGIN_TB' is missing before it");
        if (warp >= warps_)
            fail(at, fmt::format("warp {} of a thread block that has {} (0 to {}); block dim of the header or this line is wrong", warp,
                                 warps_, warps_ - 1));
        std::uint64_t& slot = trace_.offsets_[trace_.offsets_.size() - (warps_ + 1) + warp];
        if (slot != 0) fail(at, fmt::format("warp {} appears twice in its thread block; an '#END_TB' may be missing", warp));
        slot = position_ + at;
        return at + line_at(at).size();
    }

    void end_cta(std::size_t at) {
        const std::uint64_t* const row = &trace_.offsets_[trace_.offsets_.size() - (warps_ + 1)];
        for (std::uint32_t w = 0; w < warps_; ++w) {
            if (row[w] == 0)
                fail(at, fmt::format("the thread block ends without its warp {}; block dim of the header makes {} of them", w, warps_));
        }
        trace_.offsets_.back() = position_ + at;
        cta_offset_ = position_ + at;
        in_cta_ = false;
    }

    void finish() {
        const std::uint64_t expected = trace_.header_.grid.count();
        const std::uint64_t found = order_.count();
        if (found != expected)
            fail(size_,
                 fmt::format("thread blocks in the file: {}, in its grid: {}; it is cut off or its header is wrong", found, expected));
        trace_.offsets_.shrink_to_fit();
        if (const auto second = order_.positions(trace_.rows_)) {
            const std::uint64_t* const row = &trace_.offsets_[*second * (warps_ + 1)];
            trace_.fail(*std::min_element(row, row + warps_), order_.twice(*second, trace_.header_.grid));
        }
    }

    TraceFile& trace_;
    Input& input_;
    const std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kChunk + kPadding);
    std::uint64_t position_ = 0;  ///< of the buffer's first byte in the text
    std::size_t size_ = 0;
    std::size_t lines_end_ = 0;  ///< behind the last complete line
    bool ended_ = false;
    std::uint32_t warps_ = 0;
    bool in_cta_ = false;
    std::uint64_t cta_offset_ = 0;  ///< where the last thread block began, or ended
    CtaOrder order_;
};

namespace {
/// The number of the line that holds `offset`, counted from 1.
std::uint64_t line_number(const TraceFile& trace, std::uint64_t offset) {
    constexpr std::size_t kPiece = 64 << 10;
    const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
    std::uint64_t line = 1;
    for (std::uint64_t at = 0; at < offset;) {
        const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, offset - at));
        const std::size_t got = trace.read(at, buffer.get(), want);
        if (got == 0) break;
        line += static_cast<std::uint64_t>(std::count(buffer.get(), buffer.get() + got, '\n'));
        at += got;
    }
    return line;
}
}  // namespace

std::uint64_t TraceFile::Indexer::line_of_cta() const {
    return line_number(trace_, cta_offset_);
}

namespace {
Packing packing_of(std::string_view path) {
    return path.ends_with(".xz") ? Packing::xz : path.ends_with(".tracez") ? Packing::tracez : Packing::none;
}
}  // namespace

TraceFile::TraceFile(const std::string& path, const ReadProgress& progress)
    : TraceFile(open_input(path), path, packing_of(path), progress) {}

TraceFile::TraceFile(int descriptor, std::string name, Packing packing, const ReadProgress& progress)
    : name_(std::move(name)), file_(descriptor), packed_(packing == Packing::xz ? descriptor : -1) {
    try {
        if (packing == Packing::tracez) {
            container_ = std::make_unique<TracezFile>(file_, name_);
        } else if (packing == Packing::xz) {
            file_ = temporary_file(name_);  // error positions refer to the unpacked text
            XzInput input(packed_, file_, name_, progress);
            Indexer(*this, input).run();
        } else {
            PlainInput input(file_, name_, progress);
            Indexer(*this, input).run();
        }
    } catch (...) {
        close_all();
        throw;
    }
}

TraceFile::~TraceFile() {
    close_all();
}

void TraceFile::close_all() {
    if (packed_ >= 0) ::close(packed_);
    if (file_ != packed_) ::close(file_);
}

std::size_t TraceFile::read(std::uint64_t offset, char* to, std::size_t bytes) const {
    return read_at(file_, offset, to, bytes, name_);
}

void TraceFile::fail(std::uint64_t offset, std::string_view problem) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line_number(*this, offset), problem));
}

void TraceFile::fail_at_start(std::string_view problem) const {
    throw InputError(fmt::format("{}:1: {}", name_, problem));
}

}  // namespace mergelane::accelsim
