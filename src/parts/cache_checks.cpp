// SPDX-License-Identifier: MIT
#include "parts/cache_checks.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"

namespace mergelane {

bool check_block_bytes(std::string_view key, std::uint32_t bytes, Problems& problems) {
    const bool holds = is_power_of_two(bytes);
    problems.require(holds, {key}, fmt::format("{} is {}, which is not a power of two; use 32, 64 or 128", key, bytes));
    return holds;
}

void check_sets(std::string_view part, std::uint32_t size_kib, std::uint32_t line_bytes, std::uint32_t ways, Problems& problems) {
    const std::string size_key = fmt::format("{}.size_kib", part);
    const std::string ways_key = fmt::format("{}.ways", part);
    const std::string line_key = fmt::format("{}.line_bytes", part);
    const std::uint32_t bytes = size_kib * 1024;
    problems.require(bytes % (line_bytes * ways) == 0 && bytes >= line_bytes * ways, {size_key, ways_key, line_key},
                     fmt::format("{} ({} KiB) is not a whole number of sets of {} ways x {} bytes; change {} or {}", size_key, size_kib,
                                 ways, line_bytes, ways_key, size_key));
}

}  // namespace mergelane
