// SPDX-License-Identifier: MIT
// The container in which CUDA compilers put device code: entries with PTX or machine code, plain or compressed.
//
//   container  0 u32 0xBA55ED50, 4 u16 version, 6 u16 header bytes, 8 u64 bytes of all entries; then the entries, back to back
//   entry      0 u16 kind (1 PTX, 2 machine code), 4 u32 header bytes, 8 u64 bytes of the padded content, 16 u32 compressed
//              bytes, 28 u32 SM, 40 u64 flags (0x8000 zstd, 0x2000 LZ4 block), 56 u64 bytes when decompressed
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mergelane::cuda {

inline constexpr std::uint32_t kContainerMagic = 0xBA55ED50;
inline constexpr std::uint32_t kWrapperMagic = 0x466243B1;
inline constexpr std::uint64_t kMostPtxBytes = std::uint64_t{1} << 28;  ///< of one entry, decompressed

/// What registration code passes to the runtime.
struct FatbinWrapper {
    std::uint32_t magic = kWrapperMagic;
    std::uint32_t version = 1;            ///< 2: relocatable device code, whose PTX is only in `linked`
    const void* data = nullptr;           ///< a container
    const void* const* linked = nullptr;  ///< ends with a null pointer
};

struct FatbinEntry {
    enum class Kind : std::uint8_t { ptx, machine_code, other };
    enum class Packing : std::uint8_t { plain, zstd, lz4 };
    Kind kind = Kind::other;
    Packing packing = Packing::plain;
    std::uint32_t sm = 0;                ///< 75 for sm_75
    std::uint64_t unpacked_bytes = 0;    ///< according to the entry
    std::span<const std::byte> content;  ///< within the container
};

/// What stands at an offset; zero if that is outside.
template <class T>
T value_at(std::span<const std::byte> bytes, std::uint64_t at) {
    T value{};
    if (at <= bytes.size() && bytes.size() - at >= sizeof value) std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

/// Size of the container that begins here, including its header; empty if `bytes` does not begin with one.
std::optional<std::uint64_t> container_bytes(std::span<const std::byte> bytes);

/// Entries of the container at the start of `bytes`. Throws InputError if it is damaged; `where` names it in messages.
std::vector<FatbinEntry> fatbin_entries(std::span<const std::byte> bytes, const std::string& where);

/// The content of an entry. Throws InputError if it cannot be decompressed.
std::string unpack(const FatbinEntry& entry, const std::string& where);
/// The text of a PTX entry. Throws InputError if it cannot be decompressed.
std::string unpack_ptx(const FatbinEntry& entry, const std::string& where);

struct PtxImage {
    std::uint32_t sm = 0;
    std::string text;
};
/// The PTX that a device of compute capability `sm` uses: the highest that is not above it, or the lowest if all are. nullptr: there is
/// only machine code.
const FatbinEntry* best_ptx(std::span<const FatbinEntry> entries, std::uint32_t sm);
/// Its text; empty if the container has only machine code.
std::optional<PtxImage> find_ptx(std::span<const std::byte> bytes, const std::string& where, std::uint32_t sm = 0);

/// All containers in a section of a program (they are aligned to 8 bytes, with padding between them).
std::vector<std::span<const std::byte>> find_containers(std::span<const std::byte> section);

}  // namespace mergelane::cuda
