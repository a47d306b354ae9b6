// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kHidden = 16;
constexpr std::size_t kRow = kHidden + 1;  ///< weights per input; the first one belongs to no hidden unit
constexpr double kRate = 0.3f, kMomentum = 0.3f;

/// The host's part between the kernels, with a squashing function that needs no mathematical library: what is uploaded must be
/// the same on every host.
double squash(double sum) {
    return sum / (1.0 + std::abs(sum));
}

class Backprop final : public Problem {
public:
    Backprop(Size size, std::uint64_t seed) : inputs_(by_size(size, 256u, 65536u, 262144u)) {
        Rng rng(seed);
        input_ = random_floats(rng, inputs_ + 1);
        input_[0] = 1.0f;  // bias
        weights_ = random_floats(rng, (inputs_ + 1) * kRow, -0.0625f, 0.0625f);
        old_weights_ = random_floats(rng, (inputs_ + 1) * kRow, -0.0625f, 0.0625f);
        target_ = random_floats(rng, kHidden, -1.0f, 1.0f);
    }

    void run(Device& device) override {
        const Dim3 grid{1, inputs_ / kHidden, 1};
        const Dim3 block{kHidden, kHidden, 1};
        const auto input = device.upload(input_);
        const auto weights = device.upload(weights_);
        const auto partial = device.alloc<float>(inputs_);
        device.launch("rodinia/backprop", "layer_forward", grid, block, input, weights, partial);
        partial_ = device.download(partial);
        // The first kernel overwrote the weights with its products.
        device.upload(weights, weights_);
        const auto old_weights = device.upload(old_weights_);
        const std::vector<float> deltas = hidden_deltas(partial_);
        const auto delta = device.upload(deltas);
        device.launch("rodinia/backprop", "adjust_weights", grid, block, delta, input, weights, old_weights);
        new_weights_ = device.download(weights);
        new_old_weights_ = device.download(old_weights);
    }

    Verdict verify() const override {
        std::vector<double> partial(inputs_);
        for (std::uint32_t i = 0; i < inputs_; ++i)
            for (std::uint32_t h = 0; h < kHidden; ++h)
                partial[i / kHidden * kHidden + h] += static_cast<double>(input_[i + 1]) * weights_[(i + 1) * kRow + h + 1];
        Verdict verdict = compare("partial sum", partial_, partial, 1e-4, 1e-5);
        // The second kernel is judged by the deltas it was given.
        const std::vector<float> delta = hidden_deltas(partial_);
        std::vector<double> weights(weights_.begin(), weights_.end()), old(old_weights_.begin(), old_weights_.end());
        for (std::uint32_t i = 0; i <= inputs_; ++i) {
            for (std::uint32_t h = 1; h <= kHidden; ++h) {
                const double change = kRate * delta[h] * input_[i] + kMomentum * old[i * kRow + h];
                weights[i * kRow + h] += change;
                old[i * kRow + h] = change;
            }
        }
        verdict &= compare("weight", new_weights_, weights, 1e-4, 1e-6);
        return verdict &= compare("weight change", new_old_weights_, old, 1e-4, 1e-6);
    }

private:
    /// Errors of the hidden units; element 0 is unused.
    std::vector<float> hidden_deltas(const std::vector<float>& partial) const {
        std::vector<float> delta(kHidden + 1);
        for (std::uint32_t h = 0; h < kHidden; ++h) {
            double sum = weights_[h + 1];
            for (std::uint32_t i = 0; i < inputs_; i += kHidden) sum += partial[i + h];
            delta[h + 1] = static_cast<float>(target_[h] - squash(sum));
        }
        return delta;
    }

    std::uint32_t inputs_;
    std::vector<float> input_, weights_, old_weights_, target_;
    std::vector<float> partial_, new_weights_, new_old_weights_;
};

}  // namespace

std::unique_ptr<Problem> make_backprop(Size size, std::uint64_t seed) {
    return std::make_unique<Backprop>(size, seed);
}

}  // namespace mergelane::suite
