// SPDX-License-Identifier: MIT
#include "runs/record_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "files/input_file.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPlainPiece = std::size_t{4} << 20;
constexpr std::size_t kQuickBlock = std::size_t{512} << 10;
constexpr std::size_t kDenseBlock = std::size_t{16} << 20;
constexpr std::size_t kMostBlock = kDenseBlock + kMostLine + 1;
constexpr std::uint64_t kMostRatio = 300;  // 12 to 21 in the results of the papers
constexpr int kQuickLevel = 1;             // names of statistics repeat in every line: any level finds them
constexpr int kDenseLevel = 19;

/// Lines of one piece of text; returns what is left of it: the last line without an end.
template <typename Use>
std::size_t split_lines(std::string_view text, std::uint64_t block, std::uint64_t offset, std::uint64_t& number, const Use& use) {
    std::size_t at = 0;
    while (at < text.size()) {
        const void* const end = std::memchr(text.data() + at, '\n', text.size() - at);
        if (end == nullptr) break;
        const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - text.data()) - at;
        use({text.substr(at, length), ++number, true, {block, offset + at, static_cast<std::uint32_t>(length)}});
        at += length + 1;
    }
    return at;
}

}  // namespace

void check_length(std::size_t length, const fs::path& file) {
    if (length > kMostLine)
        throw InputError(fmt::format("{}: has a line of more than {} MiB, which is not a record; remove it from the store", file.string(),
                                     kMostLine >> 20));
}

void check_ratio(std::uint64_t packed, std::uint64_t unpacked, const fs::path& file) {
    if (unpacked > kMostBlock + kMostRatio * packed)
        throw InputError(fmt::format("{}: unpacks to more than {} times its size, which records never do; remove it from the store",
                                     file.string(), kMostRatio));
}

bool is_packed_file(const fs::path& path) {
    return path.filename().string().ends_with(kPackedSuffix);
}
bool is_record_file(const fs::path& path) {
    return path.filename().string().ends_with(kPlainSuffix) || is_packed_file(path);
}
bool is_xz_file(const fs::path& path) {
    return path.filename().string().ends_with(".jsonl.xz");
}

RecordFile::RecordFile(fs::path path) : path_(std::move(path)), packed_(is_packed_file(path_)) {
    std::string problem;
    fd_ = open_input(path_, problem, &bytes_);
    if (fd_ < 0 && errno == ENOENT) throw FileIsGone(path_);
    if (fd_ < 0) throw InputError(fmt::format("{}: {}", path_.string(), problem));
}

RecordFile::~RecordFile() {
    close(fd_);
}

void RecordFile::damaged() const {
    throw InputError(
        fmt::format("{}: is damaged or cut off; remove it, and merge or pack again if what it was made of is still there", path_.string()));
}

std::size_t RecordFile::read_at(std::uint64_t offset, std::size_t most, std::string& buffer) const {
    const std::size_t before = buffer.size();
    buffer.resize(before + most);
    const std::size_t got = mergelane::read_at(fd_, offset, buffer.data() + before, most, path_.string());
    buffer.resize(before + got);
    return got;
}

void RecordFile::scan(std::uint64_t from, const std::function<void(const FileLine&)>& use) {
    packed_ ? scan_packed(use) : scan_plain(from, use);
}

void RecordFile::scan_plain(std::uint64_t from, const std::function<void(const FileLine&)>& use) {
    std::string piece;
    std::uint64_t number = 0;
    while (from + piece.size() < bytes_) {
        const std::uint64_t at = from + piece.size();
        if (read_at(at, static_cast<std::size_t>(std::min<std::uint64_t>(kPlainPiece, bytes_ - at)), piece) == 0) break;
        const std::size_t end = split_lines(piece, 0, from, number, use);
        piece.erase(0, end);
        from += end;
        check_length(piece.size(), path_);
    }
    if (!piece.empty()) use({piece, number + 1, false, {0, from, 0}});
}

