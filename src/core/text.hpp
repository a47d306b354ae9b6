// SPDX-License-Identifier: MIT
// Help for people who mistype, numbers as people read them, and texts as tables want them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane {

/// Edits (insert, delete, replace, swap neighbours) between two words.
std::uint32_t edit_distance(std::string_view a, std::string_view b);

/// The known word closest to `word`, empty when none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// "unknown KIND 'WORD'; did you mean 'NEAR'? known: A, B, C"
std::string unknown_word(std::string_view kind, std::string_view word, std::span<const std::string_view> known);

/// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t value);

/// A field of CSV, in quotes where it needs them.
std::string csv_field(std::string_view field);

}  // namespace mergelane
