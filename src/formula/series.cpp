// SPDX-License-Identifier: MIT
#include "formula/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"

namespace mergelane::study {

bool is_missing(double value) {
    return std::isnan(value);
}

std::string number_text(double value, int digits) {
    if (is_missing(value)) return "-";
    if (std::abs(value) < 0.5 * std::pow(10, -digits)) value = 0;  // no "-0.0"
    return fmt::format("{:.{}f}", value, digits);
}

double Series::mean() const {
    if (values.empty()) return kMissing;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Series::geometric_mean() const {
    if (values.empty()) return kMissing;
    double sum = 0;
    for (const double value : values) sum += std::log(value);
    return std::exp(sum / static_cast<double>(values.size()));
}

double Series::median() const {
    if (is_missing(highest())) return kMissing;
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

std::pair<double, double> Series::geometric_interval() const {
    constexpr std::size_t kSamples = 10'000;
    if (is_missing(geometric_mean())) return {kMissing, kMissing};
    std::vector<double> logs;
    for (const double value : values) logs.push_back(std::log(value));
    const auto count = static_cast<std::uint32_t>(logs.size());
    Rng rng(count);
    std::vector<double> sums(kSamples, 0);
    for (double& sum : sums) {
        for (std::uint32_t i = 0; i < count; ++i) sum += logs[rng.below(count)];
    }
    std::sort(sums.begin(), sums.end());
    return {std::exp(sums[kSamples / 40] / count), std::exp(sums[kSamples - 1 - kSamples / 40] / count)};
}

double Series::highest() const {
    double most = -std::numeric_limits<double>::infinity();
    for (const double value : values) {
        if (is_missing(value)) return kMissing;
        most = std::max(most, value);
    }
    return values.empty() ? kMissing : most;
}

double Series::rank(std::size_t i) const {
    if (is_missing(highest())) return kMissing;
    return static_cast<double>(std::count_if(values.begin(), values.end(), [&](double value) { return value >= values[i]; }));
}

Series operator/(const Series& a, const Series& b) {
    Series result{a.label, {}};
    for (std::size_t i = 0; i < a.values.size(); ++i) result.values.push_back(b.values[i] == 0 ? kMissing : a.values[i] / b.values[i]);
    return result;
}

double change(double ratio) {
    return 100 * (ratio - 1);
}

std::size_t top_third(std::size_t workloads) {
    return (workloads + 2) / 3;
}

}  // namespace mergelane::study
