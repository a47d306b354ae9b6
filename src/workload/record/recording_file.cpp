// SPDX-License-Identifier: MIT
#include "workload/record/recording_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "files/field_bytes.hpp"
#include "files/input_file.hpp"

namespace mergelane::record {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMagic = 0x0004'4345'524C'4D00;  // with the version of the format; also distinguishes byte orders
constexpr std::uint64_t kTailBytes = 16;
constexpr std::uint64_t kMostThreads = 64 * kWarpLanes;  ///< of a CTA
constexpr std::uint32_t kMostSlots = 1 << 16;            ///< registers have 16 bits
constexpr std::uint8_t kMostLaneBytes = 32;
constexpr std::uint8_t kAsync = 0x40;  ///< shares a byte with the space and AsyncOp
constexpr std::uint8_t kSpace = 3;

/// Of one kernel. Starts with the key and the kernel's number: a kernel from another recording, or from another place, is damage.
struct Checksum {
    Checksum(std::string_view key, std::uint64_t number) {
        XXH3_INITSTATE(&state);
        XXH3_64bits_reset_withSeed(&state, number);
        add(key);
    }
    void add(std::string_view bytes) { XXH3_64bits_update(&state, bytes.data(), bytes.size()); }
    std::uint64_t value() const { return XXH3_64bits_digest(&state); }
    XXH3_state_t state;
};

/// All of a kernel but the CTAs' strings.
struct Head {
    KernelInfo info;
    RecordedProgram program;
    RecordTotals totals;
    std::vector<std::uint64_t> cta_bytes;
    ProgramText text;  ///< without origins: there is none
};

constexpr std::size_t kInstructionBytes = 10 + 2 * StaticInst::kMaxRegs;

template <class Stream>
void transfer(Stream& stream, Head& head) {
    RecordedProgram& program = head.program;
    stream(head.info.name);
    for (Dim3* dim : {&head.info.grid, &head.info.block}) stream(dim->x), stream(dim->y), stream(dim->z);
    stream(head.info.registers_per_thread);
    stream(head.info.register_slots);
    stream(head.info.shared_bytes);
    stream.size(program.instructions, kInstructionBytes);
    for (StaticInst& inst : program.instructions) {
        stream(inst.pc);
        stream(inst.op);
        auto where = static_cast<std::uint8_t>(static_cast<std::uint8_t>(inst.space) | static_cast<std::uint8_t>(inst.async_op) << 2 |
                                               (inst.async ? kAsync : 0));
        stream(where);
        inst.async = (where & kAsync) != 0;
        inst.async_op = static_cast<AsyncOp>((where & ~kAsync) >> 2);
        inst.space = static_cast<Space>(where & kSpace);
        stream(inst.lane_bytes);
        auto caches = static_cast<std::uint8_t>((inst.bypass_l1 ? 1 : 0) | inst.l2_hint.byte() << 1);
        stream(caches);
        inst.bypass_l1 = (caches & 1) != 0;
        inst.l2_hint = L2Hint::from_byte(caches >> 1);
        stream(inst.dst_count);
        stream(inst.reg_count);
        for (std::uint16_t& reg : inst.regs) stream(reg);
    }
    stream.size(program.runs, sizeof(StaticRun));
    for (StaticRun& run : program.runs) stream(run.first), stream(run.count);
    stream.size(program.memory_of, sizeof(std::uint32_t));
    for (std::uint32_t& number : program.memory_of) stream(number);
    stream(program.memory_count);
    stream(head.totals.warp_instructions);
    stream(head.totals.memory_instructions);
    stream.size(head.cta_bytes, sizeof(std::uint64_t));
    for (std::uint64_t& bytes : head.cta_bytes) stream(bytes);
    const bool clustered = head.info.cluster_ctas() != 1;
    if (!stream.more(!head.text.origins.empty() || clustered)) return;
    stream(head.info.registers_from);
    stream(head.text.file);
    stream.size(head.text.words, sizeof(std::uint64_t));
    for (std::string& word : head.text.words) stream(word);
    stream.size(head.text.origins, 6 * sizeof(std::uint32_t));
    for (ProgramText::Origin& origin : head.text.origins) {
        for (std::uint32_t* number :
             {&origin.opcode, &origin.ptx_line, &origin.source.file, &origin.source.line, &origin.inlined_at.file, &origin.inlined_at.line})
            stream(*number);
    }
    if (!stream.more(clustered)) return;
    stream(head.info.cluster.x), stream(head.info.cluster.y), stream(head.info.cluster.z);
}

/// The product is neither 0 nor above `most`.
bool plausible(const Dim3& size, std::uint64_t most) {
    std::uint64_t count = 1;
    for (const std::uint32_t side : {size.x, size.y, size.z}) {
        if (side == 0 || side > most / count) return false;
        count *= side;
    }
    return true;
}

/// What the machine relies on without checking.
bool plausible(const Head& head) {
    const RecordedProgram& program = head.program;
    if (!plausible(head.info.grid, head.cta_bytes.size()) || !plausible(head.info.block, kMostThreads)) return false;
    if (!fits_grid(head.info.cluster, head.info.grid)) return false;
    if (head.cta_bytes.size() != head.info.ctas() || head.info.register_slots > kMostSlots) return false;
    if (program.memory_of.size() != program.instructions.size() || program.memory_count > program.instructions.size()) return false;
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const StaticInst& inst = program.instructions[i];
        if (inst.op > OpClass::exit || inst.space > Space::shared || inst.reg_count > StaticInst::kMaxRegs) return false;
        if (inst.dst_count > inst.reg_count) return false;
        if (static_cast<std::uint8_t>(inst.async_op) >= kAsyncOps || (!inst.async && inst.async_op != AsyncOp::copy)) return false;
        if (has_values(inst) && !is_memory(inst)) return false;
        for (std::uint32_t r = 0; r < inst.reg_count; ++r) {
            if (inst.regs[r] >= head.info.register_slots) return false;
        }
        if (is_memory(inst) && (program.memory_of[i] >= program.memory_count || inst.lane_bytes == 0 || inst.lane_bytes > kMostLaneBytes))
            return false;
    }
    if (head.info.registers_from > RegisterCount::estimated) return false;
    const std::size_t words = head.text.words.size();
    for (const ProgramText::Origin& origin : head.text.origins) {
        if (origin.opcode >= words || origin.source.file >= words || origin.inlined_at.file >= words) return false;
    }
    for (const StaticRun& run : program.runs) {
        if (run.first > program.instructions.size() || run.count > program.instructions.size() - run.first) return false;
    }
    return true;
}

