// SPDX-License-Identifier: MIT
// Reads stores that were packed as .xz.
#pragma once

#include <string>
#include <string_view>

namespace mergelane::study {

inline constexpr std::string_view kXzSuffix = ".jsonl.xz";

/// The lines. Throws InputError when the bytes are no such file, are damaged, or would take more than a gigabyte.
std::string unpacked(std::string_view bytes, const std::string& name);

}  // namespace mergelane::study
