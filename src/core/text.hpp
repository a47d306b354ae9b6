// SPDX-License-Identifier: MIT
// Help for people who mistype.
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

}  // namespace mergelane
