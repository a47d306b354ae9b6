// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

class MonteCarlo final : public Problem {
public:
    MonteCarlo(Size size, std::uint64_t seed) : options_(by_size(size, 7u, 400u, 800u)), paths_(by_size(size, 1000, 65536, 262144)) {
        Rng rng(seed);
        // Price, strike, drift and spread of the logarithm.
        for (std::uint32_t i = 0; i < options_; ++i) {
            for (const float limit : {5.0f, 10.0f, -0.125f, 0.25f}) option_.push_back(random_floats(rng, 1, limit, 2 * limit).front());
        }
        // Twelve uniform numbers add up to nearly a normal one, and exactly to the same on every host.
        for (int i = 0; i < paths_; ++i) {
            float sum = -6.0f;
            for (const float uniform : random_floats(rng, 12)) sum += uniform;
            samples_.push_back(sum);
        }
    }
    void run(Device& device) override {
        const auto option = device.upload(option_);
        const auto samples = device.upload(samples_);
        const auto value = device.alloc<float>(options_ * std::size_t{2});
        device.launch("sdk/montecarlo", "monte_carlo", {options_, 1, 1}, {256, 1, 1}, value, option, samples, paths_);
        value_ = device.download(value);
    }
    Verdict verify() const override {
        std::vector<double> want;
        for (std::size_t i = 0; i < option_.size(); i += 4) {
            double sum = 0, square = 0;
            for (const float sample : samples_) {
                const double gain =
                    std::max(option_[i] * std::exp(option_[i + 2] + static_cast<double>(option_[i + 3]) * sample) - option_[i + 1], 0.0);
                sum += gain;
                square += gain * gain;
            }
            const double mean = sum / paths_;
            want.push_back(mean);
            want.push_back(std::sqrt(square / paths_ - mean * mean));
        }
        return compare("value", value_, want, 1e-4, 1e-4);
    }

private:
    std::uint32_t options_;
    int paths_;
    std::vector<float> option_, samples_;
    std::vector<float> value_;  ///< mean and standard deviation of each option
};

}  // namespace

std::unique_ptr<Problem> make_montecarlo(Size size, std::uint64_t seed) {
    return std::make_unique<MonteCarlo>(size, seed);
}

}  // namespace mergelane::suite
