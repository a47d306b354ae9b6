// SPDX-License-Identifier: MIT
// Spelling suggestions, readable numbers and names, and table cells.
#pragma once

#include <cstdint>
#include <functional>
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

/// The given member of every element of a list.
template <class Text = std::string, class List, class Member>
std::vector<Text> names_of(const List& list, Member member) {
    std::vector<Text> names;
    for (const auto& one : list) names.emplace_back(std::invoke(member, one));
    return names;
}

/// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t value);

/// The kernel name as written in the source: demangled, truncated if long, and printable.
std::string readable_name(const std::string& name);

/// With every `c` twice, which is how many formats escape it.
std::string doubled(std::string_view text, char c);

/// At most `limit` bytes of `text`, with control characters, which a terminal would obey, and invalid UTF-8 replaced by '?'. For every text
/// from a file, and every file name, that is shown in a table or a message.
std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);

/// A CSV field, quoted if necessary.
std::string csv_field(std::string_view field);
/// Fields of one line; a field in quotes may hold commas and doubled quotes.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace mergelane
