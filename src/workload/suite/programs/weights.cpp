// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

/// 1024 rows times 256 rows of weights. Weights of 0.75, 1.5, 3 and 6 MiB are 0.5, 1, 2 and 4 times the L2 of a quarter of a v100.
class Weights final : public Problem {
public:
    Weights(int width, Size size, std::uint64_t seed)
        : rows_(by_size(size, 64, 1024, 2048)), inner_(by_size(size, 32, 256, 256)), columns_(by_size(size, 32, 768, 768) * width) {
        Rng rng(seed);
        a_ = random_floats(rng, area(rows_, inner_));
        b_ = random_floats(rng, area(inner_, columns_));
    }
    void run(Device& device) override {
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        const auto c = device.upload(std::vector<float>(area(rows_, columns_)));
        const Dim3 grid{static_cast<std::uint32_t>(columns_ / kTile), static_cast<std::uint32_t>(rows_ / kTile), 1};
        device.launch("mergelane/weights", "weights_product", grid, Dim3{kThreads, 1, 1}, a, b, c, inner_, columns_);
        result_ = device.download(c);
    }
    Verdict verify() const override {
        std::vector<double> want(area(rows_, columns_));
        add_product(want, 1, a_, b_, rows_, columns_, inner_);
        return compare("C", result_, want, 1e-3, 1e-6);
    }

private:
    static constexpr int kTile = 32;
    static constexpr std::uint32_t kThreads = 128;
    int rows_, inner_, columns_;
    std::vector<float> a_, b_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_weights_half(Size size, std::uint64_t seed) {
    return std::make_unique<Weights>(1, size, seed);
}
std::unique_ptr<Problem> make_weights_one(Size size, std::uint64_t seed) {
    return std::make_unique<Weights>(2, size, seed);
}
std::unique_ptr<Problem> make_weights_two(Size size, std::uint64_t seed) {
    return std::make_unique<Weights>(4, size, seed);
}
std::unique_ptr<Problem> make_weights_four(Size size, std::uint64_t seed) {
    return std::make_unique<Weights>(8, size, seed);
}

}  // namespace mergelane::suite
