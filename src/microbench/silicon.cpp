// SPDX-License-Identifier: MIT
#include "microbench/silicon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/data_paths.hpp"
#include "files/input_file.hpp"

namespace mergelane::microbench {

namespace {
constexpr std::size_t kColumns = 6;
constexpr std::array<std::string_view, 3> kRoles = {"calibrates", "validates", "other"};
}  // namespace

std::vector<Silicon> read_silicon(const std::filesystem::path& file) {
    return parse_silicon(read_input(file), file.string());
}

std::vector<Silicon> parse_silicon(std::string_view text, const std::string& name) {
    std::vector<Silicon> list;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (++number == 1 || line.empty()) continue;  // the names of the columns
        std::vector<std::string> f = csv_fields(line);
        if (f.size() != kColumns)
            throw InputError(fmt::format("{}:{}: {} fields instead of {} (gpu, benchmark, value, unit, role, source)", name, number,
                                         f.size(), kColumns));
        double value = 0;
        const auto [rest, error] = std::from_chars(f[2].data(), f[2].data() + f[2].size(), value);
        if (error != std::errc{} || rest != f[2].data() + f[2].size() || !std::isfinite(value) || value <= 0)
            throw InputError(fmt::format("{}:{}: '{}' is not a positive number", name, number, printable(f[2], 80)));
        if (std::find(kRoles.begin(), kRoles.end(), f[4]) == kRoles.end())
            throw InputError(fmt::format("{}:{}: {}", name, number, unknown_word("role", f[4], kRoles)));
        list.push_back({f[0], f[1], value, f[3], f[4], f[5]});
    }
    return list;
}

std::filesystem::path default_silicon_file() {
    const std::vector<std::filesystem::path> files = data_paths("MERGELANE_SILICON", "silicon.csv", "data/silicon.csv");
    if (!files.empty()) return files.front();
    throw InputError("silicon.csv was not found; set MERGELANE_SILICON to its path");
}

}  // namespace mergelane::microbench
