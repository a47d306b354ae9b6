// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Mvt final : public Problem {
public:
    Mvt(Size size, std::uint64_t seed) : n_(by_size(size, 300, 4096, 8192)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(n_, n_));
        x1_ = random_floats(rng, area(1, n_));
        x2_ = random_floats(rng, area(1, n_));
        y1_ = random_floats(rng, area(1, n_));
        y2_ = random_floats(rng, area(1, n_));
    }
    void run(Device& device) override {
        const auto a = device.upload(a_);
        const auto x1 = device.upload(x1_);
        const auto x2 = device.upload(x2_);
        const auto y1 = device.upload(y1_);
        device.launch("polybench/mvt", "mvt_rows", grid_1d(n_), kBlock1d, a, x1, y1, n_);
        const auto y2 = device.upload(y2_);
        device.launch("polybench/mvt", "mvt_columns", grid_1d(n_), kBlock1d, a, x2, y2, n_);
        result1_ = device.download(x1);
        result2_ = device.download(x2);
    }
    Verdict verify() const override {
        std::vector<double> x1(x1_.begin(), x1_.end()), x2(x2_.begin(), x2_.end());
        add_rows_times(x1, a_, y1_, n_, n_);
        add_columns_times(x2, a_, y2_, n_, n_);
        Verdict verdict = compare("x1", result1_, x1, 1e-3, 1e-6);
        return verdict &= compare("x2", result2_, x2, 1e-3, 1e-6);
    }

private:
    int n_;
    std::vector<float> a_, x1_, x2_, y1_, y2_, result1_, result2_;
};

}  // namespace

std::unique_ptr<Problem> make_mvt(Size size, std::uint64_t seed) {
    return std::make_unique<Mvt>(size, seed);
}

}  // namespace mergelane::suite
