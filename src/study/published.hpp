// SPDX-License-Identifier: MIT
// Published numbers, by their identifiers in data/published.csv.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane::study {

struct PublishedNumber {
    std::string paper, id, where, metric, technique, baseline, workload;
    double value = 0;
    std::string unit;
    std::string note;
};

class Published {
public:
    /// Throws InputError with file and line.
    static Published read(const std::filesystem::path& file);
    static Published parse(std::string_view text, const std::string& name);

    const PublishedNumber& at(std::string_view id) const;  ///< throws InputError with "did you mean"
    double value(std::string_view id) const { return at(id).value; }
    /// In percent, with its sign: a decrease is negative.
    double change(std::string_view id) const;
    const std::vector<PublishedNumber>& all() const { return rows_; }

private:
    std::vector<PublishedNumber> rows_;
    std::map<std::string, std::size_t, std::less<>> by_id_;
};

/// $MERGELANE_PUBLISHED if set, else data/published.csv where the project is installed or built. Throws InputError when there is none.
std::filesystem::path default_published_file();

}  // namespace mergelane::study
