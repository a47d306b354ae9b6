// SPDX-License-Identifier: MIT
// The parts of a trace file (.mlt); docs/trace-format.md specifies the layout. All numbers are little-endian.
//
//   header, then per kernel: one block per CTA in order, its program, its CTA table; then the index and the footer.
//   A block is 8 bytes XXH3 of what follows, seeded with the block's offset, and one zstd frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"
#include "workload/record/recorder.hpp"

namespace mergelane::tracefile {

inline constexpr std::string_view kMagic = "MLTRACE\n";
inline constexpr std::string_view kEndMagic = "MLTEND\r\n";
inline constexpr std::uint32_t kVersion = 2;       ///< written
inline constexpr std::uint32_t kFirstVersion = 1;  ///< read: a program has no fourth part
inline constexpr std::uint64_t kHeaderBytes = 24;  ///< magic, version, zero, XXH3 of these
inline constexpr std::uint64_t kFooterBytes = 40;  ///< index: offset, packed and raw bytes; XXH3 of these; end magic
inline constexpr std::uint64_t kHashBytes = 8;

// Limits of a file; the writer respects them as well.
inline constexpr std::uint64_t kMostCtaBytes = 256 << 20;      ///< of one CTA, unpacked
inline constexpr std::uint64_t kMostProgramBytes = 128 << 20;  ///< of one program, unpacked
inline constexpr std::uint64_t kMostIndexBytes = 64 << 20;     ///< of the index, unpacked
inline constexpr std::uint64_t kMostKernels = 1 << 20;
inline constexpr std::uint64_t kMostCtas = std::uint64_t{1} << 28;
inline constexpr std::uint32_t kMostWarps = 64;              ///< of a CTA
inline constexpr std::uint32_t kMostSlots = 1 << 16;         ///< register numbers
inline constexpr std::uint64_t kMostInstructions = 1 << 20;  ///< different ones of a kernel
inline constexpr std::uint64_t kMostInRuns = 1 << 21;        ///< instructions in all runs of a kernel
inline constexpr std::uint64_t kMostName = 4096;
inline constexpr std::uint64_t kDictionaryBytes = 64 << 10;  ///< CTA 0's first bytes are the dictionary of the others

struct Block {
    std::uint64_t offset = 0;  ///< of its hash
    std::uint64_t packed = 0;  ///< bytes without the hash
    std::uint64_t raw = 0;
    std::uint64_t end() const { return offset + kHashBytes + packed; }
};

struct KernelEntry {
    KernelInfo info;
    std::uint64_t warp_instructions = 0;
    std::uint64_t thread_instructions = 0;
    std::uint64_t memory_instructions = 0;  ///< warp-level, with an active lane
    std::uint64_t first_cta = 0;            ///< offset of CTA 0's block; the others follow
    Block program;
    Block table;  ///< per CTA: packed and raw bytes
};

struct Index {
    std::string source;  ///< what was recorded
    std::string writer;  ///< who wrote the file
    std::vector<KernelEntry> kernels;
};

std::uint64_t hash(std::string_view bytes, std::uint64_t seed = 0);
void put_u32(std::string& to, std::uint32_t value);
void put_u64(std::string& to, std::uint64_t value);
std::uint32_t get_u32(const char* at);
std::uint64_t get_u64(const char* at);

using record::put_varint;
inline void put_signed(std::string& to, std::int64_t value) {
    put_varint(to, record::zigzag(value));
}
void put_text(std::string& to, std::string_view text);

/// Reads what the put functions wrote; throws Damage on invalid data.
struct Damage {
    std::string what;
};
class Scanner {
public:
    explicit Scanner(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
    std::uint64_t varint();
    std::int64_t signed_number() { return record::unzigzag(varint()); }
    std::uint64_t at_most(std::uint64_t limit, std::string_view what);
    std::uint8_t byte();
    std::string text(std::string_view what);
    bool at_end() const { return at_ == end_; }
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

private:
    const char* at_;
    const char* end_;
};

std::string encode_index(const Index& index);
/// `end`: start of the index, beyond which no block may extend.
Index decode_index(std::string_view bytes, std::uint64_t end);

/// zstd, level 3, optionally with a raw-content dictionary that compressor and decompressor must share.
class Packer {
public:
    Packer();
    ~Packer();
    void set_dictionary(std::string_view bytes);
    void drop_dictionary();
    /// `to` receives hash and frame of a block that will be at `offset`.
    void pack(std::string_view raw, std::uint64_t offset, bool with_dictionary, std::string& to);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// A dictionary shared by decompressors.
class UnpackDictionary {
public:
    explicit UnpackDictionary(std::string_view bytes);
    ~UnpackDictionary();
    const void* get() const { return dictionary_; }

private:
    void* dictionary_;
};
class Unpacker {
public:
    Unpacker();
    ~Unpacker();
    /// `frame` without the hash; must decompress to exactly `raw` bytes. Throws Damage.
    void unpack(std::string_view frame, std::uint64_t raw, char* to, const UnpackDictionary* dictionary);
    /// Four packed bytes expand to 128 KiB at most, and packing makes nothing much larger.
    static bool plausible(std::uint64_t raw, std::uint64_t packed) {
        return raw <= (packed / 4 + 1) << 17 && packed <= raw + raw / 128 + 1024;
    }

private:
    void* context_;
};

}  // namespace mergelane::tracefile
