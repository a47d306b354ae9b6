// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

class Sampling final : public Problem {
public:
    Sampling(Size size, std::uint64_t seed)
        : sequences_(by_size(size, 3, 16, 64)),
          count_(by_size(size, 700, llm::kVocabulary, llm::kVocabulary)),
          chosen_(by_size(size, 50, 200, 200)) {
        Rng rng(seed);
        logits_ = random_floats(rng, std::size_t{llm::unsigned_of(sequences_)} * count_, -8.0f, 8.0f);
        draws_ = random_floats(rng, llm::unsigned_of(sequences_));
    }
    void run(Device& device) override {
        const std::uint32_t sequences = llm::unsigned_of(sequences_), count = llm::unsigned_of(count_);
        const auto logits = device.upload(logits_);
        const auto draws = device.upload(draws_);
        DeviceArray<std::uint32_t> keys = device.zeros<std::uint32_t>(logits_.size()),
                                   other_keys = device.zeros<std::uint32_t>(logits_.size());
        DeviceArray<int> tokens = device.zeros<int>(logits_.size()), other_tokens = device.zeros<int>(logits_.size());
        const auto results = device.zeros<int>(sequences);
        device.launch("llm/sampling", "sort_keys", {ceil_div(count, 256), sequences, 1}, {256, 1, 1}, logits, keys, tokens, count_);
        for (int shift = 0; shift < 32; shift += 8) {
            device.launch("llm/sampling", "sort_digit", {sequences, 1, 1}, {256, 1, 1}, keys, tokens, other_keys, other_tokens, count_,
                          shift);
            std::swap(keys, other_keys);
            std::swap(tokens, other_tokens);
        }
        device.launch("llm/sampling", "sample", {sequences, 1, 1}, {256, 1, 1}, logits, tokens, draws, results, count_, chosen_, kTop,
                      kTemperature);
        sorted_ = device.download(tokens);
        result_ = device.download(results);
    }
    /// The order is exact. The token must be the one whose share of the kept weight contains the draw, within 1e-4 of it.
    Verdict verify() const override {
        std::vector<int> want(logits_.size());
        Verdict drawn;
        for (int s = 0; s < sequences_; ++s) {
            const float* logits = &logits_[static_cast<std::size_t>(s) * count_];
            const auto first = want.begin() + static_cast<std::ptrdiff_t>(s) * count_;
            for (int i = 0; i < count_; ++i) first[i] = i;
            std::stable_sort(first, first + count_, [&](int a, int b) { return logits[a] > logits[b]; });
            check_draw(s, logits, &*first, drawn);
        }
        Verdict verdict = compare_exact("sorted token", sorted_, want);
        return verdict &= drawn;
    }

private:
    void check_draw(int sequence, const float* logits, const int* order, Verdict& verdict) const {
        std::vector<double> sums;
        double total = 0;
        for (int i = 0; i < chosen_; ++i)
            sums.push_back(total += std::exp((static_cast<double>(logits[order[i]]) - logits[order[0]]) / kTemperature));
        const auto kept = static_cast<std::size_t>(std::lower_bound(sums.begin(), sums.end(), kTop * total) - sums.begin());
        const int token = result_[llm::unsigned_of(sequence)];
        const auto at = static_cast<std::size_t>(std::find(order, order + chosen_, token) - order);
        const double draw = draws_[llm::unsigned_of(sequence)] * sums[kept];
        const bool right = at <= kept && draw <= sums[at] + total * 1e-4 && (at == 0 || draw >= sums[at - 1] - total * 1e-4);
        ++verdict.compared;
        if (right || !verdict.correct) return;
        verdict.correct = false;
        verdict.problem = fmt::format("the token of sequence {} is {}, which is not where {} of the weight is", sequence, token, draw);
    }

    static constexpr float kTop = 0.9f, kTemperature = 0.8f;
    int sequences_, count_, chosen_;
    std::vector<float> logits_, draws_;
    std::vector<int> sorted_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_sampling(Size size, std::uint64_t seed) {
    return std::make_unique<Sampling>(size, seed);
}

}  // namespace mergelane::suite
