// SPDX-License-Identifier: MIT
#include "workload/accelsim/tracez_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/error.hpp"
#include "files/input_file.hpp"
#include "workload/accelsim/cta_order.hpp"

namespace mergelane::accelsim {

namespace {

constexpr std::size_t kMostHeader = 64 << 10;
constexpr std::size_t kMostDictionary = 1 << 20;  ///< sixteen times what Accel-Sim trains
constexpr std::size_t kMostIndex = 1 << 28;       ///< words in memory
#ifdef MERGELANE_SMALL_BUFFERS                    // so that a fuzzer's short inputs reach every boundary
constexpr std::size_t kPiece = 300;
constexpr std::size_t kMostChunk = 16 << 10;
constexpr std::uint64_t kMostOpen = 1 << 20;
#else
constexpr std::size_t kPiece = 16 << 10;         ///< bytes read at once; most sub-chunks are smaller
constexpr std::size_t kMostChunk = 64 << 20;     ///< bytes of an unpacked sub-chunk
constexpr std::uint64_t kMostOpen = 4ull << 30;  ///< bytes of all sub-chunks that are unpacked at the same time
#endif
constexpr std::size_t kMostLine = 64 << 10;  ///< of an instruction, on average over a sub-chunk
constexpr std::size_t kWarpHeader = 8;       ///< bytes: instructions and sub-chunks
constexpr std::uint64_t kFooter = 8;
constexpr std::string_view kDictionaryMagic = "\x37\xA4\x30\xEC";

std::uint32_t load32(const char* from) {
    std::uint32_t value = 0;
    for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(from[i]);
    return value;
}
std::uint64_t load64(const char* from) {
    return load32(from) | std::uint64_t{load32(from + 4)} << 32;
}

constexpr std::string_view kAgain = "; it is cut off or damaged, copy or make it again";

}  // namespace

TracezFile::TracezFile(int file, const std::string& name) : file_(file), name_(name) {
    struct stat info {};
    if (::fstat(file, &info) == 0) size_ = static_cast<std::uint64_t>(info.st_size);
    try {
        read_header();
        if (size_ < data_begin_ + 4 + kFooter) fail(fmt::format("ends before its index{}", kAgain));
        char footer[kFooter];
        read_exactly(size_ - kFooter, footer, sizeof footer);
        data_end_ = load64(footer);
        if (data_end_ < data_begin_ || data_end_ > size_ - kFooter - 4)
            fail(fmt::format("its last eight bytes name {} as the offset of the index, which must lie between {} and {}{}", data_end_,
                             data_begin_, size_ - kFooter - 4, kAgain));
        read_index(data_end_, size_ - kFooter);
    } catch (...) {
        ZSTD_freeDDict(dictionary_);
        throw;
    }
}

TracezFile::~TracezFile() {
    for (ZSTD_DCtx* const unpacker : unpackers_) ZSTD_freeDCtx(unpacker);
    ZSTD_freeDDict(dictionary_);
}

void TracezFile::fail(std::string_view problem) const {
    throw InputError(fmt::format("{}: {}", name_, problem));
}

std::string TracezFile::place_text(const ChunkPlace& place) const {
    const Dim3& grid = header_.grid;
    return fmt::format("thread block {},{},{} warp {}", place.cta % grid.x, place.cta / grid.x % grid.y, place.cta / grid.x / grid.y,
                       place.warp);
}

void TracezFile::fail(const ChunkPlace& place, std::string_view problem) const {
    fail(fmt::format("{} sub-chunk {}: {}", place_text(place), place.chunk + 1, problem));
}

void TracezFile::fail(const ChunkPlace& place, std::uint64_t instruction, std::string_view problem) const {
    fail(fmt::format("{} sub-chunk {} instruction {}: {}", place_text(place), place.chunk + 1, instruction, problem));
}

void TracezFile::read_exactly(std::uint64_t offset, char* to, std::size_t bytes) const {
    if (read_at(file_, offset, to, bytes, name_) != bytes) fail("became shorter while it was read; run again when it is complete");
}

void TracezFile::read_header() {
    if (size_ == 0) fail("the file is empty; copy or make it again");
    header_text_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size_, kMostHeader)));
    read_exactly(0, header_text_.data(), header_text_.size());
    const std::size_t end = header_text_.find('\0');
    if (end == std::string::npos)
        fail("has no zero byte at the end of its header; is this a .tracez file? rename it to .traceg if it is plain text");
    header_text_.resize(end);
    std::string_view rest = header_text_;
    for (std::uint32_t number = 1; !rest.empty(); ++number) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::string_view text = trimmed(line);
        if (text.starts_with('#')) break;
        if (text.empty()) continue;
        if (const std::string problem = parse_header_line(text, header_); !problem.empty())
            throw InputError(fmt::format("{}:{}: {}", name_, number, problem));
    }
    if (const std::string problem = missing_in(header_); !problem.empty()) fail(problem);
    if (header_.kernel_name.empty()) header_.kernel_name = "unnamed";
    read_dictionary(end + 1);
}

