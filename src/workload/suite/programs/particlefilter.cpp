// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// Only the resampling kernel: the one in which all warps read the same weights.
class ParticleFilter final : public Problem {
public:
    ParticleFilter(Size size, std::uint64_t seed) : particles_(by_size(size, 700, 16000, 32000)) {
        Rng rng(seed);
        const auto count = static_cast<std::size_t>(particles_);
        x_ = random_floats(rng, count);
        y_ = random_floats(rng, count);
        const std::vector<float> weights = random_floats(rng, count);
        double sum = 0;
        for (const float weight : weights) sum += weight;
        double up_to = 0;
        for (const float weight : weights) cumulative_.push_back(static_cast<float>((up_to += weight) / sum));
        // Systematic resampling: one random start, then equal steps.
        const double start = random_floats(rng, 1).front();
        for (int i = 0; i < particles_; ++i) draws_.push_back(static_cast<float>((start + i) / particles_));
    }

    void run(Device& device) override {
        const Dim3 block{128, 1, 1};
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(particles_), block.x), 1, 1};
        const auto x = device.upload(x_);
        const auto y = device.upload(y_);
        const auto cumulative = device.upload(cumulative_);
        const auto draws = device.upload(draws_);
        const auto new_x = device.alloc<float>(x_.size());
        const auto new_y = device.alloc<float>(y_.size());
        device.launch("rodinia/particlefilter", "find_index", grid, block, x, y, cumulative, draws, new_x, new_y, particles_);
        new_x_ = device.download(new_x);
        new_y_ = device.download(new_y);
    }

    Verdict verify() const override {
        std::vector<double> x, y;
        for (const float draw : draws_) {
            std::size_t found = 0;
            while (found + 1 < cumulative_.size() && cumulative_[found] < draw) ++found;
            x.push_back(x_[found]);
            y.push_back(y_[found]);
        }
        Verdict verdict = compare("x", new_x_, x, 0, 0);
        verdict &= compare("y", new_y_, y, 0, 0);
        return verdict;
    }

private:
    int particles_;
    std::vector<float> x_, y_, cumulative_, draws_;
    std::vector<float> new_x_, new_y_;
};

}  // namespace

std::unique_ptr<Problem> make_particlefilter(Size size, std::uint64_t seed) {
    return std::make_unique<ParticleFilter>(size, seed);
}

}  // namespace mergelane::suite
