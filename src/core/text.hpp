// SPDX-License-Identifier: MIT
// Spelling suggestions, readable numbers and names, and table cells.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane {

/// Edit distance between two words (insert, delete, replace, swap neighbours).
std::uint32_t edit_distance(std::string_view a, std::string_view b);

/// The known word closest to `word`; empty if none is close.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// "unknown KIND 'WORD'; did you mean 'NEAR'? known: A, B, C"
std::string unknown_word(std::string_view kind, std::string_view word, std::span<const std::string_view> known);

/// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t value);

/// The kernel name as written in the source: demangled, and truncated if long.
std::string readable_name(const std::string& name);

/// A CSV field, quoted if necessary.
std::string csv_field(std::string_view field);

}  // namespace mergelane
