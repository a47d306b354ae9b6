// SPDX-License-Identifier: MIT
#include "workload/cuda/cubin.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "workload/cuda/fatbin.hpp"

namespace mergelane::cuda {

namespace {

constexpr std::uint32_t kSymbolTable = 2;
constexpr std::uint64_t kSymbolBytes = 24;
constexpr std::uint64_t kAttributeHead = 4;
constexpr std::uint8_t kSized = 4;             ///< format: the value follows
constexpr std::uint8_t kRegisterCount = 0x2F;  ///< attribute
constexpr std::uint32_t kMostRegisters = 255;
constexpr std::size_t kMostName = 4096;
constexpr std::size_t kMostKernels = 1 << 16;

/// What a function may be called; anything else is damage.
bool is_name(std::string_view text) {
    const auto allowed = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$';
    };
    return !text.empty() && text.size() <= kMostName && std::all_of(text.begin(), text.end(), allowed);
}

}  // namespace

KernelRegisters registers_in_cubin(Bytes cubin) {
    KernelRegisters found;
    if (!is_elf(cubin)) return found;
    const std::vector<ElfSection> sections = elf_sections(cubin);
    const auto symbols =
        std::find_if(sections.begin(), sections.end(), [](const ElfSection& s) { return s.type == kSymbolTable && s.name == ".symtab"; });
    const auto info = std::find_if(sections.begin(), sections.end(), [](const ElfSection& s) { return s.name == ".nv.info"; });
    if (symbols == sections.end() || info == sections.end() || symbols->link >= sections.size()) return found;
    const Bytes names = sections[symbols->link].content;
    Bytes left = info->content;
    while (left.size() >= kAttributeHead && found.size() < kMostKernels) {
        const auto format = value_at<std::uint8_t>(left, 0);
        const auto attribute = value_at<std::uint8_t>(left, 1);
        const std::uint64_t bytes = kAttributeHead + (format == kSized ? value_at<std::uint16_t>(left, 2) : 0);
        if (bytes > left.size()) break;
        if (format == kSized && attribute == kRegisterCount && bytes == kAttributeHead + 8) {
            const std::uint64_t symbol = kSymbolBytes * value_at<std::uint32_t>(left, 4);
            const auto registers = value_at<std::uint32_t>(left, 8);
            const std::string_view name =
                symbol < symbols->content.size() ? text_at(names, value_at<std::uint32_t>(symbols->content, symbol)) : std::string_view{};
            if (is_name(name) && registers > 0 && registers <= kMostRegisters) found.emplace(name, registers);
        }
        left = left.subspan(bytes);
    }
    return found;
}

KernelRegisters registers_in_container(Bytes container, std::uint32_t sm) try {
    const std::vector<FatbinEntry> entries = fatbin_entries(container, "");
    const FatbinEntry* chosen = nullptr;
    for (const FatbinEntry& entry : entries) {
        if (entry.kind != FatbinEntry::Kind::machine_code) continue;
        if (chosen == nullptr || entry.sm == sm || (chosen->sm != sm && entry.sm < chosen->sm)) chosen = &entry;
    }
    if (chosen == nullptr) return {};
    const std::string image = unpack(*chosen, "");
    return registers_in_cubin(std::as_bytes(std::span(image)));
} catch (const InputError&) {
    return {};  // the number of registers is estimated then; what is wrong with the PTX is reported when it is used
}

}  // namespace mergelane::cuda
