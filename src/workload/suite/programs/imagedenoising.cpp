// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kPixels = 8;       ///< per CTA and direction
constexpr int kReach = 3, kPatchStep = 2;  ///< of window and patch
constexpr double kUnlike = 0.00006103515625, kAway = 0.0625;

class ImageDenoising final : public Problem {
public:
    ImageDenoising(Size size, std::uint64_t seed) : width_(by_size(size, 44, 256, 512)), height_(by_size(size, 29, 256, 512)) {
        Rng rng(seed);
        // Stripes of three colours and noise.
        for (int y = 0; y < height_; ++y) {
            for (int x = 0; x < width_; ++x) {
                std::uint32_t rgb = 0;
                for (int c = 0; c < 3; ++c) {
                    const int stripe = ((x >> (3 + c)) + (y >> (5 - c))) % 4;
                    rgb |= (static_cast<std::uint32_t>(stripe) * 56 + rng.below(48)) << (8 * c);
                }
                image_.push_back(rgb);
            }
        }
    }
    void run(Device& device) override {
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(width_), kPixels), ceil_div(static_cast<std::uint32_t>(height_), kPixels), 1};
        const auto image = device.upload(image_);
        const auto result = device.alloc<std::uint32_t>(image_.size());
        device.launch("sdk/imagedenoising", "denoise", grid, {kPixels, kPixels, 1}, result, image, width_, height_,
                      static_cast<float>(kUnlike), static_cast<float>(kAway));
        result_ = device.download(result);
    }
    /// Before rounding to grey levels, which may go either way in the middle.
    Verdict verify() const override {
        std::vector<float> got;
        std::vector<double> want;
        for (int y = 0; y < height_; ++y) {
            for (int x = 0; x < width_; ++x) {
                double sums[3] = {0, 0, 0}, weights = 0;
                for (int dy = -kReach; dy <= kReach; ++dy) {
                    for (int dx = -kReach; dx <= kReach; ++dx) {
                        const double weight = std::exp(-(difference(x, y, x + dx, y + dy) * kUnlike + (dx * dx + dy * dy) * kAway));
                        for (int c = 0; c < 3; ++c) sums[c] += weight * channel(x + dx, y + dy, c);
                        weights += weight;
                    }
                }
                for (int c = 0; c < 3; ++c) {
                    got.push_back(static_cast<float>((result_[static_cast<std::size_t>(y) * width_ + x] >> (8 * c)) & 255u));
                    want.push_back(sums[c] / weights);
                }
            }
        }
        return compare("colour", got, want, 0, 0.501);
    }

private:
    /// Outside the image, the nearest pixel in it.
    int channel(int x, int y, int c) const {
        const std::size_t index = static_cast<std::size_t>(std::clamp(y, 0, height_ - 1)) * width_ + std::clamp(x, 0, width_ - 1);
        return static_cast<int>((image_[index] >> (8 * c)) & 255u);
    }
    int difference(int x, int y, int other_x, int other_y) const {
        int sum = 0;
        for (int v = -kReach; v <= kReach; v += kPatchStep) {
            for (int u = -kReach; u <= kReach; u += kPatchStep) {
                for (int c = 0; c < 3; ++c) {
                    const int apart = channel(x + u, y + v, c) - channel(other_x + u, other_y + v, c);
                    sum += apart * apart;
                }
            }
        }
        return sum;
    }

    int width_, height_;
    std::vector<std::uint32_t> image_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_imagedenoising(Size size, std::uint64_t seed) {
    return std::make_unique<ImageDenoising>(size, seed);
}

}  // namespace mergelane::suite
