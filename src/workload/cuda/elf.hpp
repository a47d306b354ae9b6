// SPDX-License-Identifier: MIT
// Sections of a 64-bit little-endian ELF file: a program, or machine code for a GPU. Whatever the file claims, nothing outside of it is
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mergelane::cuda {

using Bytes = std::span<const std::byte>;

struct ElfSection {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint32_t link = 0;
    Bytes content;  ///< empty if it lies outside of the file
};

/// Whether the file begins as such an ELF file.
bool is_elf(Bytes file);
std::vector<ElfSection> elf_sections(Bytes file);
/// A string of a string table; empty if `at` is outside.
std::string_view text_at(Bytes table, std::uint64_t at);

}  // namespace mergelane::cuda
