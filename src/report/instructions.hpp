// SPDX-License-Identifier: MIT
// Counts by static instruction, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/result.hpp"

namespace mergelane {

/// "app.cu:12", "util.h:30 in app.cu:12", "app.1.ptx:45" or "pc 0x40".
std::string place_of(const KernelInstructions& kernel, const InstructionResult& inst);

/// The memory instructions that schedulers waited for longest, with their lines; empty if nothing was counted by instruction.
std::string longest_waits(const RunResult& result);

/// All executed instructions, kernel by kernel.
nlohmann::ordered_json instructions_json(const RunResult& result);

}  // namespace mergelane
