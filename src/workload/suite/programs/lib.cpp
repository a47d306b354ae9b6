// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// One path of forward rates, in double precision and with its arrays to itself.
class ForwardRates {
public:
    static constexpr std::size_t kRates = 80;

    ForwardRates(const std::vector<float>& lambda, const std::vector<float>& initial, const std::vector<double>& normals)
        : lambda_(lambda.begin(), lambda.end()), normals_(normals) {
        history_.emplace_back(initial.begin(), initial.end());
        for (std::size_t n = 0; n < normals.size(); ++n) {
            std::vector<double> rates = history_.back();
            double drift = 0;
            for (std::size_t i = n + 1; i < kRates; ++i) {
                const double weight = kDelta * lambda_[i - n - 1];
                drift += weight * rates[i] / (1 + kDelta * rates[i]);
                rates[i] *= std::exp(weight * drift + lambda_[i - n - 1] * (std::sqrt(kDelta) * normals[n] - weight / 2));
            }
            history_.push_back(std::move(rates));
        }
        double bond = 1;
        for (std::size_t i = 0; i < kRates; ++i) {
            bond /= 1 + kDelta * last()[i];
            bonds_.push_back(bond);
            payments_.push_back(i < normals.size() ? 0.0 : 100 * kDelta * bond * std::max(last()[i] - kStrike, 0.0));
            value += payments_.back();
        }
        slope = sum_of_slopes();
    }

    double value = 0, slope = 0;

private:
    static constexpr double kDelta = 0.25, kStrike = 0.05f;

    const std::vector<double>& last() const { return history_.back(); }

    double sum_of_slopes() const {
        std::vector<double> by(kRates);
        double later = value;
        for (std::size_t i = 0; i < kRates; ++i) {
            if (payments_[i] > 0) by[i] = 100 * kDelta * bonds_[i];
            by[i] -= later * kDelta / (1 + kDelta * last()[i]);
            later -= payments_[i];
        }
        for (std::size_t n = normals_.size(); n-- > 0;) {
            const std::vector<double>&before = history_[n], &after = history_[n + 1];
            double behind = 0;
            for (std::size_t i = kRates - 1; i > n; --i) {
                behind += lambda_[i - n - 1] * after[i] * by[i];
                const double factor = kDelta / (1 + kDelta * before[i]);
                by[i] = by[i] * after[i] / before[i] + behind * lambda_[i - n - 1] * factor * factor;
            }
        }
        double sum = 0;
        for (const double part : by) sum += part;
        return sum;
    }

    std::vector<double> lambda_, normals_;
    std::vector<std::vector<double>> history_;  ///< rates before every period, and at last
    std::vector<double> bonds_, payments_;
};

class Libor final : public Problem {
public:
    Libor(Size size, std::uint64_t seed) : ctas_(by_size(size, 2u, 64u, 128u)), periods_(by_size(size, 3, 40, 40)) {
        Rng rng(seed);
        lambda_ = random_floats(rng, ForwardRates::kRates, 0.15f, 0.25f);
        initial_ = random_floats(rng, ForwardRates::kRates, 0.045f, 0.055f);
        for (std::size_t i = 0; i < paths() * static_cast<std::size_t>(periods_); ++i) {
            float sum = -6.0f;
            for (const float uniform : random_floats(rng, 12)) sum += uniform;
            normals_.push_back(sum);
        }
    }
    void run(Device& device) override {
        const auto lambda = device.upload(lambda_);
        const auto initial = device.upload(initial_);
        const auto normals = device.upload(normals_);
        const auto rates = device.alloc<float>(paths() * ForwardRates::kRates);
        const auto slopes = device.alloc<float>(paths() * ForwardRates::kRates);
        const auto saved = device.alloc<float>(paths() * ForwardRates::kRates * static_cast<std::size_t>(periods_));
        const std::array value{device.alloc<float>(paths()), device.alloc<float>(paths())};
        const auto slope = device.alloc<float>(paths());
        const Dim3 grid{ctas_, 1, 1}, block{kThreads, 1, 1};
        device.launch("gpgpusim/lib", "lib_value", grid, block, lambda, initial, normals, rates, value[0], periods_);
        device.launch("gpgpusim/lib", "lib_gradient", grid, block, lambda, initial, normals, rates, saved, slopes, value[1], slope,
                      periods_);
        value_ = {device.download(value[0]), device.download(value[1])};
        slope_ = device.download(slope);
    }
    Verdict verify() const override {
        std::vector<double> value, slope;
        for (std::size_t path = 0; path < paths(); ++path) {
            std::vector<double> normals;
            for (std::size_t n = 0; n < static_cast<std::size_t>(periods_); ++n) normals.push_back(normals_[n * paths() + path]);
            const ForwardRates rates(lambda_, initial_, normals);
            value.push_back(rates.value);
            slope.push_back(rates.slope);
        }
        Verdict verdict = compare("value", value_[0], value, 1e-3, 1e-3);
        verdict &= compare("value with slope", value_[1], value, 1e-3, 1e-3);
        // A rate that just reaches its strike pays or not, as it is rounded: one of 80 parts.
        verdict &= compare("slope", slope_, slope, 0.01, 30.0);
        return verdict;
    }

private:
    static constexpr std::uint32_t kThreads = 64;
    std::size_t paths() const { return std::size_t{ctas_} * kThreads; }

    std::uint32_t ctas_;
    int periods_;
    std::vector<float> lambda_, initial_, normals_;
    std::array<std::vector<float>, 2> value_;  ///< by the first kernel and by the second
    std::vector<float> slope_;
};

}  // namespace

std::unique_ptr<Problem> make_lib(Size size, std::uint64_t seed) {
    return std::make_unique<Libor>(size, seed);
}

}  // namespace mergelane::suite