void TracezFile::read_dictionary(std::uint64_t at) {
    char sizes[8];
    if (size_ < at + sizeof sizes) fail(fmt::format("ends behind its header{}", kAgain));
    read_exactly(at, sizes, sizeof sizes);
    const std::uint32_t bytes = load32(sizes);  // the other number is the usual size of a sub-chunk; the index has the true ones
    data_begin_ = at + sizeof sizes + bytes;
    if (data_begin_ > size_) fail(fmt::format("its dictionary of {} bytes does not fit into the file of {}{}", bytes, size_, kAgain));
    if (bytes == 0) return;
    if (bytes > kMostDictionary) fail(fmt::format("its dictionary has {} bytes, but at most 1 MiB are accepted; is it damaged?", bytes));
    std::vector<char> dictionary(bytes);
    read_exactly(at + sizeof sizes, dictionary.data(), bytes);
    const bool zstd = std::string_view(dictionary.data(), bytes).starts_with(kDictionaryMagic);
    if (zstd) dictionary_ = ZSTD_createDDict(dictionary.data(), bytes);
    if (dictionary_ == nullptr) fail("its dictionary is not one of zstd; the file is damaged, copy or make it again");
}

void TracezFile::read_index(std::uint64_t begin, std::uint64_t end) {
    if ((end - begin) % 4 != 0) fail(fmt::format("its index has {} bytes, not a multiple of four{}", end - begin, kAgain));
    char count[4];
    read_exactly(begin, count, sizeof count);
    begin += sizeof count;
    const std::uint64_t ctas = load32(count);
    const std::uint64_t wanted = header_.grid.count();
    if (ctas != wanted)
        fail(fmt::format("thread blocks in its index: {}, in its grid: {}; trace all of them, the tracer leaves out what it did not see",
                         ctas, wanted));
    const std::uint64_t words = (end - begin) / 4;
    // Before anything is reserved for them.
    if (words / (kCtaWords + std::uint64_t{4} * header_.warps()) < ctas)
        fail(fmt::format("its index of {} bytes is too short for {} thread blocks of {} warps{}", end - begin, ctas, header_.warps(),
                         kAgain));
    if (words > kMostIndex) fail("its index has more than 1 GiB; split the trace");
    index_.resize(static_cast<std::size_t>(words));
    read_exactly(begin, reinterpret_cast<char*>(index_.data()), index_.size() * 4);
    for (std::uint32_t& word : index_) word = load32(reinterpret_cast<const char*>(&word));

    CtaOrder order;
    std::size_t at = 0;
    for (std::uint64_t cta = 0; cta < ctas; ++cta) {
        records_.push_back(at);
        if (index_.size() - at < kCtaWords) fail(fmt::format("its index ends within thread block {} of {}{}", cta + 1, ctas, kAgain));
        const std::uint32_t* const record = &index_[at];
        if (const std::string problem = order.add({record[0], record[1], record[2]}, header_.grid); !problem.empty())
            fail(fmt::format("{}{}", problem, kAgain));
        check_cta(at);
    }
    if (at != index_.size())
        fail(fmt::format("has {} bytes behind the last thread block of its index{}", (index_.size() - at) * 4, kAgain));
    if (const auto second = order.positions(positions_)) fail(order.twice(*second, header_.grid));
}

