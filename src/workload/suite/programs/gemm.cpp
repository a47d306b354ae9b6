// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Gemm final : public Problem {
public:
    Gemm(Size size, std::uint64_t seed)
        : rows_(by_size(size, 72, 1024, 2048)), columns_(by_size(size, 80, 512, 1024)), inner_(by_size(size, 50, 256, 512)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(rows_, inner_));
        b_ = random_floats(rng, area(inner_, columns_));
        c_ = random_floats(rng, area(rows_, columns_));
    }
    void run(Device& device) override {
        const auto c = device.upload(c_);
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        device.launch("polybench/gemm", "gemm", grid_2d(columns_, rows_), kBlock2d, a, b, c, kAlpha, kBeta, rows_, columns_, inner_);
        result_ = device.download(c);
    }
    Verdict verify() const override {
        std::vector<double> want(c_.begin(), c_.end());
        for (double& value : want) value *= kBeta;
        add_product(want, kAlpha, a_, b_, rows_, columns_, inner_);
        return compare("C", result_, want, 1e-3, 1e-6);
    }

private:
    static constexpr float kAlpha = 0.75f, kBeta = 1.25f;
    int rows_, columns_, inner_;
    std::vector<float> a_, b_, c_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_gemm(Size size, std::uint64_t seed) {
    return std::make_unique<Gemm>(size, seed);
}

}  // namespace mergelane::suite
