// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Convolution2d final : public Problem {
public:
    Convolution2d(Size size, std::uint64_t seed) : rows_(by_size(size, 100, 2048, 4096)), columns_(by_size(size, 90, 2048, 4096)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(rows_, columns_));
    }
    void run(Device& device) override {
        const auto b = device.zeros<float>(area(rows_, columns_));
        const auto a = device.upload(a_);
        device.launch("polybench/2dconv", "convolution_2d", grid_2d(columns_, rows_), kBlock2d, a, b, rows_, columns_);
        result_ = device.download(b);
    }
    Verdict verify() const override {
        static constexpr double kTaps[3][3] = {{0.2, 0.5, -0.8}, {-0.3, 0.6, -0.9}, {0.4, 0.7, 0.1}};
        std::vector<double> want(area(rows_, columns_));
        for (int i = 1; i < rows_ - 1; ++i)
            for (int j = 1; j < columns_ - 1; ++j)
                for (int dy = -1; dy <= 1; ++dy)
                    for (int dx = -1; dx <= 1; ++dx)
                        want[area(i, columns_) + j] += kTaps[dy + 1][dx + 1] * a_[area(i + dy, columns_) + j + dx];
        return compare("B", result_, want, 1e-5, 1e-5);
    }

private:
    int rows_, columns_;
    std::vector<float> a_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_2dconv(Size size, std::uint64_t seed) {
    return std::make_unique<Convolution2d>(size, seed);
}

}  // namespace mergelane::suite
