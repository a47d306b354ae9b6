// SPDX-License-Identifier: MIT
// Which PTX instructions take an issue slot, and their execution class.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/kernel.hpp"
#include "workload/ptx/types.hpp"

namespace mergelane::ptx {

struct TimingRow {
    std::string_view opcodes;  ///< each the first word, or the first words where they matter
    OpClass integer;
    OpClass single;      ///< f32, f16
    OpClass wide;        ///< f64
    std::uint8_t slots;  ///< 0: the assembler folds it into its users
};

/// The row of an opcode such as "ld.param.u32": the longest opcode of a row that is a prefix of it in whole words.
const TimingRow& timing_of(std::string_view opcode);

}  // namespace mergelane::ptx
