// SPDX-License-Identifier: MIT
// Totals of a stratified sample with 95 % intervals, and how many launches of each stratum an error requires.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/sample.hpp"

namespace mergelane::sampling {

/// The point that a t distribution exceeds with a probability of 2.5 %.
double t_quantile(double degrees_of_freedom);

/// One statistic of one stratum.
struct StratumSample {
    std::uint64_t launches = 0;
    double cost = 1;             ///< of simulating a launch
    std::vector<double> values;  ///< of the launches simulated
    double known = 0;            ///< part of the stratum's total that no value holds, and that is known exactly
    /// Values may be estimates themselves, from parts of the launches (two-stage sampling: Cochran, Sampling Techniques, chapter 10).
    double within = 0;          ///< sum of their variances
    double within_squares = 0;  ///< sum of the squared variances over their degrees of freedom
    double parts = 0;           ///< sum of the values that were estimated so
    double mean() const;
    /// Of a launch, with what is known.
    double whole_mean() const { return mean() + (launches == 0 ? 0 : known / static_cast<double>(launches)); }
    double squares() const;  ///< sum of the squared deviations from the mean
    bool complete() const { return values.size() == launches; }
};

/// What an interval covers besides the sampling error: launches start from an L2 that was warmed without timing.
struct Allowance {
    double share = 0;        ///< of the total
    double parts_share = 0;  ///< of launches that are estimated from parts of them
};

class Estimator {
public:
    /// Variances of strata with few samples are drawn towards the relative variance of the others, as if so many more launches had been
    /// seen.
    static constexpr double kPriorLaunches = 2;

    explicit Estimator(std::span<const StratumSample> strata, double prior_launches = kPriorLaunches);

    Estimate total(const Allowance& allowance = {}) const;
    /// The half-width that `counts` launches of each stratum would give, by the variances seen so far.
    double half_width(std::span<const std::uint64_t> counts, const Allowance& allowance) const;
    /// Launches of each stratum (at least those simulated) for a half-width of `error` times the total: Neyman allocation by cost, one
    /// launch after another.
    std::vector<std::uint64_t> allocate(double error, const Allowance& allowance) const;

private:
    /// The part of half_width() that further launches do not make less.
    double least_width(const Allowance& allowance) const;

    std::span<const StratumSample> strata_;
    std::vector<double> means_;
    std::vector<double> variances_;
    std::vector<double> freedom_;  ///< degrees of freedom that the prior adds
    double total_ = 0;
    double parts_ = 0;           ///< of the total, what is estimated from parts of launches
    double within_ = 0;          ///< variance of that
    double within_squares_ = 0;  ///< over its degrees of freedom
};

/// Something that is known of every launch.
struct Covariate {
    std::vector<std::vector<double>> values;  ///< by stratum, of the launches simulated
    std::vector<double> totals;               ///< by stratum, of all launches
};

/// Replaces the values by what the best covariate does not explain, if one explains enough (a regression or ratio estimator: Cochran,
/// Sampling Techniques, chapters 6 and 7).
std::vector<StratumSample> explained(std::vector<StratumSample> strata, std::span<const Covariate> covariates);

/// Interval of a quotient of two totals by its residuals, above - quotient * below: linearization, and a rescaled bootstrap (Rao and Wu,
/// 1988).
struct Quotient {
    Estimate analytic;
    double low = 0;
    double high = 0;
};
Quotient quotient(double value, double below, std::span<const StratumSample> residuals, std::uint64_t seed);

}  // namespace mergelane::sampling
