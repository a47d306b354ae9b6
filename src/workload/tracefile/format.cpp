// SPDX-License-Identifier: MIT
#include "workload/tracefile/format.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <new>

#include "core/text.hpp"

namespace mergelane::tracefile {

std::uint64_t hash(std::string_view bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

void put_u32(std::string& to, std::uint32_t value) {
    for (std::uint32_t i = 0; i < 4; ++i) to.push_back(static_cast<char>(value >> 8 * i));
}
void put_u64(std::string& to, std::uint64_t value) {
    for (std::uint32_t i = 0; i < 8; ++i) to.push_back(static_cast<char>(value >> 8 * i));
}
std::uint32_t get_u32(const char* at) {
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(at[i])} << 8 * i;
    return value;
}
std::uint64_t get_u64(const char* at) {
    return get_u32(at) | std::uint64_t{get_u32(at + 4)} << 32;
}

void put_text(std::string& to, std::string_view text) {
    text = text.substr(0, kMostName);
    put_varint(to, text.size());
    to += text;
}

std::uint64_t Scanner::varint() {
    std::uint64_t value = 0;
    for (std::uint32_t shift = 0; at_ != end_ && shift < 64; shift += 7) {
        const auto byte = static_cast<std::uint8_t>(*at_++);
        value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
    throw Damage{"a number does not end"};
}
std::uint64_t Scanner::at_most(std::uint64_t limit, std::string_view what) {
    const std::uint64_t value = varint();
    if (value > limit) throw Damage{fmt::format("{} is {}, but {} is the most", what, value, limit)};
    return value;
}
std::uint8_t Scanner::byte() {
    if (at_ == end_) throw Damage{"it ends too early"};
    return static_cast<std::uint8_t>(*at_++);
}
std::string Scanner::text(std::string_view what) {
    const std::uint64_t size = at_most(kMostName, what);
    if (size > left()) throw Damage{"a name does not end"};
    const std::string_view text(at_, size);
    at_ += size;
    return printable(text);
}

namespace {

void put_block(std::string& to, const Block& block) {
    put_varint(to, block.offset);
    put_varint(to, block.packed);
    put_varint(to, block.raw);
}

Block read_block(Scanner& in, std::uint64_t begin, std::uint64_t end, std::uint64_t most_raw, std::string_view what) {
    Block block;
    block.offset = in.varint();
    block.packed = in.varint();
    block.raw = in.at_most(most_raw, fmt::format("the size of the {}", what));
    if (block.offset < begin || block.offset > end || block.packed > end || block.end() > end)
        throw Damage{fmt::format("the {} lies outside the file", what)};
    return block;
}

Dim3 read_dimensions(Scanner& in, std::uint64_t most, std::string_view what) {
    Dim3 size;
    std::uint64_t count = 1;
    for (std::uint32_t* part : {&size.x, &size.y, &size.z}) {
        *part = static_cast<std::uint32_t>(in.at_most(most, fmt::format("a side of the {}", what)));
        count *= *part;  // both below 2^28, so this cannot wrap before it is noticed
        if (count == 0 || count > most) throw Damage{fmt::format("the {} is empty or too large", what)};
    }
    return size;
}

}  // namespace

std::string encode_index(const Index& index) {
    std::string out;
    put_text(out, index.source);
    put_text(out, index.writer);
    put_varint(out, index.kernels.size());
    for (const KernelEntry& kernel : index.kernels) {
        const KernelInfo& info = kernel.info;
        put_text(out, info.name);
        for (const std::uint32_t side : {info.grid.x, info.grid.y, info.grid.z, info.block.x, info.block.y, info.block.z})
            put_varint(out, side);
        put_varint(out, info.registers_per_thread);
        put_varint(out, info.register_slots);
        put_varint(out, info.shared_bytes);
        put_varint(out, kernel.warp_instructions);
        put_varint(out, kernel.thread_instructions);
        put_varint(out, kernel.memory_instructions);
        put_varint(out, kernel.first_cta);
        put_block(out, kernel.program);
        put_block(out, kernel.table);
    }
    return out;
}

Index decode_index(std::string_view bytes, std::uint64_t end) {
    Scanner in(bytes);
    Index index;
    index.source = in.text("the length of the source's name");
    index.writer = in.text("the length of the writer's name");
    const std::uint64_t count = in.at_most(kMostKernels, "the number of kernels");
    constexpr std::uint64_t kLeastEntry = 20;
    if (count * kLeastEntry > in.left()) throw Damage{"it names more kernels than it describes"};
    if (count == 0) throw Damage{"it has no kernels"};
    std::uint64_t begin = kHeaderBytes;
    for (std::uint64_t k = 0; k < count; ++k) {
        KernelEntry& kernel = index.kernels.emplace_back();
        KernelInfo& info = kernel.info;
        info.name = in.text("the length of a kernel's name");
        info.grid = read_dimensions(in, kMostCtas, "grid");
        info.block = read_dimensions(in, std::uint64_t{kMostWarps} * kWarpLanes, "block");
        info.registers_per_thread = static_cast<std::uint32_t>(in.at_most(kMostSlots, "the number of registers"));
        info.register_slots = static_cast<std::uint32_t>(in.at_most(kMostSlots, "the number of register slots"));
        info.shared_bytes = static_cast<std::uint32_t>(in.at_most(1 << 30, "the shared memory"));
        kernel.warp_instructions = in.varint();
        kernel.thread_instructions = in.varint();
        kernel.memory_instructions = in.varint();
        kernel.first_cta = in.varint();
        kernel.program = read_block(in, kernel.first_cta, end, kMostProgramBytes, "program");
        kernel.table = read_block(in, kernel.program.end(), end, 10 * info.ctas(), "CTA table");
        // Every CTA has a hash in the file, so the file size bounds the size of the table.
        if (kernel.first_cta < begin || info.ctas() > (kernel.program.offset - kernel.first_cta) / kHashBytes)
            throw Damage{fmt::format("kernel {} has more CTAs than the file has room for", k + 1)};
        begin = kernel.table.end();
    }
    if (!in.at_end()) throw Damage{"something follows its last kernel"};
    return index;
}

struct Packer::State {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CDict* dictionary = nullptr;
    ~State() {
        ZSTD_freeCDict(dictionary);
        ZSTD_freeCCtx(context);
    }
};

namespace {
constexpr int kLevel = 3;
}

Packer::Packer() : state_(std::make_unique<State>()) {
    if (state_->context == nullptr) throw std::bad_alloc();
}
Packer::~Packer() = default;

void Packer::drop_dictionary() {
    ZSTD_freeCDict(state_->dictionary);
    state_->dictionary = nullptr;
}
void Packer::set_dictionary(std::string_view bytes) {
    drop_dictionary();
    state_->dictionary = ZSTD_createCDict(bytes.data(), bytes.size(), kLevel);
    if (state_->dictionary == nullptr) throw std::bad_alloc();
}

void Packer::pack(std::string_view raw, std::uint64_t offset, bool with_dictionary, std::string& to) {
    to.resize(kHashBytes + ZSTD_compressBound(raw.size()));
    char* const frame = to.data() + kHashBytes;
    const std::size_t room = to.size() - kHashBytes;
    const std::size_t packed = with_dictionary
                                   ? ZSTD_compress_usingCDict(state_->context, frame, room, raw.data(), raw.size(), state_->dictionary)
                                   : ZSTD_compressCCtx(state_->context, frame, room, raw.data(), raw.size(), kLevel);
    if (ZSTD_isError(packed)) throw std::bad_alloc();  // with enough space there is no other reason
    to.resize(kHashBytes + packed);
    std::string sum;
    put_u64(sum, hash({to.data() + kHashBytes, packed}, offset));
    to.replace(0, kHashBytes, sum);
}

UnpackDictionary::UnpackDictionary(std::string_view bytes) : dictionary_(ZSTD_createDDict(bytes.data(), bytes.size())) {
    if (dictionary_ == nullptr) throw Damage{"its CTA 0 cannot serve as a dictionary"};
}
UnpackDictionary::~UnpackDictionary() {
    ZSTD_freeDDict(static_cast<ZSTD_DDict*>(dictionary_));
}

Unpacker::Unpacker() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
}
Unpacker::~Unpacker() {
    ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context_));
}

void Unpacker::unpack(std::string_view frame, std::uint64_t raw, char* to, const UnpackDictionary* dictionary) {
    auto* const context = static_cast<ZSTD_DCtx*>(context_);
    const std::size_t got = dictionary == nullptr ? ZSTD_decompressDCtx(context, to, raw, frame.data(), frame.size())
                                                  : ZSTD_decompress_usingDDict(context, to, raw, frame.data(), frame.size(),
                                                                               static_cast<const ZSTD_DDict*>(dictionary->get()));
    if (ZSTD_isError(got)) throw Damage{fmt::format("it cannot be unpacked ({})", ZSTD_getErrorName(got))};
    if (got != raw) throw Damage{fmt::format("it unpacks to {} bytes instead of {}", got, raw)};
}

}  // namespace mergelane::tracefile
