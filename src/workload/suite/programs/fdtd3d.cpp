// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kRadius = 4;
constexpr std::uint32_t kWide = 32, kHigh = 16;
constexpr double kWeights[kRadius + 1] = {0.40f, 0.055f, 0.025f, 0.0125f, 0.0075f};

class Fdtd3d final : public Problem {
public:
    Fdtd3d(Size size, std::uint64_t seed)
        : width_(by_size(size, 64, 256, 1024)),
          height_(by_size(size, 32, 256, 480)),
          depth_(by_size(size, 6, 32, 64)),
          steps_(by_size(size, 2, 1, 2)) {
        Rng rng(seed);
        volume_ = random_floats(rng, static_cast<std::size_t>(width_ + 2 * kRadius) * (height_ + 2 * kRadius) * (depth_ + 2 * kRadius));
    }
    void run(Device& device) override {
        // Both volumes hold the same padding, which no step changes.
        auto in = device.upload(volume_);
        auto out = device.upload(volume_);
        const Dim3 grid{static_cast<std::uint32_t>(width_) / kWide, static_cast<std::uint32_t>(height_) / kHigh, 1};
        for (int step = 0; step < steps_; ++step) {
            device.launch("sdk/fdtd3d", "fdtd_step", grid, {kWide, kHigh, 1}, out, in, width_, height_, depth_);
            std::swap(in, out);
        }
        result_ = device.download(in);
    }
    Verdict verify() const override {
        std::vector<double> in(volume_.begin(), volume_.end());
        std::vector<double> out = in;
        const std::ptrdiff_t row = width_ + 2 * kRadius, plane = row * (height_ + 2 * kRadius);
        for (int step = 0; step < steps_; ++step) {
            for (int z = 0; z < depth_; ++z) {
                for (int y = 0; y < height_; ++y) {
                    for (int x = 0; x < width_; ++x) {
                        const std::ptrdiff_t index = (z + kRadius) * plane + (y + kRadius) * row + x + kRadius;
                        const double* here = &in[static_cast<std::size_t>(index)];
                        double value = kWeights[0] * *here;
                        for (int i = 1; i <= kRadius; ++i)
                            value +=
                                kWeights[i] * (here[i] + here[-i] + here[i * row] + here[-i * row] + here[i * plane] + here[-i * plane]);
                        out[static_cast<std::size_t>(index)] = value;
                    }
                }
            }
            std::swap(in, out);
        }
        return compare("value", result_, in, 1e-5, 1e-6);
    }

private:
    int width_, height_, depth_, steps_;
    std::vector<float> volume_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_fdtd3d(Size size, std::uint64_t seed) {
    return std::make_unique<Fdtd3d>(size, seed);
}

}  // namespace mergelane::suite