void write_number(AtomicFile& file, std::uint64_t value) {
    file.write({reinterpret_cast<const char*>(&value), sizeof value});
}

}  // namespace

RecordingWriter::RecordingWriter(const fs::path& path, std::string_view key, std::uint64_t most_bytes) noexcept : most_bytes_(most_bytes) {
    try {
        std::error_code problem;
        fs::create_directories(path.parent_path(), problem);
        key_ = key;
        file_.emplace(path, Durability::cached);
        write_number(*file_, kMagic);
        write_number(*file_, key.size());
        file_->write(key);
    } catch (...) {
        file_.reset();  // nothing is kept, then
    }
}

void RecordingWriter::add(const RecordedKernel& kernel) noexcept try {
    if (!file_) return;
    Head head{
        kernel.info(), kernel.program(), kernel.totals, {}, kernel.program().text != nullptr ? *kernel.program().text : ProgramText{}};
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) head.cta_bytes.push_back(kernel.cta(cta).size());
    FieldWriter out;
    transfer(out, head);
    bytes_ += out.bytes.size() + kernel.totals.bytes;
    if (bytes_ > most_bytes_) return file_.reset();
    Checksum checksum(key_, kernels_);
    checksum.add(out.bytes);
    write_number(*file_, out.bytes.size());
    file_->write(out.bytes);
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) {
        checksum.add(kernel.cta(cta));
        file_->write(kernel.cta(cta));
    }
    write_number(*file_, checksum.value());
    ++kernels_;
} catch (...) {
    file_.reset();
}

