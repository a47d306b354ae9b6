// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// Rows are longer than the volume is wide, as those of the original's pitched arrays.
class Laplace final : public Problem {
public:
    Laplace(Size size, std::uint64_t seed)
        : side_(by_size(size, 37, 100, 200)), depth_(by_size(size, 5, 100, 200)), pitch_((side_ + 31) / 32 * 32) {
        Rng rng(seed);
        volume_ = random_floats(rng, static_cast<std::size_t>(pitch_) * static_cast<std::size_t>(side_ * depth_));
    }
    void run(Device& device) override {
        const Dim3 block{32, 4, 1};
        const auto side = static_cast<std::uint32_t>(side_);
        const Dim3 grid{ceil_div(side, block.x), ceil_div(side, block.y), 1};
        const auto first = device.upload(volume_);
        const auto second = device.upload(volume_);
        for (int step = 0; step < kSteps; ++step) {
            const bool even = step % 2 == 0;
            device.launch("gpgpusim/lps", "lps_step", grid, block, even ? first : second, even ? second : first, side_, side_, depth_,
                          pitch_);
        }
        result_ = device.download(kSteps % 2 == 0 ? first : second);
    }
    Verdict verify() const override {
        std::vector<double> now(volume_.begin(), volume_.end());
        const std::size_t row = static_cast<std::size_t>(pitch_), plane = row * static_cast<std::size_t>(side_);
        for (int step = 0; step < kSteps; ++step) {
            std::vector<double> next = now;
            for (int k = 1; k + 1 < depth_; ++k)
                for (int j = 1; j + 1 < side_; ++j)
                    for (int i = 1; i + 1 < side_; ++i) {
                        const std::size_t at =
                            static_cast<std::size_t>(k) * plane + static_cast<std::size_t>(j) * row + static_cast<std::size_t>(i);
                        next[at] = (now[at - 1] + now[at + 1] + now[at - row] + now[at + row] + now[at - plane] + now[at + plane]) / 6;
                    }
            now.swap(next);
        }
        return compare("value", result_, now, 1e-5, 1e-6);
    }

private:
    static constexpr int kSteps = 2;
    int side_, depth_, pitch_;
    std::vector<float> volume_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_lps(Size size, std::uint64_t seed) {
    return std::make_unique<Laplace>(size, seed);
}

}  // namespace mergelane::suite
