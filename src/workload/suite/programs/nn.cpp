// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::size_t kPixels = 29 * 29, kFirst = 6 * 169, kSecond = 50 * 25, kThird = 100, kFourth = 10;

double squash(double sum) {
    return 1.7159 * std::tanh(0.66666667 * sum);
}

class Nn final : public Problem {
public:
    Nn(Size size, std::uint64_t seed) : images_(by_size(size, 2u, 28u, 112u)) {
        Rng rng(seed);
        pixels_ = random_floats(rng, images_ * kPixels);
        // Smaller weights where more inputs are summed.
        weights1_ = random_floats(rng, 6 * 26, -0.25f, 0.25f);
        weights2_ = random_floats(rng, 50 * 156, -0.125f, 0.125f);
        weights3_ = random_floats(rng, 100 * 1251, -0.0625f, 0.0625f);
        weights4_ = random_floats(rng, 10 * 101, -0.125f, 0.125f);
    }

    void run(Device& device) override {
        const auto pixels = device.upload(pixels_);
        const auto weights1 = device.upload(weights1_);
        const auto weights2 = device.upload(weights2_);
        const auto weights3 = device.upload(weights3_);
        const auto weights4 = device.upload(weights4_);
        const auto first = device.alloc<float>(images_ * kFirst);
        const auto second = device.alloc<float>(images_ * kSecond);
        const auto third = device.alloc<float>(images_ * kThird);
        const auto fourth = device.alloc<float>(images_ * kFourth);
        device.launch("gpgpusim/nn", "nn_first", {6, images_, 1}, {13, 13, 1}, pixels, weights1, first);
        device.launch("gpgpusim/nn", "nn_second", {50, images_, 1}, {5, 5, 1}, first, weights2, second);
        device.launch("gpgpusim/nn", "nn_third", {100, images_, 1}, {1, 1, 1}, second, weights3, third);
        device.launch("gpgpusim/nn", "nn_fourth", {10, images_, 1}, {1, 1, 1}, third, weights4, fourth);
        result_ = device.download(fourth);
    }

    Verdict verify() const override {
        std::vector<double> want;
        for (std::size_t image = 0; image < images_; ++image) {
            const std::vector<double> pixels(pixels_.begin() + image * kPixels, pixels_.begin() + (image + 1) * kPixels);
            const std::vector<double> first = convolve(pixels, 1, 29, weights1_, 6);
            const std::vector<double> second = convolve(first, 6, 13, weights2_, 50);
            const std::vector<double> fourth = connect(connect(second, weights3_, kThird), weights4_, kFourth);
            want.insert(want.end(), fourth.begin(), fourth.end());
        }
        return compare("digit", result_, want, 1e-3, 1e-4);
    }

private:
    /// 5x5 taps at every second pixel of all `depth` maps of `side` x `side`; weights: bias, then tap by tap the maps. A map of the
    /// second layer has 156 words of which 151 are used.
    static std::vector<double> convolve(const std::vector<double>& in, std::size_t depth, std::size_t side,
                                        const std::vector<float>& weights, std::size_t maps) {
        const std::size_t out_side = (side - 5) / 2 + 1;
        std::vector<double> out;
        for (std::size_t map = 0; map < maps; ++map) {
            const float* mine = &weights[map * 26 * depth];
            for (std::size_t y = 0; y < out_side; ++y) {
                for (std::size_t x = 0; x < out_side; ++x) {
                    double sum = mine[0];
                    for (std::size_t tap = 0; tap < 25; ++tap)
                        for (std::size_t d = 0; d < depth; ++d)
                            sum += in[d * side * side + (2 * y + tap / 5) * side + 2 * x + tap % 5] * mine[1 + depth * tap + d];
                    out.push_back(squash(sum));
                }
            }
        }
        return out;
    }

    static std::vector<double> connect(const std::vector<double>& in, const std::vector<float>& weights, std::size_t neurons) {
        std::vector<double> out;
        for (std::size_t neuron = 0; neuron < neurons; ++neuron) {
            const float* mine = &weights[neuron * (in.size() + 1)];
            double sum = mine[0];
            for (std::size_t i = 0; i < in.size(); ++i) sum += in[i] * mine[1 + i];
            out.push_back(squash(sum));
        }
        return out;
    }

    std::uint32_t images_;
    std::vector<float> pixels_, weights1_, weights2_, weights3_, weights4_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_nn(Size size, std::uint64_t seed) {
    return std::make_unique<Nn>(size, seed);
}

}  // namespace mergelane::suite
