// SPDX-License-Identifier: MIT
#include "study/published.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/data_paths.hpp"
#include "files/input_file.hpp"
#include "files/toml_text.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kColumns = 10;

}  // namespace

Published Published::read(const fs::path& file) {
    return parse(read_input(file), file.string());
}

Published Published::parse(std::string_view text, const std::string& name) {
    Published published;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (++number == 1 || line.empty()) continue;  // the names of the columns
        const std::vector<std::string> f = csv_fields(line);
        if (f.size() != kColumns) throw InputError(fmt::format("{}:{}: {} fields instead of {}", name, number, f.size(), kColumns));
        char* rest = nullptr;
        const double value = std::strtod(f[7].c_str(), &rest);
        if (f[7].empty() || *rest != 0) throw InputError(fmt::format("{}:{}: '{}' is not a number", name, number, f[7]));
        published.by_id_.emplace(f[1], published.rows_.size());
        published.rows_.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6], value, f[8], f[9]});
    }
    return published;
}

const PublishedNumber& Published::at(std::string_view id) const {
    if (const auto found = by_id_.find(id); found != by_id_.end()) return rows_[found->second];
    throw InputError("has " + unknown_name("published number", id, names_of(rows_, &PublishedNumber::id)));
}

double Published::change(std::string_view id) const {
    const PublishedNumber& number = at(id);
    return number.unit == "percent_decrease" ? -number.value : number.value;
}

fs::path default_published_file() {
    const std::vector<fs::path> files = data_paths("MERGELANE_PUBLISHED", "published.csv", "data/published.csv");
    if (!files.empty()) return files.front();
    throw InputError("published.csv was not found; set MERGELANE_PUBLISHED to its path");
}

}  // namespace mergelane::study
