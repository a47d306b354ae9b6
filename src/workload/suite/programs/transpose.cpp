// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kTile = 32, kRows = 8;

class Transpose final : public Problem {
public:
    Transpose(Size size, std::uint64_t seed) : width_(by_size(size, 96u, 1408u, 2048u)), height_(by_size(size, 64u, 1408u, 2048u)) {
        Rng rng(seed);
        matrix_ = random_floats(rng, static_cast<std::size_t>(width_) * height_);
    }
    void run(Device& device) override {
        const int width = static_cast<int>(width_), height = static_cast<int>(height_);
        const Dim3 block{kTile, kRows, 1};
        const auto in = device.upload(matrix_);
        const auto naive = device.alloc<float>(matrix_.size());
        const auto tiled = device.alloc<float>(matrix_.size());
        device.launch("sdk/transpose", "transpose_naive", {height_ / kTile, width_ / kRows, 1}, block, naive, in, width, height);
        device.launch("sdk/transpose", "transpose_tiled", {width_ / kTile, height_ / kTile, 1}, block, tiled, in, width, height);
        naive_ = device.download(naive);
        tiled_ = device.download(tiled);
    }
    Verdict verify() const override {
        std::vector<float> want(matrix_.size());
        for (std::size_t y = 0; y < height_; ++y)
            for (std::size_t x = 0; x < width_; ++x) want[x * height_ + y] = matrix_[y * width_ + x];
        Verdict verdict = compare_exact("naive", naive_, want);
        return verdict &= compare_exact("tiled", tiled_, want);
    }

private:
    std::uint32_t width_, height_;
    std::vector<float> matrix_, naive_, tiled_;
};

}  // namespace

std::unique_ptr<Problem> make_transpose(Size size, std::uint64_t seed) {
    return std::make_unique<Transpose>(size, seed);
}

}  // namespace mergelane::suite