void RecordFile::scan_packed(const std::function<void(const FileLine&)>& use) {
    std::uint64_t number = 0, unpacked = 0;
    for (std::uint64_t block = 0; block < bytes_; block += block_bytes_) {
        read_block(block);
        unpacked += text_.size();
        check_ratio(block + block_bytes_, unpacked, path_);
        if (split_lines(text_, block, 0, number, use) != text_.size()) damaged();
    }
}

/// text_ becomes the block's.
void RecordFile::read_block(std::uint64_t block) {
    if (block_ == block) return;
    block_ = ~0ull;
    std::string packed;
    std::size_t size = ZSTD_CONTENTSIZE_ERROR;
    for (std::size_t most = kQuickBlock; ZSTD_isError(size); most *= 2) {
        packed.clear();
        read_at(block, most, packed);
        size = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
        if (ZSTD_isError(size) && (packed.size() < most || most > kMostBlock)) damaged();
    }
    const unsigned long long whole = ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (whole == ZSTD_CONTENTSIZE_UNKNOWN || whole == ZSTD_CONTENTSIZE_ERROR) damaged();
    if (whole > kMostBlock)
        throw InputError(fmt::format("{}: has a block of {} MiB; blocks of a store have at most {}; remove it from the store",
                                     path_.string(), whole >> 20, kMostBlock >> 20));
    text_.resize(whole);
    if (ZSTD_decompress(text_.data(), text_.size(), packed.data(), size) != whole) damaged();
    block_ = block;
    block_bytes_ = size;
}

std::string_view RecordFile::read(const LinePlace& place) {
    if (!packed_) {
        text_.clear();
        if (read_at(place.offset, place.length, text_) != place.length) damaged();
        return text_;
    }
    read_block(place.block);
    if (place.offset > text_.size() || place.length > text_.size() - place.offset) damaged();
    return std::string_view(text_).substr(place.offset, place.length);
}

std::uint64_t RecordFile::number_of(const LinePlace& place) {
    std::uint64_t number = 0;
    scan(0, [&](const FileLine& line) {
        if (std::pair(line.place.block, line.place.offset) <= std::pair(place.block, place.offset)) number = line.number;
    });
    return number;
}

void write_whole(int fd, std::string_view bytes, const fs::path& path) {
    ssize_t written = 0;
    do {
        written = write(fd, bytes.data(), bytes.size());
    } while (written < 0 && errno == EINTR);
    if (written == static_cast<ssize_t>(bytes.size())) return;
    throw InputError(fmt::format("cannot write '{}': {}; finished runs are kept; free disk space and repeat the command", path.string(),
                                 written < 0 ? std::strerror(errno) : "disk full"));
}

struct PackedWriter::Compressor {
    Compressor() {
        if (context == nullptr) throw std::bad_alloc();
    }
    ZSTD_CCtx* context = ZSTD_createCCtx();
    std::string packed;
    ~Compressor() { ZSTD_freeCCtx(context); }
};

PackedWriter::PackedWriter(fs::path path, Density density)
    : file_(std::move(path)), compressor_(std::make_unique<Compressor>()), block_(density == Density::quick ? kQuickBlock : kDenseBlock) {
    ZSTD_CCtx_setParameter(compressor_->context, ZSTD_c_compressionLevel, density == Density::quick ? kQuickLevel : kDenseLevel);
    ZSTD_CCtx_setParameter(compressor_->context, ZSTD_c_checksumFlag, 1);
}

PackedWriter::~PackedWriter() = default;

void PackedWriter::add(std::string_view line) {
    check_length(line.size(), file_.path());
    pending_ += line;
    pending_ += '\n';
    if (pending_.size() >= block_) write_block();
}

void PackedWriter::write_block() {
    std::string& packed = compressor_->packed;
    packed.resize(ZSTD_compressBound(pending_.size()));
    const std::size_t size = ZSTD_compress2(compressor_->context, packed.data(), packed.size(), pending_.data(), pending_.size());
    if (ZSTD_isError(size)) throw std::bad_alloc();  // with enough room there is no other reason
    file_.write(std::string_view(packed).substr(0, size));
    pending_.clear();
}

void PackedWriter::finish() {
    if (!pending_.empty()) write_block();
    file_.commit();
}

}  // namespace mergelane::study
