// SPDX-License-Identifier: MIT
// Per-workload values. A value that could not be measured is missing (NaN), and so is everything computed from it.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace mergelane::study {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
bool is_missing(double value);

/// One value per workload, in the order of the paper.
struct Series {
    std::string label;
    std::vector<double> values;

    double mean() const;            ///< arithmetic, as the paper
    double geometric_mean() const;  ///< printed in addition
    double median() const;
    /// Bootstrap interval of the geometric mean: the 2.5 % and 97.5 % points of the means of 10,000 samples with replacement. The samples
    /// follow from the number of values alone, so that the same values always have the same interval.
    std::pair<double, double> geometric_interval() const;
    double highest() const;
    double at(std::size_t i) const { return values[i]; }
    /// Rank of the workload, 1 for the largest value; equal values have the worst rank of their group, so that being
    /// equal to all others does not mean first.
    double rank(std::size_t i) const;
};
Series operator/(const Series& a, const Series& b);

/// Ratio as a change in percent.
double change(double ratio);
/// Workloads of a named extreme: the top third.
std::size_t top_third(std::size_t workloads);

/// "1.234", or "-" when missing.
std::string number_text(double value, int digits);

}  // namespace mergelane::study
