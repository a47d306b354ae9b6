// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kStepsPerLaunch = 2;
constexpr std::uint32_t kInner = 12;  ///< cells per CTA and direction
constexpr float kStep = 0.125f, kAlongX = 0.25f, kAlongY = 0.1875f, kToAmbient = 0.0625f;
constexpr double kAmbient = 80.0;

class Hotspot final : public Problem {
public:
    Hotspot(Size size, std::uint64_t seed)
        : rows_(by_size(size, 70, 540, 1024)), columns_(by_size(size, 64, 512, 1024)), steps_(by_size(size, 3, 8, 16)) {
        Rng rng(seed);
        temperature_ = random_floats(rng, cells(), 64.0f, 128.0f);
        power_ = random_floats(rng, cells(), 0.0f, 4.0f);
    }
    void run(Device& device) override {
        auto now = device.upload(temperature_);
        const auto power = device.upload(power_);
        auto next = device.alloc<float>(cells());
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(columns_), kInner), ceil_div(static_cast<std::uint32_t>(rows_), kInner), 1};
        for (int done = 0; done < steps_; done += kStepsPerLaunch) {
            device.launch("rodinia/hotspot", "hotspot_steps", grid, {16, 16, 1}, now, power, next, rows_, columns_,
                          std::min(kStepsPerLaunch, steps_ - done), kStep, kAlongX, kAlongY, kToAmbient);
            std::swap(now, next);
        }
        result_ = device.download(now);
    }
    Verdict verify() const override {
        std::vector<double> now(temperature_.begin(), temperature_.end()), next(cells());
        for (int step = 0; step < steps_; ++step) {
            for (int y = 0; y < rows_; ++y) {
                for (int x = 0; x < columns_; ++x) {
                    const double here = now[at(y, x)];
                    next[at(y, x)] =
                        here + kStep * (power_[at(y, x)] + (now[at(y + 1, x)] + now[at(y - 1, x)] - 2 * here) * kAlongY +
                                        (now[at(y, x + 1)] + now[at(y, x - 1)] - 2 * here) * kAlongX + (kAmbient - here) * kToAmbient);
                }
            }
            std::swap(now, next);
        }
        return compare("temperature", result_, now, 1e-5, 1e-4);
    }

private:
    std::size_t cells() const { return static_cast<std::size_t>(rows_) * columns_; }
    /// Outside the chip, the nearest cell on it.
    std::size_t at(int y, int x) const {
        return static_cast<std::size_t>(std::clamp(y, 0, rows_ - 1)) * columns_ + std::clamp(x, 0, columns_ - 1);
    }

    int rows_, columns_;
    int steps_;  ///< of time
    std::vector<float> temperature_, power_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_hotspot(Size size, std::uint64_t seed) {
    return std::make_unique<Hotspot>(size, seed);
}

}  // namespace mergelane::suite
