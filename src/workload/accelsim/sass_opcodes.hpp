// SPDX-License-Identifier: MIT
// What the opcodes of NVIDIA's machine code (SASS, SM 3.5 to 9.0) mean to the timing model. Accel-Sim traces name each
// instruction by its opcode with modifiers, as in "LDG.E.128.SYS"; the name before the first dot decides its class.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/kernel.hpp"

namespace mergelane::accelsim {

/// How an instruction's memory space is found.
enum class SassSpace : std::uint8_t {
    none,
    global,
    local,
    shared,
    generic  ///< by the window its address lies in
};

struct SassOpcode {
    std::string_view name;  ///< first token, before the first '.'
    OpClass op;
    SassSpace space = SassSpace::none;  ///< other than none exactly for loads, stores and atomics
};

/// `name` is the first token only; nullptr if unknown.
const SassOpcode* find_sass_opcode(std::string_view name);

/// Every known opcode, sorted by name.
std::span<const SassOpcode> sass_opcodes();

/// Bytes one lane reads or writes: the first modifier that is a number of bits, as in "64" or "U8". 4 if there is none, or if it is not
/// 1 to 16 bytes.
std::uint32_t sass_access_bytes(std::string_view whole_opcode);

/// True for a global load that must see other SMs' stores (LDG with the modifiers STRONG and GPU), so that the L1 may not serve it.
bool sass_bypasses_l1(std::string_view whole_opcode);

}  // namespace mergelane::accelsim
