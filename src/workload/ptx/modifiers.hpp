// SPDX-License-Identifier: MIT
// Which modifiers each opcode understands: any other is refused by name, never ignored.
#pragma once

#include <string_view>

namespace mergelane::ptx {

/// Whether the opcode understands the modifier. Types are modifiers of every opcode; whether they fit, its decoder decides. Opcodes that
/// are not in the table, and whose decoder thus checks its modifiers itself, understand everything.
bool understands(std::string_view opcode, std::string_view modifier);

}  // namespace mergelane::ptx
