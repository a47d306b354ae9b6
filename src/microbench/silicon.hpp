// SPDX-License-Identifier: MIT
// Published measurements of real GPUs, data/silicon.csv (decision 0047).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane::microbench {

struct Silicon {
    std::string gpu;
    std::string benchmark;
    double value = 0;
    std::string unit;
    std::string role;  ///< calibrates, validates or other
    std::string source;
};

/// Throws InputError with file and line.
std::vector<Silicon> read_silicon(const std::filesystem::path& file);
std::vector<Silicon> parse_silicon(std::string_view text, const std::string& name);

/// $MERGELANE_SILICON if set, else data/silicon.csv where the project is installed or built. Throws InputError when there is none.
std::filesystem::path default_silicon_file();

}  // namespace mergelane::microbench
