// SPDX-License-Identifier: MIT
// Size rules shared by all caches.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/problems.hpp"

namespace mergelane {

/// Transfer units are 32, 64 or 128 bytes. Returns false if violated.
bool check_block_bytes(std::string_view key, std::uint32_t bytes, Problems& problems);

/// `part` ("l1") holds an integral number of sets.
void check_sets(std::string_view part, std::uint32_t size_kib, std::uint32_t line_bytes, std::uint32_t ways, Problems& problems);

}  // namespace mergelane
