// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kBodiesPerCta = 256;  ///< bodies per CTA and per tile in shared memory
constexpr float kTimeStep = 0.015625f, kSoftening = 0.0625f;

class Nbody final : public Problem {
public:
    /// All pairs would take minutes of every run: the first `sources_` bodies are read, and every `stride_`-th of them attracts.
    Nbody(Size size, std::uint64_t seed)
        : bodies_(by_size(size, 700, 61440, 122880)), sources_(by_size(size, 512, 16384, 30720)), stride_(by_size(size, 2, 8, 4)) {
        Rng rng(seed);
        position_ = random_floats(rng, words(), -8.0f, 8.0f);
        velocity_ = random_floats(rng, words(), -1.0f, 1.0f);
        for (std::size_t body = 0; body < words(); body += 4) position_[body + 3] = 0.5f + static_cast<float>(rng.below(64)) / 64;
    }
    void run(Device& device) override {
        const auto position = device.upload(position_);
        const auto velocity = device.upload(velocity_);
        const auto next = device.alloc<float>(words());
        device.launch("sdk/nbody", "nbody_step", {ceil_div(static_cast<std::uint32_t>(bodies_), kBodiesPerCta), 1, 1},
                      {kBodiesPerCta, 1, 1}, position, next, velocity, bodies_, sources_, stride_, kTimeStep, kSoftening);
        speeds_ = device.download(velocity);
        places_ = device.download(next);
    }
    Verdict verify() const override {
        std::vector<double> places(position_.begin(), position_.end()), speeds(velocity_.begin(), velocity_.end());
        for (std::size_t body = 0; body < words(); body += 4) {
            double pulled[3] = {0, 0, 0};
            for (std::size_t other = 0; other < static_cast<std::size_t>(sources_) * 4; other += static_cast<std::size_t>(stride_) * 4) {
                double apart[3], square = kSoftening;
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    apart[axis] = static_cast<double>(position_[other + axis]) - position_[body + axis];
                    square += apart[axis] * apart[axis];
                }
                const double pull = position_[other + 3] / (square * std::sqrt(square));
                for (std::size_t axis = 0; axis < 3; ++axis) pulled[axis] += apart[axis] * pull;
            }
            for (std::size_t axis = 0; axis < 3; ++axis) {
                speeds[body + axis] += kTimeStep * pulled[axis];
                places[body + axis] += kTimeStep * speeds[body + axis];
            }
        }
        Verdict verdict = compare("velocity", speeds_, speeds, 1e-4, 1e-3);
        return verdict &= compare("position", places_, places, 1e-4, 1e-4);
    }

private:
    std::size_t words() const { return static_cast<std::size_t>(bodies_) * 4; }

    int bodies_, sources_, stride_;
    std::vector<float> position_, velocity_;  ///< x, y, z and mass; x, y, z and a word that is not used
    std::vector<float> places_, speeds_;
};

}  // namespace

std::unique_ptr<Problem> make_nbody(Size size, std::uint64_t seed) {
    return std::make_unique<Nbody>(size, seed);
}

}  // namespace mergelane::suite