/// The warps of one CTA; `word` moves behind them.
void TracezFile::check_cta(std::size_t& word) {
    const std::uint32_t* const record = &index_[word];
    const std::string name = fmt::format("thread block {},{},{}", record[0], record[1], record[2]);
    if (record[9] > kMostClusterRank)
        fail(fmt::format("{} has cluster rank {}, but at most {} is possible{}", name, record[9], kMostClusterRank, kAgain));
    header_.cluster_ctas = std::max(header_.cluster_ctas, record[9] + 1);
    if (record[10] != header_.warps())
        fail(fmt::format("{} has {} warps in the index, but block dim of the header makes {} of them{}", name, record[10], header_.warps(),
                         kAgain));
    word += kCtaWords;
    for (std::uint32_t w = 0; w < header_.warps(); ++w) {
        const std::size_t left = index_.size() - word;
        if (left < 4 || left - 4 < index_[word + 1]) fail(fmt::format("its index ends within warp {} of {}{}", w, name, kAgain));
        const WarpRecord found = warp(word);
        if (found.offset < data_begin_ || found.offset > data_end_ || data_end_ - found.offset < kWarpHeader)
            fail(fmt::format("{} warp {} begins at offset {}, outside the {} to {} where warps are{}", name, w, found.offset, data_begin_,
                             data_end_, kAgain));
        std::uint64_t sum = 0;
        for (const std::uint32_t count : found.counts) sum += count;
        if (sum != found.instructions)
            fail(fmt::format("{} warp {} has {} instructions, but its sub-chunks have {} together{}", name, w, found.instructions, sum,
                             kAgain));
    }
}

WarpRecord TracezFile::warp(std::size_t& word) const {
    const std::uint32_t* const at = &index_[word];
    word += 4 + std::size_t{at[1]};
    return {at[0], at[2] | std::uint64_t{at[3]} << 32, {at + 4, at[1]}};
}

/// There are as many unpackers as threads need at the same time: each takes 160 KB, and a machine has thousands of places for CTAs.
std::size_t TracezFile::unpack(char* to, std::size_t room, const char* from, std::size_t bytes) const {
    ZSTD_DCtx* unpacker = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (!unpackers_.empty()) {
            unpacker = unpackers_.back();
            unpackers_.pop_back();
        }
    }
    if (unpacker == nullptr) unpacker = ZSTD_createDCtx();
    if (unpacker == nullptr) throw std::bad_alloc();
    const std::size_t result = ZSTD_decompress_usingDDict(unpacker, to, room, from, bytes, dictionary_);
    const std::lock_guard lock(mutex_);
    unpackers_.push_back(unpacker);
    return result;
}

ChunkReader::~ChunkReader() {
    *unpacked_ -= held_;
}

/// Bytes of the file, valid until the next call.
const char* ChunkReader::fetch(const ChunkPlace& place, std::uint64_t offset, std::size_t bytes) {
    if (offset >= packed_at_ && offset - packed_at_ <= packed_size_ && packed_size_ - (offset - packed_at_) >= bytes)
        return packed_.data() + (offset - packed_at_);
    const std::uint64_t left = file_.data_end_ - offset;
    if (offset > file_.data_end_ || left < bytes) file_.fail(place, fmt::format("reaches into the index{}", kAgain));
    packed_size_ = 0;  // in case of an exception
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(bytes, kPiece)));
    if (packed_.size() < wanted) packed_.resize(wanted);
    file_.read_exactly(offset, packed_.data(), wanted);
    packed_at_ = offset;
    packed_size_ = wanted;
    return packed_.data();
}

std::uint64_t ChunkReader::open(const ChunkPlace& place, const WarpRecord& warp) {
    const char* const header = fetch(place, warp.offset, kWarpHeader);
    const std::uint32_t instructions = load32(header);
    const std::uint32_t chunks = load32(header + 4);
    if (instructions != warp.instructions || chunks != warp.counts.size())
        file_.fail(place, fmt::format("the warp has {} instructions in {} sub-chunks, in the index {} in {}; the file is damaged, copy or "
                                      "make it again",
                                      instructions, chunks, warp.instructions, warp.counts.size()));
    return warp.offset + kWarpHeader;
}

