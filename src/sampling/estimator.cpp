// SPDX-License-Identifier: MIT
#include "sampling/estimator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/rng.hpp"

namespace mergelane::sampling {

double t_quantile(double freedom) {
    constexpr double kNormal = 1.959964, kOne = 12.7062, kTwo = 4.30265, kThree = 3.18245;
    if (freedom <= 1) return kOne;
    // Between small whole numbers, linear in the reciprocal.
    if (freedom < 2) return kTwo + (kOne - kTwo) * (1 / freedom - 0.5) / 0.5;
    if (freedom < 3) return kThree + (kTwo - kThree) * (1 / freedom - 1.0 / 3) * 6;
    const double z = kNormal, z2 = z * z, v = freedom;
    const double g1 = z * (z2 + 1) / 4;
    const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}

double StratumSample::mean() const {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double StratumSample::squares() const {
    const double centre = mean();
    double sum = 0;
    for (const double value : values) sum += (value - centre) * (value - centre);
    return sum;
}

namespace {

/// Squares of deviations, and what they would be if every launch deviated by its mean.
struct Spread {
    double squares = 0;
    double freedom = 0;
    double means = 0;
    explicit Spread(const StratumSample& stratum) {
        if (stratum.complete() || stratum.values.size() < 2) return;
        squares = stratum.squares();
        freedom = static_cast<double>(stratum.values.size() - 1);
        means = freedom * stratum.whole_mean() * stratum.whole_mean();
    }
    Spread() = default;
};

}  // namespace

Estimator::Estimator(std::span<const StratumSample> strata, double prior_launches) : strata_(strata) {
    Spread all;
    for (const StratumSample& stratum : strata) {
        const Spread own(stratum);
        all.squares += own.squares;
        all.freedom += own.freedom;
        all.means += own.means;
        means_.push_back(stratum.whole_mean());
        total_ += means_.back() * static_cast<double>(stratum.launches);
        if (stratum.values.empty()) continue;
        const double each = static_cast<double>(stratum.launches) / static_cast<double>(stratum.values.size());
        parts_ += each * std::abs(stratum.parts);
        within_ += each * stratum.within;
        within_squares_ += each * each * stratum.within_squares;
    }
    for (std::size_t s = 0; s < strata.size(); ++s) {
        const Spread own(strata[s]);
        const double others = all.means - own.means;
        const double prior = others > 0 ? std::min(prior_launches, all.freedom - own.freedom) : 0;
        const double pooled = prior > 0 ? prior * (all.squares - own.squares) / others * means_[s] * means_[s] : 0;
        variances_.push_back(own.freedom + prior > 0 ? (own.squares + pooled) / (own.freedom + prior) : 0);
        freedom_.push_back(prior);
    }
}

double Estimator::half_width(std::span<const std::uint64_t> counts, const Allowance& allowance) const {
    double variance = within_, spread = within_squares_;
    for (std::size_t s = 0; s < strata_.size(); ++s) {
        const auto all = static_cast<double>(strata_[s].launches), n = static_cast<double>(counts[s]);
        if (counts[s] == strata_[s].launches || n == 0) continue;
        const double part = all * (all - n) * variances_[s] / n;
        variance += part;
        const double freedom = n - 1 + freedom_[s];
        if (freedom > 0) spread += part * part / freedom;
    }
    const double sampling = variance > 0 ? t_quantile(spread > 0 ? variance * variance / spread : 1) * std::sqrt(variance) : 0;
    return sampling + allowance.share * std::abs(total_) + allowance.parts_share * parts_;
}

double Estimator::least_width(const Allowance& allowance) const {
    std::vector<std::uint64_t> all;
    for (const StratumSample& stratum : strata_) all.push_back(stratum.launches);
    return half_width(all, allowance);
}

Estimate Estimator::total(const Allowance& allowance) const {
    std::vector<std::uint64_t> counts;
    for (const StratumSample& stratum : strata_) counts.push_back(stratum.values.size());
    return {total_, half_width(counts, allowance)};
}

std::vector<std::uint64_t> Estimator::allocate(double error, const Allowance& allowance) const {
    constexpr double kAboveLeast = 1.4;
    std::vector<std::uint64_t> counts;
    for (const StratumSample& stratum : strata_) counts.push_back(stratum.values.size());
    const auto gain = [&](std::size_t s) {
        const auto all = static_cast<double>(strata_[s].launches), n = static_cast<double>(counts[s]);
        if (counts[s] >= strata_[s].launches) return -1.0;
        if (n == 0) return std::numeric_limits<double>::max();
        return all * all * variances_[s] * (1 / n - 1 / (n + 1)) / std::max(strata_[s].cost, 1.0);
    };
    // Beyond what parts of launches leave open, more launches gain nothing.
    const double wanted = within_ > 0 ? std::max(error * total_, kAboveLeast * least_width(allowance)) : error * total_;
    while (half_width(counts, allowance) > wanted) {
        std::size_t best = 0;
        double most = -1;
        for (std::size_t s = 0; s < strata_.size(); ++s) {
            if (const double here = gain(s); here > most) {
                most = here;
                best = s;
            }
        }
        if (most < 0) break;  // everything is simulated
        // Steps in proportion, so that strata of many thousand launches take few of them.
        counts[best] = std::min(strata_[best].launches, counts[best] + 1 + counts[best] / 16);
    }
    return counts;
}

namespace {

/// Variance of the total without pooling.
double variance_of(std::span<const StratumSample> strata) {
    double sum = 0;
    for (const StratumSample& stratum : strata) {
        const auto all = static_cast<double>(stratum.launches), n = static_cast<double>(stratum.values.size());
        if (!stratum.complete() && n > 1) sum += all * (all - n) / n * stratum.squares() / (n - 1);
    }
    return sum;
}

std::vector<StratumSample> without(std::span<const StratumSample> strata, const Covariate& covariate, double slope) {
    std::vector<StratumSample> rest(strata.begin(), strata.end());
    for (std::size_t s = 0; s < rest.size(); ++s) {
        if (rest[s].complete() || rest[s].values.empty()) continue;
        for (std::size_t i = 0; i < rest[s].values.size(); ++i) rest[s].values[i] -= slope * covariate.values[s][i];
        rest[s].known += slope * covariate.totals[s];
    }
    return rest;
}

struct Slopes {
    double regression = 0;
    double ratio = 0;
};
Slopes slopes_of(std::span<const StratumSample> strata, const Covariate& covariate) {
    double products = 0, squares = 0, above = 0, below = 0;
    for (std::size_t s = 0; s < strata.size(); ++s) {
        const StratumSample& stratum = strata[s];
        const auto all = static_cast<double>(stratum.launches), n = static_cast<double>(stratum.values.size());
        if (stratum.complete() || n == 0) continue;
        double mean = 0;
        for (const double x : covariate.values[s]) mean += x / n;
        above += all * stratum.mean();
        below += all * mean;
        if (n == 1) continue;
        const double weight = all * (all - n) / (n * (n - 1));
        for (std::size_t i = 0; i < stratum.values.size(); ++i) {
            products += weight * (covariate.values[s][i] - mean) * (stratum.values[i] - stratum.mean());
            squares += weight * (covariate.values[s][i] - mean) * (covariate.values[s][i] - mean);
        }
    }
    return {squares > 0 ? products / squares : 0, below > 0 ? above / below : 0};
}

}  // namespace

std::vector<StratumSample> explained(std::vector<StratumSample> strata, std::span<const Covariate> covariates) {
    constexpr double kEnough = 0.5;  // of the variance, or none is used: the best of several always explains something
    constexpr double kFewest = 6;    // degrees of freedom
    double freedom = 0;
    for (const StratumSample& stratum : strata) {
        if (!stratum.complete() && !stratum.values.empty()) freedom += static_cast<double>(stratum.values.size() - 1);
    }
    if (freedom < kFewest) return strata;
    const double before = variance_of(strata);
    double least = kEnough * before * (freedom - 1) / freedom;
    std::vector<StratumSample> best;
    for (const Covariate& covariate : covariates) {
        const Slopes slopes = slopes_of(strata, covariate);
        for (const double slope : {slopes.ratio, slopes.regression}) {
            if (slope == 0) continue;
            std::vector<StratumSample> rest = without(strata, covariate, slope);
            if (const double variance = variance_of(rest); variance < least) {
                least = variance;
                best = std::move(rest);
            }
        }
    }
    return best.empty() ? strata : best;
}

namespace {

/// One bootstrap sample of a total: n - 1 launches of each incomplete stratum, with weights that give the variance of the total without
/// replacement.
double resample(std::span<const StratumSample> strata, Rng& rng) {
    double total = 0;
    for (const StratumSample& stratum : strata) {
        const auto all = static_cast<double>(stratum.launches);
        const std::size_t n = stratum.values.size();
        const double mean = stratum.mean();
        double off = 0;
        if (!stratum.complete() && n > 1) {
            for (std::size_t i = 0; i + 1 < n; ++i) off += stratum.values[rng.below(static_cast<std::uint32_t>(n))] - mean;
            off *= std::sqrt(1 - static_cast<double>(n) / all) / static_cast<double>(n - 1);
        }
        total += all * (stratum.whole_mean() + off);
        if (stratum.within <= 0) continue;
        double noise = -6;  // nearly normal, variance 1
        for (int i = 0; i < 12; ++i) noise += static_cast<double>(rng.next() >> 11) * 0x1p-53;
        total += noise * std::sqrt(all / static_cast<double>(n) * stratum.within);
    }
    return total;
}

}  // namespace

Quotient quotient(double value, double below, std::span<const StratumSample> residuals, std::uint64_t seed) {
    constexpr std::uint32_t kSamples = 1000;
    Quotient result;
    if (below <= 0) return result;
    result.analytic = {value, Estimator(residuals, 0).total().half_width / below};
    const double centre = Estimator(residuals, 0).total().value;
    Rng rng(seed);
    std::vector<double> drawn;
    for (std::uint32_t i = 0; i < kSamples; ++i) drawn.push_back(value + (resample(residuals, rng) - centre) / below);
    std::sort(drawn.begin(), drawn.end());
    result.low = drawn[kSamples / 40];
    result.high = drawn[kSamples - 1 - kSamples / 40];
    return result;
}

}  // namespace mergelane::sampling
