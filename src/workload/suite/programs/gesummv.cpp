// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Gesummv final : public Problem {
public:
    Gesummv(Size size, std::uint64_t seed) : n_(by_size(size, 300, 4096, 8192)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(n_, n_));
        b_ = random_floats(rng, area(n_, n_));
        x_ = random_floats(rng, area(1, n_));
    }
    void run(Device& device) override {
        const auto product = device.zeros<float>(area(1, n_));
        const auto y = device.zeros<float>(area(1, n_));
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        const auto x = device.upload(x_);
        device.launch("polybench/gesummv", "gesummv", grid_1d(n_), kBlock1d, a, b, x, product, y, kAlpha, kBeta, n_);
        result_ = device.download(y);
    }
    Verdict verify() const override {
        std::vector<double> ax(area(1, n_)), want(area(1, n_));
        add_rows_times(ax, a_, x_, n_, n_);
        add_rows_times(want, b_, x_, n_, n_);
        for (int i = 0; i < n_; ++i) want[i] = kAlpha * ax[i] + kBeta * want[i];
        return compare("y", result_, want, 1e-3, 1e-6);
    }

private:
    static constexpr float kAlpha = 0.75f, kBeta = 1.25f;
    int n_;
    std::vector<float> a_, b_, x_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_gesummv(Size size, std::uint64_t seed) {
    return std::make_unique<Gesummv>(size, seed);
}

}  // namespace mergelane::suite