void ChunkReader::reserve(const ChunkPlace& place, std::size_t bytes, TextBuffer& to) {
    if (to.size >= bytes) return;
    const std::uint64_t more = bytes - to.size;
    if ((*unpacked_ += more) > kMostOpen) {
        *unpacked_ -= more;
        file_.fail(place,
                   "the sub-chunks of all warps on the machine take more than 4 GiB; make the trace again with shorter ones "
                   "(TRACEZ_SUBCHUNK_INSTS=256)");
    }
    held_ += more;
    to.text.reset();
    to.text.reset(new char[bytes]);  // not cleared: it is about to be overwritten
    to.size = bytes;
}

std::uint64_t ChunkReader::unpack(const ChunkPlace& place, std::uint64_t offset, std::uint32_t count, TextBuffer& to, std::size_t& bytes) {
    const std::uint32_t packed = load32(fetch(place, offset, 4));
    offset += 4;
    const char* const frame = fetch(place, offset, packed);
    const unsigned long long content = ZSTD_getFrameContentSize(frame, packed);
    if (content == ZSTD_CONTENTSIZE_ERROR) file_.fail(place, fmt::format("is not a zstd frame{}", kAgain));
    if (content == ZSTD_CONTENTSIZE_UNKNOWN)
        file_.fail(place, "its zstd frame does not say how large its content is; pack it with the content size");
    if (content > kMostChunk || content > std::uint64_t{count} * kMostLine)
        file_.fail(place, fmt::format("unpacks to {} bytes; at most 64 MiB and 64 KiB per instruction are accepted, and it has {}", content,
                                      count));
    bytes = static_cast<std::size_t>(content);
    reserve(place, bytes + 2 + kTextPadding, to);
    char* const text = to.text.get();
    text[0] = '\n';
    // All of it must be one frame: a second one would not fit into the content.
    const std::size_t got = file_.unpack(text + 1, bytes, frame, packed);
    if (ZSTD_isError(got) != 0) file_.fail(place, fmt::format("is damaged: {}; copy or make the file again", ZSTD_getErrorName(got)));
    if (got != bytes) file_.fail(place, fmt::format("unpacks to {} bytes instead of {}{}", got, bytes, kAgain));
    text[bytes + 1] = '\n';
    std::memset(text + bytes + 2, 0, kTextPadding);
    const auto breaks = static_cast<std::uint64_t>(std::count(text + 1, text + 1 + bytes, '\n'));
    const std::uint64_t lines = bytes == 0 ? 0 : breaks + 1;
    if (lines != count) file_.fail(place, fmt::format("has {} lines, but {} instructions in the index{}", lines, count, kAgain));
    return offset + packed;
}

void write_text(const TracezFile& file, const std::function<void(std::string_view)>& put) {
    put(file.header_text());
    ChunkReader reader(file);
    TextBuffer text;
    std::size_t bytes = 0;
    for (std::uint64_t position = 0; position < file.header().grid.count(); ++position) {
        std::size_t word = file.record_at(position);
        const std::span<const std::uint32_t> cta = file.words().subspan(word, TracezFile::kCtaWords);
        put(fmt::format("\n#BEGIN_TB\n\nthread block = {},{},{}\n", cta[0], cta[1], cta[2]));
        if (file.header().version >= 6)
            put(fmt::format("cluster id = {},{},{}\ncluster cta = {},{},{}\ncluster rank = {}\n", cta[3], cta[4], cta[5], cta[6], cta[7],
                            cta[8], cta[9]));
        word += TracezFile::kCtaWords;
        const Dim3& grid = file.header().grid;
        ChunkPlace place{cta[0] + std::uint64_t{grid.x} * (cta[1] + std::uint64_t{grid.y} * cta[2]), 0, 0};
        for (; place.warp < file.header().warps(); ++place.warp) {
            const WarpRecord warp = file.warp(word);
            put(fmt::format("\nwarp = {}\ninsts = {}", place.warp, warp.instructions));
            place.chunk = 0;
            std::uint64_t offset = reader.open(place, warp);
            for (; place.chunk < warp.counts.size(); ++place.chunk) {
                offset = reader.unpack(place, offset, warp.counts[place.chunk], text, bytes);
                if (bytes != 0) put({text.text.get(), bytes + 1});
            }
            put("\n");
        }
        put("\n#END_TB\n");
    }
}

}  // namespace mergelane::accelsim
