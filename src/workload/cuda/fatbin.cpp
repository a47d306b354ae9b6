// SPDX-License-Identifier: MIT
#include "workload/cuda/fatbin.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>

#include "core/error.hpp"

namespace mergelane::cuda {

namespace {

constexpr std::uint64_t kContainerHeader = 16;
constexpr std::uint64_t kSmallestEntryHeader = 48;  ///< up to and including the flags
constexpr std::uint64_t kUnpackedBytesEnd = 64;
constexpr std::uint64_t kFlagLz4 = 0x2000;
constexpr std::uint64_t kFlagZstd = 0x8000;
constexpr std::size_t kMostEntries = 4096;
// PTX compresses to about a tenth. A tiny entry that claims a huge size is damaged, and must not allocate that size.
constexpr std::uint64_t kAnyRatioBelow = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostRatio = 1000;

[[noreturn]] void damaged(const std::string& where, const std::string& what) {
    throw InputError(fmt::format("{}: the container of device code is damaged: {}; compile the program again", where, what));
}

}  // namespace

std::optional<std::uint64_t> container_bytes(std::span<const std::byte> bytes) {
    if (bytes.size() < kContainerHeader || value_at<std::uint32_t>(bytes, 0) != kContainerMagic) return std::nullopt;
    const std::uint64_t header = value_at<std::uint16_t>(bytes, 6);
    const std::uint64_t entries = value_at<std::uint64_t>(bytes, 8);
    if (header < kContainerHeader || entries > ~std::uint64_t{0} - header) return std::nullopt;
    return header + entries;
}

std::vector<FatbinEntry> fatbin_entries(std::span<const std::byte> bytes, const std::string& where) {
    const std::optional<std::uint64_t> size = container_bytes(bytes);
    if (!size) damaged(where, "it does not begin as one");
    if (*size > bytes.size()) damaged(where, fmt::format("it claims {} bytes but {} are there", *size, bytes.size()));
    std::vector<FatbinEntry> list;
    std::span<const std::byte> rest = bytes.subspan(value_at<std::uint16_t>(bytes, 6));
    rest = rest.first(*size - value_at<std::uint16_t>(bytes, 6));
    while (!rest.empty()) {
        if (list.size() == kMostEntries) damaged(where, fmt::format("it has more than {} entries", kMostEntries));
        const std::string entry_name = fmt::format("entry {}", list.size() + 1);
        if (rest.size() < kSmallestEntryHeader) damaged(where, entry_name + " is cut off");
        const std::uint64_t header = value_at<std::uint32_t>(rest, 4);
        const std::uint64_t padded = value_at<std::uint64_t>(rest, 8);
        if (header < kSmallestEntryHeader || header > rest.size() || padded > rest.size() - header)
            damaged(where, entry_name + " does not fit into it");
        const std::uint64_t compressed = value_at<std::uint32_t>(rest, 16);
        const std::uint64_t flags = value_at<std::uint64_t>(rest, 40);
        if (compressed > padded) damaged(where, entry_name + " is longer than its place");
        FatbinEntry& entry = list.emplace_back();
        const std::uint16_t kind = value_at<std::uint16_t>(rest, 0);
        entry.kind = kind == 1 ? FatbinEntry::Kind::ptx : kind == 2 ? FatbinEntry::Kind::machine_code : FatbinEntry::Kind::other;
        entry.sm = value_at<std::uint32_t>(rest, 28);
        entry.unpacked_bytes = padded;
        if (compressed != 0 && (flags & (kFlagZstd | kFlagLz4)) != 0) {
            entry.packing = (flags & kFlagZstd) != 0 ? FatbinEntry::Packing::zstd : FatbinEntry::Packing::lz4;
            if (header < kUnpackedBytesEnd) damaged(where, entry_name + " does not say how large it becomes");
            entry.unpacked_bytes = value_at<std::uint64_t>(rest, 56);
        }
        entry.content = rest.subspan(header, compressed != 0 ? compressed : padded);
        rest = rest.subspan(header + padded);
    }
    return list;
}

std::string unpack(const FatbinEntry& entry, const std::string& where) {
    const std::string_view what = entry.kind == FatbinEntry::Kind::machine_code ? "machine code" : "PTX";
    const std::uint64_t packed = entry.content.size();
    const char* const from = reinterpret_cast<const char*>(entry.content.data());
    std::string text;
    if (entry.packing == FatbinEntry::Packing::plain) {
        if (packed > kMostPtxBytes) damaged(where, fmt::format("its {} has more than {} bytes", what, kMostPtxBytes));
        text.assign(from, packed);
    } else {
        const std::uint64_t most = std::min(kMostPtxBytes, std::max(kAnyRatioBelow, packed * kMostRatio));
        if (entry.unpacked_bytes > most)
            damaged(where, fmt::format("{} compressed bytes cannot be {} bytes of {}", packed, entry.unpacked_bytes, what));
        text.resize(entry.unpacked_bytes);
        if (entry.packing == FatbinEntry::Packing::zstd) {
            const std::size_t got = ZSTD_decompress(text.data(), text.size(), from, packed);
            if (ZSTD_isError(got) != 0)
                damaged(where, fmt::format("its {} cannot be decompressed (zstd: {})", what, ZSTD_getErrorName(got)));
            text.resize(got);
        } else {
            // Both sizes are below 2^31: the packed size is a 32-bit field, bounded here, the other is at most kMostPtxBytes.
            if (packed > kMostPtxBytes) damaged(where, fmt::format("its {} has more than {} bytes", what, kMostPtxBytes));
            const int got = LZ4_decompress_safe(from, text.data(), static_cast<int>(packed), static_cast<int>(text.size()));
            if (got < 0) damaged(where, fmt::format("its {} cannot be decompressed (LZ4)", what));
            text.resize(static_cast<std::size_t>(got));
        }
    }
    return text;
}

std::string unpack_ptx(const FatbinEntry& entry, const std::string& where) {
    std::string text = unpack(entry, where);
    text.resize(std::min(text.size(), text.find('\0')));  // ends with padding
    return text;
}

const FatbinEntry* best_ptx(std::span<const FatbinEntry> entries, std::uint32_t sm) {
    const FatbinEntry* chosen = nullptr;
    for (const FatbinEntry& entry : entries) {
        if (entry.kind != FatbinEntry::Kind::ptx) continue;
        const bool fits = entry.sm <= sm;
        if (chosen == nullptr || (fits ? chosen->sm > sm || entry.sm > chosen->sm : entry.sm < chosen->sm)) chosen = &entry;
    }
    return chosen;
}

std::optional<PtxImage> find_ptx(std::span<const std::byte> bytes, const std::string& where, std::uint32_t sm) {
    const std::vector<FatbinEntry> entries = fatbin_entries(bytes, where);
    const FatbinEntry* const chosen = best_ptx(entries, sm);
    if (chosen == nullptr) return std::nullopt;
    return PtxImage{chosen->sm, unpack_ptx(*chosen, where)};
}

std::vector<std::span<const std::byte>> find_containers(std::span<const std::byte> section) {
    std::vector<std::span<const std::byte>> list;
    for (std::uint64_t at = 0; at < section.size();) {
        const std::span<const std::byte> rest = section.subspan(at);
        const std::optional<std::uint64_t> size = container_bytes(rest);
        if (!size || *size > rest.size()) {
            at += 8;
            continue;
        }
        list.push_back(rest.first(*size));
        at += (*size + 7) / 8 * 8;
    }
    return list;
}

}  // namespace mergelane::cuda