void RecordingWriter::finish() noexcept try {
    if (!file_) return;
    write_number(*file_, 0);
    write_number(*file_, kernels_);
    file_->commit();
    file_.reset();
} catch (...) {
    file_.reset();
}

std::unique_ptr<RecordingReader> RecordingReader::open(const fs::path& path, std::string_view key, Checksums checksums,
                                                       std::uint64_t most_bytes) {
    std::unique_ptr<RecordingReader> reader(new RecordingReader);
    reader->path_ = path;
    reader->key_ = key;
    reader->checksums_ = checksums;
    std::string found;
    std::uint64_t size = 0;
    const int file = open_input(path, found, &size);
    if (file < 0) return nullptr;
    reader->file_.reset(::fdopen(file, "rb"));
    if (reader->file_ == nullptr) throw std::bad_alloc();
    const std::uint64_t start = 16 + key.size();
    if (size < start + kTailBytes || size > 2 * most_bytes) return nullptr;  // longer ones are not written
    if (reader->read_number() != kMagic || reader->read_number() != key.size()) return nullptr;
    found.resize(key.size());
    reader->read(found.data(), found.size());
    if (!reader->good_ || found != key) return nullptr;
    reader->left_ = size - start - kTailBytes;
    return reader;
}

std::uint64_t RecordingReader::read_number() {
    std::uint64_t value = 0;
    read(&value, sizeof value);
    return value;
}

void RecordingReader::damaged() const {
    throw DamagedRecording(fmt::format("the recording '{}' is damaged; delete it, or run with --no-cache", path_.string()));
}

/// False after the last kernel.
bool RecordingReader::next_head(std::string& bytes) {
    const std::uint64_t head_bytes = read_number();
    if (!good_) damaged();
    if (head_bytes == 0 && left_ == 0) {
        if (read_number() != kernels_ || !good_) damaged();
        return false;
    }
    if (head_bytes == 0 || left_ < kTailBytes || head_bytes > left_ - kTailBytes) damaged();
    left_ -= head_bytes + kTailBytes;
    bytes.resize(head_bytes);
    read(bytes.data(), bytes.size());
    if (!good_) damaged();
    return true;
}

bool RecordingReader::skip() {
    std::string bytes;
    if (!next_head(bytes)) return false;
    Head head;
    FieldReader in(bytes);
    transfer(in, head);
    if (!in.good() || !plausible(head)) damaged();
    std::uint64_t strings = 0;
    for (const std::uint64_t length : head.cta_bytes) {
        if (length > left_) damaged();
        left_ -= length;
        strings += length;
    }
    if (::fseeko(file_.get(), static_cast<off_t>(strings + sizeof(std::uint64_t)), SEEK_CUR) != 0) damaged();
    ++kernels_;
    return true;
}

std::unique_ptr<RecordedKernel> RecordingReader::next() {
    std::string bytes;
    if (!next_head(bytes)) return nullptr;
    Checksum checksum(key_, kernels_);
    checksum.add(bytes);
    Head head;
    FieldReader in(bytes);
    transfer(in, head);
    if (!in.good() || !plausible(head)) damaged();
    const std::vector<std::uint64_t> lengths = std::move(head.cta_bytes);
    if (!head.text.origins.empty()) head.program.text = std::make_shared<const ProgramText>(std::move(head.text));
    auto kernel = std::make_unique<RecordedKernel>(std::move(head.info), std::move(head.program));
    kernel->totals = head.totals;
    for (std::uint64_t cta = 0; cta < lengths.size(); ++cta) {
        if (lengths[cta] > left_) damaged();
        left_ -= lengths[cta];
        bytes.resize(lengths[cta]);
        read(bytes.data(), bytes.size());
        checksum.add(bytes);
        kernel->put_bytes(cta, bytes);
    }
    const std::uint64_t expected = read_number();
    if (!good_ || (checksums_ == Checksums::verify && expected != checksum.value())) damaged();
    ++kernels_;
    return kernel;
}

}  // namespace mergelane::record
