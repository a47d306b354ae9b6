// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr float kRiskless = 0.02f, kVolatility = 0.30f;

double normal_cdf(double d) {
    return 0.5 * std::erfc(-d / std::sqrt(2.0));
}

class BlackScholes final : public Problem {
public:
    BlackScholes(Size size, std::uint64_t seed) : options_(by_size(size, 3000, 1048576, 4194304)), ctas_(by_size(size, 12u, 3840u, 3840u)) {
        Rng rng(seed);
        const auto count = static_cast<std::size_t>(options_);
        price_ = random_floats(rng, count, 5.0f, 30.0f);
        strike_ = random_floats(rng, count, 1.0f, 100.0f);
        years_ = random_floats(rng, count, 0.25f, 10.0f);
    }
    void run(Device& device) override {
        const auto count = static_cast<std::size_t>(options_);
        const auto price = device.upload(price_);
        const auto strike = device.upload(strike_);
        const auto years = device.upload(years_);
        const auto call = device.alloc<float>(count);
        const auto put = device.alloc<float>(count);
        device.launch("sdk/blackscholes", "black_scholes", {ctas_, 1, 1}, {128, 1, 1}, call, put, price, strike, years, kRiskless,
                      kVolatility, options_);
        call_ = device.download(call);
        put_ = device.download(put);
    }
    /// Against the exact normal distribution; the kernel's polynomial is within 7.5e-8 of it.
    Verdict verify() const override {
        std::vector<double> call, put;
        for (std::size_t i = 0; i < price_.size(); ++i) {
            const double s = price_[i], x = strike_[i], t = years_[i];
            const double spread = kVolatility * std::sqrt(t);
            const double d1 = (std::log(s / x) + (kRiskless + 0.5 * kVolatility * kVolatility) * t) / spread;
            const double n1 = normal_cdf(d1), n2 = normal_cdf(d1 - spread);
            const double discounted = x * std::exp(-kRiskless * t);
            call.push_back(s * n1 - discounted * n2);
            put.push_back(discounted * (1 - n2) - s * (1 - n1));
        }
        Verdict verdict = compare("call", call_, call, 1e-4, 1e-4);
        return verdict &= compare("put", put_, put, 1e-4, 1e-4);
    }

private:
    int options_;
    std::uint32_t ctas_;
    std::vector<float> price_, strike_, years_, call_, put_;
};

}  // namespace

std::unique_ptr<Problem> make_blackscholes(Size size, std::uint64_t seed) {
    return std::make_unique<BlackScholes>(size, seed);
}

}  // namespace mergelane::suite
