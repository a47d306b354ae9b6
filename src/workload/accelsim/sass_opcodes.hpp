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

/// What an instruction needs beyond its class.
enum class SassFeature : std::uint8_t {
    none,
    async_copy,    ///< copies from global to shared memory without registers (ADR 0037), since SM 8.0
    copy_group,    ///< ends a group of these copies
    copy_wait,     ///< waits for all but so many groups; before SM 8.0 for scoreboards only
    matrix_rows,   ///< loads or stores 8 x 8 matrices by the addresses of their rows
    group_matrix,  ///< product of a group of four warps: no timing yet
    bulk_copy,     ///< by the tensor memory accelerator: no timing yet
    cta_cluster,   ///< barrier or shared memory of a thread-block cluster: no timing yet
    replay         ///< no instruction: encloses a spin loop that is in the trace once
};

struct SassOpcode {
    std::string_view name;  ///< first token, before the first '.'
    OpClass op;
    SassSpace space = SassSpace::none;  ///< not none exactly for loads, stores and atomics
    SassFeature feature = SassFeature::none;
};

/// `name` is the first token only; nullptr if unknown.
const SassOpcode* find_sass_opcode(std::string_view name);

/// Every known opcode, sorted by name.
std::span<const SassOpcode> sass_opcodes();

/// Bytes that one lane reads or writes: the first modifier that is a number of bits, such as "64" or "U8". 4 if there is none, or if it is
/// not 1 to 16 bytes.
std::uint32_t sass_access_bytes(std::string_view whole_opcode);

/// Instructions of class `tensor` that a matrix product counts as (ADR 0036): from its shape and types, as in HMMA.16816.F32.BF16. 1 if the
/// shape is unknown.
std::uint32_t sass_tensor_slots(std::string_view whole_opcode);

/// 8 x 8 matrices of an LDSM or STSM: the last modifier that is 1, 2 or 4; 1 if there is none.
std::uint32_t sass_matrices(std::string_view whole_opcode);

/// What a feature without timing is, for messages; empty if it has timing.
std::string_view sass_untimed(SassFeature feature);

/// True for a global load that the L1 may not serve: it must observe other SMs' stores (LDG with the modifiers STRONG and GPU), or copies
/// past the L1 (LDGSTS with BYPASS).
bool sass_bypasses_l1(std::string_view whole_opcode);

}  // namespace mergelane::accelsim
