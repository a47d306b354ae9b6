// SPDX-License-Identifier: MIT
// Rules that all caches share about their sizes.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/problems.hpp"

namespace mergelane {

/// What moves in one piece is 32, 64 or 128 bytes. False: it is not.
bool check_block_bytes(std::string_view key, std::uint32_t bytes, Problems& problems);

/// `part` ("l1") holds a whole number of sets.
void check_sets(std::string_view part, std::uint32_t size_kib, std::uint32_t line_bytes, std::uint32_t ways, Problems& problems);

}  // namespace mergelane
