// SPDX-License-Identifier: MIT
// Totals of stratified samples on populations whose totals are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"
#include "sampling/estimator.hpp"

namespace mergelane::sampling {
namespace {

TEST(SamplingEstimator, QuantilesOfStudentsDistribution) {
    // Tables of the two-sided 95 % point.
    const std::vector<std::pair<double, double>> known = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},
                                                          {5, 2.571},  {10, 2.228}, {30, 2.042}, {1e6, 1.960}};
    for (const auto& [freedom, point] : known) EXPECT_NEAR(t_quantile(freedom), point, 0.004) << freedom;
    for (double freedom = 1; freedom < 12; freedom += 0.25) EXPECT_GT(t_quantile(freedom), t_quantile(freedom + 0.25)) << freedom;
}

/// Three kernels whose launches scatter by 2, 10 and 30 %.
std::vector<std::vector<double>> population(Rng& rng) {
    std::vector<std::vector<double>> strata;
    for (const auto& [mean, spread, count] : {std::tuple{1000.0, 0.02, 400}, std::tuple{50.0, 0.1, 90}, std::tuple{9000.0, 0.3, 60}}) {
        std::vector<double>& launches = strata.emplace_back();
        for (int i = 0; i < count; ++i) {
            double noise = 0;  // nearly normal, variance 1
            for (int k = 0; k < 12; ++k) noise += static_cast<double>(rng.below(1000)) / 1000 - 0.4995;
            launches.push_back(mean * (1 + spread * noise));
        }
    }
    return strata;
}

double sum_of(const std::vector<std::vector<double>>& strata) {
    double sum = 0;
    for (const auto& one : strata) sum = std::accumulate(one.begin(), one.end(), sum);
    return sum;
}

/// Some random launches more of each stratum.
void draw(std::vector<StratumSample>& samples, std::vector<std::vector<double>>& left, const std::vector<std::uint64_t>& counts, Rng& rng) {
    for (std::size_t s = 0; s < left.size(); ++s) {
        while (samples[s].values.size() < counts[s]) {
            const std::uint32_t at = rng.below(static_cast<std::uint32_t>(left[s].size()));
            samples[s].values.push_back(left[s][at]);
            left[s].erase(left[s].begin() + at);
        }
    }
}

TEST(SamplingEstimator, IntervalsHoldTheTotalAsOftenAsTheySay) {
    Rng rng(7);
    constexpr int kTrials = 1000;
    int held = 0, met = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<std::vector<double>> launches = population(rng);
        const double truth = sum_of(launches);
        std::vector<StratumSample> samples(launches.size());
        for (std::size_t s = 0; s < launches.size(); ++s) samples[s].launches = launches[s].size();
        draw(samples, launches, std::vector<std::uint64_t>(launches.size(), 3), rng);
        for (int pass = 0; pass < 3; ++pass) draw(samples, launches, Estimator(samples).allocate(0.05, {}), rng);
        const Estimate total = Estimator(samples).total();
        held += std::abs(total.value - truth) <= total.half_width;
        met += total.relative() <= 0.05;
    }
    // Less than 95 %: passes end when the interval is narrow enough, which favours samples that vary little.
    EXPECT_GE(held, 0.91 * kTrials);
    EXPECT_GE(met, 0.92 * kTrials);
}

TEST(SamplingEstimator, ACompleteSampleIsExact) {
    std::vector<StratumSample> samples(2);
    samples[0] = {3, 1, {10, 20, 30}};
    samples[1] = {1, 1, {7}};
    const Estimate total = Estimator(samples).total();
    EXPECT_DOUBLE_EQ(total.value, 67);
    EXPECT_DOUBLE_EQ(total.half_width, 0);
    EXPECT_EQ(Estimator(samples).allocate(0.001, {}), (std::vector<std::uint64_t>{3, 1}));
}

TEST(SamplingEstimator, EqualLaunchesNeedNoMoreThanThePilot) {
    std::vector<StratumSample> samples(1);
    samples[0] = {100000, 1, {500, 500, 500}};
    EXPECT_EQ(Estimator(samples).allocate(0.01, {}), (std::vector<std::uint64_t>{3}));
    EXPECT_DOUBLE_EQ(Estimator(samples).total({0.002}).relative(), 0.002) << "what warming may miss";
}

TEST(SamplingEstimator, CheapLaunchesAreSimulatedFirst) {
    std::vector<StratumSample> samples(2);
    samples[0] = {100, 1, {90, 100, 110}};
    samples[1] = {100, 50, {90, 100, 110}};
    const std::vector<std::uint64_t> counts = Estimator(samples).allocate(0.03, {});
    EXPECT_GT(counts[0], 2 * counts[1]);
}

TEST(SamplingEstimator, QuotientsOfWhatVariesTogetherAreNarrow) {
    Rng rng(3);
    std::vector<StratumSample> below(1), above(1), residuals(1);
    below[0].launches = above[0].launches = residuals[0].launches = 200;
    for (int i = 0; i < 12; ++i) {
        below[0].values.push_back(100 + rng.below(900));
        above[0].values.push_back(0.25 * below[0].values.back() + rng.below(3));
    }
    const double size = Estimator(below).total().value;
    const double value = Estimator(above).total().value / size;
    for (int i = 0; i < 12; ++i) residuals[0].values.push_back(above[0].values[i] - value * below[0].values[i]);
    const Quotient made = quotient(value, size, residuals, 1);
    EXPECT_NEAR(made.analytic.value, 0.25, 0.01);
    EXPECT_LT(made.analytic.relative(), 0.05 * Estimator(below).total().relative());
    EXPECT_LT(made.low, made.analytic.value);
    EXPECT_GT(made.high, made.analytic.value);
    EXPECT_LT(made.high - made.low, 3 * made.analytic.half_width);
    EXPECT_EQ(quotient(value, size, residuals, 1).low, made.low) << "the same seed";
}

TEST(SamplingEstimator, WhatIsKnownOfEveryLaunchExplains) {
    Rng rng(11);
    constexpr int kTrials = 400;
    int held = 0;
    double width = 0, plain = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<StratumSample> samples(3);
        std::vector<Covariate> covariates(2);
        for (Covariate& c : covariates) c = {std::vector<std::vector<double>>(3), std::vector<double>(3)};
        double truth = 0;
        for (std::size_t s = 0; s < 3; ++s) {
            samples[s].launches = 50;
            for (int i = 0; i < 50; ++i) {
                const double size = 500 + rng.below(1000), other = rng.below(100);
                const double y = 7 * size + rng.below(200);
                truth += y;
                covariates[0].totals[s] += other;
                covariates[1].totals[s] += size;
                if (i >= 6) continue;  // they are in random order
                samples[s].values.push_back(y);
                covariates[0].values[s].push_back(other);
                covariates[1].values[s].push_back(size);
            }
        }
        const Estimate total = Estimator(explained(samples, covariates)).total();
        held += std::abs(total.value - truth) <= total.half_width;
        width += total.half_width;
        plain += Estimator(samples).total().half_width;
    }
    EXPECT_GE(held, 0.93 * kTrials);
    EXPECT_LT(width, 0.1 * plain);
}

}  // namespace
}  // namespace mergelane::sampling
