// SPDX-License-Identifier: MIT
// What can be seen of a CUDA program before it is started: which runtime library it asks for, and whether it carries PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mergelane::cuda {

struct ProgramFacts {
    bool elf = false;                 ///< a 64-bit little-endian ELF file; nothing else is known otherwise
    std::vector<std::string> needed;  ///< shared libraries it asks for
    bool rpath = false;               ///< names folders that are searched before LD_LIBRARY_PATH
    std::uint32_t containers = 0;     ///< of device code
    std::uint32_t with_ptx = 0;       ///< containers that have PTX
    std::vector<std::uint32_t> sms;   ///< of its machine code
};

/// Never throws: what is damaged is left out.
ProgramFacts inspect_program(std::span<const std::byte> file);

/// One sentence with the remedy, when the program cannot run on the replacement runtime; empty when it may.
std::string why_not(const ProgramFacts& facts, const std::string& name);

}  // namespace mergelane::cuda
