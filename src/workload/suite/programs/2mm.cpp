// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class TwoMm final : public Problem {
public:
    TwoMm(int rows, int n, std::uint64_t seed) : rows_(rows), n_(n) {
        Rng rng(seed);
        a_ = random_floats(rng, area(rows_, n_));
        b_ = random_floats(rng, area(n_, n_));
        c_ = random_floats(rng, area(n_, n_));
        d_ = random_floats(rng, area(rows_, n_));
    }
    void run(Device& device) override {
        const auto product = device.alloc<float>(area(rows_, n_));
        const auto d = device.upload(d_);
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        device.launch("polybench/2mm", "two_mm_first", grid_2d(n_, rows_), kBlock2d, a, b, product, kAlpha, rows_, n_, n_);
        const auto c = device.upload(c_);
        device.launch("polybench/2mm", "two_mm_second", grid_2d(n_, rows_), kBlock2d, product, c, d, kBeta, rows_, n_, n_);
        result_ = device.download(d);
    }
    Verdict verify() const override {
        std::vector<double> product(area(rows_, n_));
        add_product(product, kAlpha, a_, b_, rows_, n_, n_);
        std::vector<double> want(d_.begin(), d_.end());
        for (double& value : want) value *= kBeta;
        add_product(want, 1.0, product, c_, rows_, n_, n_);
        return compare("D", result_, want, 1e-3, 1e-6);
    }

private:
    static constexpr float kAlpha = 0.75f, kBeta = 1.25f;
    int rows_;  ///< many rows, so that both launches have several waves of CTAs
    int n_;     ///< all other dimensions
    std::vector<float> a_, b_, c_, d_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_2mm(Size size, std::uint64_t seed) {
    return std::make_unique<TwoMm>(by_size(size, 96, 2048, 4096), by_size(size, 64, 256, 512), seed);
}
std::unique_ptr<Problem> make_2mm_512(Size size, std::uint64_t seed) {
    const int n = by_size(size, 80, 512, 1024);
    return std::make_unique<TwoMm>(n, n, seed);
}

}  // namespace mergelane::suite
