// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class ThreeMm final : public Problem {
public:
    ThreeMm(int n, int inner, std::uint64_t seed) : n_(n), inner_(inner) {
        Rng rng(seed);
        a_ = random_floats(rng, area(n_, inner_));
        b_ = random_floats(rng, area(inner_, n_));
        c_ = random_floats(rng, area(n_, inner_));
        d_ = random_floats(rng, area(inner_, n_));
    }
    void run(Device& device) override {
        const auto e = device.alloc<float>(area(n_, n_));
        const auto f = device.alloc<float>(area(n_, n_));
        const auto g = device.alloc<float>(area(n_, n_));
        const Dim3 grid = grid_2d(n_, n_);
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        device.launch("polybench/3mm", "three_mm_first", grid, kBlock2d, a, b, e, n_, n_, inner_);
        const auto c = device.upload(c_);
        const auto d = device.upload(d_);
        device.launch("polybench/3mm", "three_mm_second", grid, kBlock2d, c, d, f, n_, n_, inner_);
        device.launch("polybench/3mm", "three_mm_third", grid, kBlock2d, e, f, g, n_, n_, n_);
        result_ = device.download(g);
    }
    Verdict verify() const override {
        std::vector<double> e(area(n_, n_)), f(area(n_, n_)), g(area(n_, n_));
        add_product(e, 1.0, a_, b_, n_, n_, inner_);
        add_product(f, 1.0, c_, d_, n_, n_, inner_);
        add_product(g, 1.0, e, f, n_, n_, n_);
        return compare("G", result_, g, 1e-3, 1e-6);
    }

private:
    int n_;      ///< rows and columns of all three products
    int inner_;  ///< of the first two
    std::vector<float> a_, b_, c_, d_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_3mm(Size size, std::uint64_t seed) {
    return std::make_unique<ThreeMm>(by_size(size, 72, 608, 1024), by_size(size, 40, 512, 1024), seed);
}
std::unique_ptr<Problem> make_3mm_512(Size size, std::uint64_t seed) {
    const int n = by_size(size, 80, 512, 1024);
    return std::make_unique<ThreeMm>(n, n, seed);
}

}  // namespace mergelane::suite
