// SPDX-License-Identifier: MIT
// Encodes a kernel's program: its instructions, its runs, and the first address of every memory instruction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"
#include "workload/record/cta_reader.hpp"

namespace mergelane::tracefile {

/// `previous_pc`: of the instruction before.
void put_instruction(std::string& to, const StaticInst& inst, std::uint32_t previous_pc);

std::string encode_program(const std::vector<StaticInst>& instructions, const std::vector<std::vector<std::uint32_t>>& runs,
                           const std::vector<Addr>& references);
/// Appends what is known of the program's text, and the size of clusters of CTAs if there are any.
void put_text_of_program(std::string& to, const ProgramText& text, RegisterCount registers_from, const Dim3& cluster);

struct LoadedProgram {
    record::RecordedProgram program;
    std::vector<Addr> references;    ///< per memory instruction
    std::uint64_t instructions = 0;  ///< different ones
    RegisterCount registers_from = RegisterCount::given;
    Dim3 cluster;
};
/// Throws Damage.
LoadedProgram decode_program(std::string_view bytes, std::uint32_t register_slots);

}  // namespace mergelane::tracefile
