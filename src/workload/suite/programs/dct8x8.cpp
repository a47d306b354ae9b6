// SPDX-License-Identifier: MIT
#include <array>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kBlock = 8;
using Matrix = std::array<std::array<double, kBlock>, kBlock>;

/// basis[k][n]: the k-th orthonormal cosine at n.
Matrix cosine_basis() {
    constexpr double kPi = 3.14159265358979323846;
    Matrix basis{};
    for (std::uint32_t k = 0; k < kBlock; ++k)
        for (std::uint32_t n = 0; n < kBlock; ++n) basis[k][n] = (k == 0 ? std::sqrt(0.125) : 0.5) * std::cos((2 * n + 1) * k * kPi / 16);
    return basis;
}

float quantum(std::uint32_t row, std::uint32_t column) {
    return static_cast<float>(16 + 3 * (row + column) + row * column);
}

class Dct8x8 final : public Problem {
public:
    Dct8x8(Size size, std::uint64_t seed) : width_(by_size(size, 64u, 1024u, 2048u)), height_(by_size(size, 48u, 512u, 1024u)) {
        Rng rng(seed);
        // A smooth ramp and noise, in whole grey levels.
        for (std::uint32_t y = 0; y < height_; ++y)
            for (std::uint32_t x = 0; x < width_; ++x) image_.push_back(static_cast<float>((x / 4 + y / 2) % 192 + rng.below(64)));
    }

    void run(Device& device) override {
        const Dim3 grid{width_ / kBlock, height_ / kBlock, 1};
        const Dim3 block{kBlock, kBlock, 1};
        const int width = static_cast<int>(width_);
        const auto image = device.upload(image_);
        const auto coefficients = device.alloc<float>(image_.size());
        const auto restored = device.alloc<float>(image_.size());
        device.launch("sdk/dct8x8", "dct_forward", grid, block, coefficients, image, width);
        coefficients_ = device.download(coefficients);
        device.launch("sdk/dct8x8", "dct_quantise", grid, block, coefficients, width);
        quantised_ = device.download(coefficients);
        device.launch("sdk/dct8x8", "dct_inverse", grid, block, restored, coefficients, width);
        restored_ = device.download(restored);
    }

    /// Every kernel is judged by what it was given: rounding to a quantum would turn the smallest error into a large one.
    Verdict verify() const override {
        std::vector<double> forward(image_.size()), back(image_.size());
        std::vector<float> quantised(image_.size());
        const Matrix basis = cosine_basis();
        for (std::uint32_t y0 = 0; y0 < height_; y0 += kBlock) {
            for (std::uint32_t x0 = 0; x0 < width_; x0 += kBlock) {
                Matrix pixels{}, given{};
                for (std::uint32_t y = 0; y < kBlock; ++y) {
                    for (std::uint32_t x = 0; x < kBlock; ++x) {
                        pixels[y][x] = image_[at(y0 + y, x0 + x)] - 128.0;
                        given[y][x] = quantised_[at(y0 + y, x0 + x)];
                    }
                }
                const Matrix there = sandwich(basis, pixels, false), again = sandwich(basis, given, true);
                for (std::uint32_t y = 0; y < kBlock; ++y) {
                    for (std::uint32_t x = 0; x < kBlock; ++x) {
                        const std::size_t index = at(y0 + y, x0 + x);
                        forward[index] = there[y][x];
                        back[index] = again[y][x] + 128.0;
                        quantised[index] = std::nearbyint(coefficients_[index] / quantum(y, x)) * quantum(y, x);
                    }
                }
            }
        }
        Verdict verdict = compare("coefficient", coefficients_, forward, 1e-4, 1e-3);
        verdict &= compare_exact("quantised coefficient", quantised_, quantised);
        return verdict &= compare("restored pixel", restored_, back, 1e-4, 1e-3);
    }

private:
    std::size_t at(std::uint32_t y, std::uint32_t x) const { return static_cast<std::size_t>(y) * width_ + x; }

    /// basis m basis^T, or with the transposed basis.
    static Matrix sandwich(const Matrix& basis, const Matrix& m, bool transposed) {
        const auto b = [&](std::uint32_t i, std::uint32_t j) { return transposed ? basis[j][i] : basis[i][j]; };
        Matrix half{}, result{};
        for (std::uint32_t i = 0; i < kBlock; ++i)
            for (std::uint32_t j = 0; j < kBlock; ++j)
                for (std::uint32_t n = 0; n < kBlock; ++n) half[i][j] += b(i, n) * m[n][j];
        for (std::uint32_t i = 0; i < kBlock; ++i)
            for (std::uint32_t j = 0; j < kBlock; ++j)
                for (std::uint32_t n = 0; n < kBlock; ++n) result[i][j] += half[i][n] * b(j, n);
        return result;
    }

    std::uint32_t width_, height_;
    std::vector<float> image_, coefficients_, quantised_, restored_;
};

}  // namespace

std::unique_ptr<Problem> make_dct8x8(Size size, std::uint64_t seed) {
    return std::make_unique<Dct8x8>(size, seed);
}

}  // namespace mergelane::suite
