// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Convolution3d final : public Problem {
public:
    Convolution3d(Size size, std::uint64_t seed)
        : planes_(by_size(size, 6, 12, 64)), rows_(by_size(size, 40, 960, 960)), columns_(by_size(size, 50, 512, 512)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(planes_, rows_) * columns_);
    }
    void run(Device& device) override {
        const auto a = device.upload(a_);
        const auto b = device.zeros<float>(a_.size());
        for (int plane = 1; plane < planes_ - 1; ++plane)
            device.launch("polybench/3dconv", "convolution_3d", grid_2d(columns_, rows_), kBlock2d, a, b, planes_, rows_, columns_, plane);
        result_ = device.download(b);
    }
    Verdict verify() const override {
        struct Tap {
            int dz, dy, dx;
            double weight;
        };
        static constexpr Tap kTaps[] = {{-1, -1, -1, 2}, {1, -1, -1, 4}, {-1, -1, 1, 5}, {1, -1, 1, 7}, {0, -1, 0, -3}, {0, 0, 0, 6},
                                        {0, 1, 0, -9},   {-1, 1, -1, 2}, {1, 1, -1, 4},  {-1, 1, 1, 5}, {1, 1, 1, 7}};
        std::vector<double> want(a_.size());
        for (int z = 1; z < planes_ - 1; ++z)
            for (int y = 1; y < rows_ - 1; ++y)
                for (int x = 1; x < columns_ - 1; ++x)
                    for (const Tap& tap : kTaps) want[index(z, y, x)] += tap.weight * a_[index(z + tap.dz, y + tap.dy, x + tap.dx)];
        return compare("B", result_, want, 1e-5, 1e-4);
    }

private:
    std::size_t index(int z, int y, int x) const { return (area(z, rows_) + y) * columns_ + x; }
    int planes_, rows_, columns_;
    std::vector<float> a_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_3dconv(Size size, std::uint64_t seed) {
    return std::make_unique<Convolution3d>(size, seed);
}

}  // namespace mergelane::suite
