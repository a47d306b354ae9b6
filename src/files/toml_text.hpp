// SPDX-License-Identifier: MIT
// TOML files as text: reading, comments, and inputs that must be rejected before parsing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"

namespace mergelane {

inline constexpr std::size_t kMaxConfigBytes = 1u << 20;
/// Longest value, note or name that is kept.
inline constexpr std::size_t kMaxConfigText = 200;

/// A path for a message; long ones keep their end, which tells files apart.
std::string shown_path(const std::string& path);

/// "unknown KIND 'WORD'; did you mean 'NEAR'?", with what is known when that is not much.
std::string unknown_name(std::string_view kind, std::string_view word, const std::vector<std::string>& known);

/// Throws InputError "WHERE: WHAT".
[[noreturn]] void fail_at(const std::string& where, std::string_view what);

std::string_view trim(std::string_view text);

/// What toml++ does not keep: the comment of every line. Also refuses what toml++ 3.3 does not survive: nesting by
/// dotted keys, which overflows the stack when the tree is destroyed, and characters outside ASCII where it looks for
/// white space, which are undefined behaviour in it.
struct TextScan {
    std::vector<std::string_view> comments;  ///< by line, counted from 0
    std::uint32_t problem_line = 0;          ///< 0: fine
    std::string_view problem;

    explicit TextScan(std::string_view text);

    /// Comment of a line, counted from 1.
    std::string note(std::uint32_t line) const;
};

}  // namespace mergelane
