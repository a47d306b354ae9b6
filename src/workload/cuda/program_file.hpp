// SPDX-License-Identifier: MIT
// What can be determined about a CUDA program before it starts: which runtime library it needs, and whether it contains PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mergelane::cuda {

struct ProgramFacts {
    bool elf = false;                 ///< a 64-bit little-endian ELF file; otherwise nothing else is known
    std::vector<std::string> needed;  ///< shared libraries it needs
    bool static_runtime = false;      ///< contains the CUDA runtime itself
    bool rpath = false;               ///< names folders that are searched before LD_LIBRARY_PATH
    std::uint32_t containers = 0;     ///< of device code
    std::uint32_t with_ptx = 0;       ///< containers that have PTX
    std::vector<std::uint32_t> sms;   ///< of its machine code
};

/// Never throws: damaged parts are ignored.
ProgramFacts inspect_program(std::span<const std::byte> file);

/// Whether the program compiles device code while it runs (NVRTC).
bool compiles_code(const ProgramFacts& facts);

/// If the program cannot run on the replacement runtime, one sentence with the remedy; otherwise empty.
std::string why_not(const ProgramFacts& facts, const std::string& name);

}  // namespace mergelane::cuda
