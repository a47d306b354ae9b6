// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kTile = 16;
constexpr float kLambda = 0.5f;

class Srad final : public Problem {
public:
    Srad(Size size, std::uint64_t seed) : n_(by_size(size, 64, 768, 2048)), iterations_(by_size(size, 2, 2, 2)) {
        Rng rng(seed);
        image_ = random_floats(rng, pixels(), 1.0f, 3.0f);
    }

    void run(Device& device) override {
        const auto tiles = static_cast<std::uint32_t>(n_ / kTile);
        const Dim3 grid{tiles, tiles, 1};
        const Dim3 block{kTile, kTile, 1};
        const auto image = device.upload(image_);
        const auto coefficient = device.alloc<float>(pixels());
        const auto east = device.alloc<float>(pixels());
        const auto west = device.alloc<float>(pixels());
        const auto north = device.alloc<float>(pixels());
        const auto south = device.alloc<float>(pixels());
        for (int i = 0; i < iterations_; ++i) {
            const auto speckle = static_cast<float>(speckle_of(device.download(image)));
            device.launch("rodinia/srad", "srad_coefficients", grid, block, east, west, north, south, image, coefficient, n_, n_, speckle);
            device.launch("rodinia/srad", "srad_update", grid, block, east, west, north, south, image, coefficient, n_, n_, kLambda);
        }
        result_ = device.download(image);
    }

    Verdict verify() const override {
        std::vector<double> image(image_.begin(), image_.end()), next(pixels()), coefficient(pixels());
        for (int i = 0; i < iterations_; ++i) {
            const double speckle = speckle_of(image);
            for (int y = 0; y < n_; ++y)
                for (int x = 0; x < n_; ++x) coefficient[at(y, x)] = diffusion(image, y, x, speckle);
            for (int y = 0; y < n_; ++y) {
                for (int x = 0; x < n_; ++x) {
                    const double here = image[at(y, x)], c = coefficient[at(y, x)];
                    const double divergence = c * (image[at(y - 1, x)] - here) + coefficient[at(y + 1, x)] * (image[at(y + 1, x)] - here) +
                                              c * (image[at(y, x - 1)] - here) + coefficient[at(y, x + 1)] * (image[at(y, x + 1)] - here);
                    next[at(y, x)] = here + 0.25 * kLambda * divergence;
                }
            }
            std::swap(image, next);
        }
        return compare("pixel", result_, image, 1e-3, 1e-4);
    }

private:
    std::size_t pixels() const { return static_cast<std::size_t>(n_) * n_; }
    std::size_t at(int y, int x) const { return static_cast<std::size_t>(std::clamp(y, 0, n_ - 1)) * n_ + std::clamp(x, 0, n_ - 1); }

    /// Variance over squared mean of the region in the upper left corner, on the host as in the original.
    template <class T>
    double speckle_of(const std::vector<T>& image) const {
        double sum = 0, squares = 0;
        const int side = n_ / 4;
        for (int y = 0; y < side; ++y) {
            for (int x = 0; x < side; ++x) {
                const double value = image[at(y, x)];
                sum += value;
                squares += value * value;
            }
        }
        const double mean = sum / (side * side);
        return (squares / (side * side) - mean * mean) / (mean * mean);
    }

    double diffusion(const std::vector<double>& image, int y, int x, double speckle) const {
        const double here = image[at(y, x)];
        const double north = image[at(y - 1, x)] - here, south = image[at(y + 1, x)] - here;
        const double west = image[at(y, x - 1)] - here, east = image[at(y, x + 1)] - here;
        const double gradient = (north * north + south * south + west * west + east * east) / (here * here);
        const double laplacian = (north + south + west + east) / here;
        const double root = 1 + 0.25 * laplacian;
        const double variation = (0.5 * gradient - laplacian * laplacian / 16) / (root * root);
        return std::clamp(1 / (1 + (variation - speckle) / (speckle * (1 + speckle))), 0.0, 1.0);
    }

    int n_;  ///< pixels per side
    int iterations_;
    std::vector<float> image_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_srad(Size size, std::uint64_t seed) {
    return std::make_unique<Srad>(size, seed);
}

}  // namespace mergelane::suite
