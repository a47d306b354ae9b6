// SPDX-License-Identifier: MIT
// Maps the opcodes of NVIDIA's machine code (SASS, SM 3.5 to 9.0) to the timing model. Accel-Sim traces name each instruction by its opcode
// with modifiers, such as "LDG.E.128.SYS"; the name before the first dot determines its class.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/kernel.hpp"

namespace mergelane::accelsim {

/// How the memory space of an instruction is determined.
enum class SassSpace : std::uint8_t {
    none,
    global,
    local,
    shared,
    generic  ///< by the window that contains its address
};

struct SassOpcode {
    std::string_view name;  ///< first token, before the first '.'
    OpClass op;
    SassSpace space = SassSpace::none;  ///< not none exactly for loads, stores and atomics
};

/// `name` is the first token only; nullptr if unknown.
const SassOpcode* find_sass_opcode(std::string_view name);

/// Every known opcode, sorted by name.
std::span<const SassOpcode> sass_opcodes();

/// Bytes that one lane reads or writes: the first modifier that is a number of bits, such as "64" or "U8". 4 if there is none, or if it is
/// not 1 to 16 bytes.
std::uint32_t sass_access_bytes(std::string_view whole_opcode);

/// True for a global load that must observe other SMs' stores (LDG with the modifiers STRONG and GPU), so that the L1 may not serve it.
bool sass_bypasses_l1(std::string_view whole_opcode);

}  // namespace mergelane::accelsim
