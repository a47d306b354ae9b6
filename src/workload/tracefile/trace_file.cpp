// SPDX-License-Identifier: MIT
#include "workload/tracefile/trace_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/skippable_workload.hpp"
#include "files/input_file.hpp"
#include "workload/tracefile/file_kernel.hpp"

namespace mergelane::tracefile {

TraceFile::TraceFile(const std::string& path) : TraceFile(open_input(path), path) {}

TraceFile::TraceFile(int descriptor, std::string name, Checksums checksums)
    : name_(std::move(name)), file_(descriptor), checksums_(checksums) {
    if (file_ < 0) fail(fmt::format("cannot be opened ({}); does it exist, and may you read it?", std::strerror(errno)));
    try {
        load();
    } catch (...) {
        ::close(file_);
        throw;
    }
}

TraceFile::~TraceFile() {
    ::close(file_);
}

void TraceFile::fail(std::string_view problem) const {
    throw InputError(fmt::format("{}: {}", name_, problem));
}

void TraceFile::read(std::uint64_t offset, char* to, std::uint64_t bytes) const {
    if (read_at(file_, offset, to, bytes, name_) != bytes) fail("became shorter while it was read");
}

void TraceFile::load() {
    struct stat status {};
    if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) fail("is not a file; name a trace file (.mlt)");
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    // 1. The header says what it is.
    char header[kHeaderBytes] = {};
    read(0, header, std::min(bytes_, kHeaderBytes));
    if (std::string_view(header, kMagic.size()) != kMagic)
        fail(
            "is not a trace file (.mlt): it does not begin as one; make one with 'mergelane trace record', or from a trace of Accel-Sim "
            "with "
            "'mergelane trace convert'");
    if (bytes_ < kHeaderBytes + kFooterBytes) fail("is cut off after its first bytes; copy or record it again");
    if (const std::uint32_t version = get_u32(header + 8); version < kFirstVersion || version > kVersion)
        fail(fmt::format("has format version {}, but this program reads versions {} to {}; record it again with this program", version,
                         kFirstVersion, kVersion));
    const bool verify = checksums_ == Checksums::verify;
    if (verify && get_u64(header + 16) != hash({header, 16})) fail("its header is damaged (wrong checksum); copy or record it again");
    // 2. The footer says where the index is; it is written last, so a file without one is incomplete.
    char footer[kFooterBytes];
    read(bytes_ - kFooterBytes, footer, kFooterBytes);
    if (std::string_view(footer + 32, kEndMagic.size()) != kEndMagic)
        fail("is cut off or something was added: its end is missing; copy or record it again");
    if (verify && get_u64(footer + 24) != hash({footer, 24})) fail("its footer is damaged (wrong checksum); copy or record it again");
    const Block block{get_u64(footer), get_u64(footer + 8), get_u64(footer + 16)};
    if (block.offset < kHeaderBytes || block.offset > bytes_ || block.packed > bytes_ || block.end() != bytes_ - kFooterBytes)
        fail("its index lies outside the file; copy or record it again");
    if (block.raw > kMostIndexBytes || !Unpacker::plausible(block.raw, block.packed))
        fail("its index has an impossible size; record it again");
    // 3. The index.
    try {
        std::string raw(block.raw, '\0');
        unpack(block, raw.data(), nullptr, "index");
        index_ = decode_index(raw, block.offset);
    } catch (const Damage& damage) {
        fail(fmt::format("its index is damaged: {}; record it again", damage.what));
    }
}

std::unique_ptr<TraceFile::Bench> TraceFile::take_bench() const {
    const std::lock_guard lock(benches_mutex_);
    if (benches_.empty()) return std::make_unique<Bench>();
    std::unique_ptr<Bench> bench = std::move(benches_.back());
    benches_.pop_back();
    return bench;
}

void TraceFile::unpack(const Block& block, char* to, const UnpackDictionary* dictionary, std::string_view what) const {
    std::unique_ptr<Bench> bench = take_bench();
    std::string& frame = bench->frame;
    frame.resize(kHashBytes + block.packed);
    read(block.offset, frame.data(), frame.size());
    const std::string_view packed = std::string_view(frame).substr(kHashBytes);
    if (checksums_ == Checksums::verify && get_u64(frame.data()) != hash(packed, block.offset))
        fail(fmt::format("{} is damaged (wrong checksum); copy or record the file again", what));
    bench->unpacker.unpack(packed, block.raw, to, dictionary);
    const std::lock_guard lock(benches_mutex_);
    benches_.push_back(std::move(bench));
}

std::unique_ptr<KernelSource> TraceFile::kernel(std::size_t number) const {
    return std::make_unique<FileKernel>(*this, number);
}

namespace {

class FileWorkload final : public SkippableWorkload {
public:
    FileWorkload(int descriptor, std::string name, std::uint64_t first, std::uint64_t last)
        : file_(descriptor, std::move(name)), next_(first - 1), end_(last) {
        const std::size_t count = file_.index().kernels.size();
        if (first > count) file_.fail(fmt::format("has {} kernel{}, but the range starts at {}", count, count == 1 ? "" : "s", first));
        end_ = std::min<std::uint64_t>(last, count);
    }
    const std::string& name() const override { return file_.index().source; }
    const KernelSource* next_kernel() override {
        kernel_.reset();
        if (next_ == end_) return nullptr;
        kernel_ = file_.kernel(next_++);
        return kernel_.get();
    }
    bool skip_kernel() override {
        kernel_.reset();
        return next_ != end_ && ++next_ <= end_;
    }

private:
    TraceFile file_;
    std::unique_ptr<KernelSource> kernel_;
    std::size_t next_;
    std::uint64_t end_;
};

}  // namespace

std::unique_ptr<Workload> open_trace_file(const std::string& path, std::uint64_t first, std::uint64_t last) {
    return open_trace_file(open_input(path), path, first, last);
}

std::unique_ptr<Workload> open_trace_file(int descriptor, std::string name, std::uint64_t first, std::uint64_t last) {
    return std::make_unique<FileWorkload>(descriptor, std::move(name), first, last);
}

}  // namespace mergelane::tracefile
