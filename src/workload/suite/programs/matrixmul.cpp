// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kTile = 32;

class MatrixMul final : public Problem {
public:
    MatrixMul(Size size, std::uint64_t seed) : n_(by_size(size, 96, 704, 1024)), inner_(by_size(size, 64, 512, 1024)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(n_, inner_));
        b_ = random_floats(rng, area(inner_, n_));
    }
    void run(Device& device) override {
        const auto tiles = static_cast<std::uint32_t>(n_) / kTile;
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        const auto c = device.alloc<float>(area(n_, n_));
        device.launch("sdk/matrixmul", "matrix_mul", {tiles, tiles, 1}, {kTile, kTile, 1}, c, a, b, inner_, n_);
        result_ = device.download(c);
    }
    Verdict verify() const override {
        std::vector<double> want(area(n_, n_));
        add_product(want, 1.0, a_, b_, n_, n_, inner_);
        return compare("C", result_, want, 1e-4, 1e-6);
    }

private:
    int n_, inner_;
    std::vector<float> a_, b_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_matrixmul(Size size, std::uint64_t seed) {
    return std::make_unique<MatrixMul>(size, seed);
}

}  // namespace mergelane::suite
