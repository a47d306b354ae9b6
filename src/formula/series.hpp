// SPDX-License-Identifier: MIT
// Values of workloads. A value that could not be measured is missing (not a number), and so is whatever is computed from it.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace mergelane::study {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
bool is_missing(double value);

/// One value per workload, in the order of the paper.
struct Series {
    std::string label;
    std::vector<double> values;

    double mean() const;            ///< arithmetic, as the paper
    double geometric_mean() const;  ///< printed beside
    double highest() const;
    double at(std::size_t i) const { return values[i]; }
    /// Place of the workload when the largest value comes first; of equals each has the worse place, so that being
    /// equal to all others is not being first.
    double rank(std::size_t i) const;
};
Series operator/(const Series& a, const Series& b);

/// Ratio to change in per cent.
double change(double ratio);
/// Workloads of a named extreme: the top third.
std::size_t top_third(std::size_t workloads);

/// "1.234", or "-" when missing.
std::string number_text(double value, int digits);

}  // namespace mergelane::study
