// SPDX-License-Identifier: MIT
#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

/// A projection of one token: the feed-forward network's at size paper, the vocabulary's at size large.
class GemvQ4 final : public Problem {
public:
    GemvQ4(Size size, std::uint64_t seed)
        : rows_(by_size(size, 37, llm::kFeedForward, llm::kVocabulary)),
          blocks_(by_size(size, 70, llm::kHidden / kBlock, llm::kHidden / kBlock)) {
        Rng rng(seed);
        input_ = random_floats(rng, llm::unsigned_of(blocks_ * kBlock), -4.0f, 4.0f);
        for (int block = 0; block < rows_ * blocks_; ++block) {
            weights_.push_back(llm::from_fixed(llm::Format::f16, static_cast<int>(1 + rng.below(2047)), 15));
            for (int k = 0; k < 2; ++k)
                for (std::uint64_t bits = rng.next(), i = 0; i < 4; ++i, bits >>= 16) weights_.push_back(static_cast<std::uint16_t>(bits));
        }
    }
    void run(Device& device) override {
        const auto input = device.upload(input_);
        const auto weights = device.upload(weights_);
        const auto activations = device.alloc<Activations>(llm::unsigned_of(blocks_));
        const auto results = device.zeros<float>(llm::unsigned_of(rows_));
        device.launch("llm/gemv_q4", "quantise_q8", {ceil_div(llm::unsigned_of(blocks_), 4), 1, 1}, {128, 1, 1}, input, activations,
                      blocks_);
        activations_ = device.download(activations);
        device.launch("llm/gemv_q4", "gemv_q4", {llm::unsigned_of(rows_), 1, 1}, {128, 1, 1}, weights, activations, results, blocks_);
        result_ = device.download(results);
    }
    /// The first kernel must round to the nearest multiple of the scale; the second is judged by what the first made.
    Verdict verify() const override {
        std::vector<float> rounded;
        std::vector<double> fine;
        for (std::size_t i = 0; i < input_.size(); ++i) {
            const Activations& block = activations_[i / kBlock];
            rounded.push_back(static_cast<float>(block.values[i % kBlock]) * block.scale);
            fine.push_back(input_[i]);
        }
        Verdict verdict = compare("activation", rounded, fine, 0, 4.0 / 127 * 0.501);
        std::vector<double> want;
        for (int row = 0; row < rows_; ++row) {
            double sum = 0;
            for (int block = 0; block < blocks_; ++block) {
                const std::uint16_t* at = &weights_[static_cast<std::size_t>(row * blocks_ + block) * kWords];
                const Activations& with = activations_[llm::unsigned_of(block)];
                int dot = 0;
                for (int i = 0; i < kBlock; ++i) dot += (nibble(at + 1, i) - 8) * with.values[i];
                sum += static_cast<double>(llm::to_float(llm::Format::f16, at[0])) * with.scale * dot;
            }
            want.push_back(sum);
        }
        return verdict &= compare("result", result_, want, 1e-4, 1e-3);
    }

private:
    static constexpr int kBlock = 32;
    static constexpr std::size_t kWords = 9;  ///< of 16 bits in a block of weights
    struct Activations {
        float scale;
        std::int32_t sum;
        std::int8_t values[kBlock];
    };
    /// Byte i % 16 holds weights i % 16 and i % 16 + 16.
    static int nibble(const std::uint16_t* words, int i) { return words[i % 16 / 2] >> (i % 2 * 8 + i / 16 * 4) & 15; }

    int rows_, blocks_;
    std::vector<float> input_, result_;
    std::vector<std::uint16_t> weights_;
    std::vector<Activations> activations_;
};

}  // namespace

std::unique_ptr<Problem> make_gemv_q4(Size size, std::uint64_t seed) {
    return std::make_unique<GemvQ4>(size, seed);
}

}  // namespace mergelane::suite
