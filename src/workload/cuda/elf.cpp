// SPDX-License-Identifier: MIT
#include "workload/cuda/elf.hpp"

#include <cstring>

#include "workload/cuda/fatbin.hpp"

namespace mergelane::cuda {

namespace {

constexpr std::uint64_t kFileHeader = 64;
constexpr std::uint64_t kSectionHeader = 64;
constexpr std::uint32_t kNoBits = 8;

Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t size) {
    if (at > bytes.size() || size > bytes.size() - at) return {};
    return bytes.subspan(at, size);
}

}  // namespace

bool is_elf(Bytes file) {
    constexpr unsigned char kMagic[6] = {0x7F, 'E', 'L', 'F', 2, 1};
    return file.size() >= kFileHeader && std::memcmp(file.data(), kMagic, sizeof kMagic) == 0;
}

std::string_view text_at(Bytes table, std::uint64_t at) {
    if (at >= table.size()) return {};
    const char* const start = reinterpret_cast<const char*>(table.data()) + at;
    return {start, strnlen(start, table.size() - at)};
}

std::vector<ElfSection> elf_sections(Bytes file) {
    const std::uint64_t table = value_at<std::uint64_t>(file, 40);
    const std::uint32_t entry = value_at<std::uint16_t>(file, 58);
    const std::uint32_t count = value_at<std::uint16_t>(file, 60);
    const std::uint32_t names = value_at<std::uint16_t>(file, 62);
    std::vector<ElfSection> list;
    if (entry < kSectionHeader) return list;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Bytes header = part(file, table + std::uint64_t{i} * entry, kSectionHeader);
        ElfSection& section = list.emplace_back();
        section.type = value_at<std::uint32_t>(header, 4);
        section.link = value_at<std::uint32_t>(header, 40);
        if (section.type != kNoBits) section.content = part(file, value_at<std::uint64_t>(header, 24), value_at<std::uint64_t>(header, 32));
    }
    if (names < list.size()) {
        for (std::uint32_t i = 0; i < count; ++i)
            list[i].name =
                text_at(list[names].content, value_at<std::uint32_t>(part(file, table + std::uint64_t{i} * entry, kSectionHeader), 0));
    }
    return list;
}

}  // namespace mergelane::cuda
