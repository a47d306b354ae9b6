// SPDX-License-Identifier: MIT
#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

/// Two of eight experts per token, without the experts' products: the rows that were gathered are scattered.
class Moe final : public Problem {
public:
    Moe(Size size, std::uint64_t seed)
        : tokens_(by_size(size, 70, 2048, 8192)),
          experts_(by_size(size, 40, 8, 8)),
          chosen_(by_size(size, 3, 2, 2)),
          columns_(by_size(size, 520, llm::kHidden, llm::kHidden)) {
        Rng rng(seed);
        const std::size_t tokens = llm::unsigned_of(tokens_);
        logits_ = random_floats(rng, tokens * experts_, -4.0f, 4.0f);
        rows_ = llm::random_values(llm::Format::f16, rng, tokens * columns_);
    }
    void run(Device& device) override {
        const std::uint32_t tokens = llm::unsigned_of(tokens_), choices = tokens * llm::unsigned_of(chosen_);
        const auto logits = device.upload(logits_);
        const auto rows = device.upload(rows_);
        const auto experts = device.zeros<int>(choices);
        const auto weights = device.zeros<float>(choices);
        const auto positions = device.zeros<int>(choices);
        const auto offsets = device.zeros<int>(llm::unsigned_of(experts_ + 1));
        const auto gathered = device.zeros<std::uint16_t>(std::size_t{choices} * columns_);
        const auto results = device.zeros<std::uint16_t>(rows_.size());
        device.launch("llm/moe", "moe_gate", {ceil_div(tokens, 8), 1, 1}, {256, 1, 1}, logits, experts, weights, tokens_, experts_,
                      chosen_);
        device.launch("llm/moe", "moe_positions", {1, 1, 1}, {256, 1, 1}, experts, positions, offsets, tokens_ * chosen_, experts_);
        device.launch("llm/moe", "moe_gather", {choices, 1, 1}, {128, 1, 1}, rows, gathered, positions, chosen_, columns_ / 8);
        device.launch("llm/moe", "moe_scatter", {tokens, 1, 1}, {128, 1, 1}, gathered, positions, weights, results, chosen_, columns_ / 8);
        expert_of_ = device.download(experts);
        weight_of_ = device.download(weights);
        offsets_of_ = device.download(offsets);
        gathered_ = device.download(gathered);
        result_ = device.download(results);
    }
    /// Weights are f32, results are rounded to 11 bits; the rest is exact.
    Verdict verify() const override {
        std::vector<int> experts, offsets(llm::unsigned_of(experts_ + 1));
        std::vector<double> weights, results;
        for (int token = 0; token < tokens_; ++token) choose(token, experts, weights);
        Verdict verdict = compare_exact("expert", expert_of_, experts);
        verdict &= compare("weight", weight_of_, weights, 1e-5, 1e-7);
        const std::size_t columns = llm::unsigned_of(columns_);
        std::vector<std::uint16_t> gathered;
        for (int expert = 0; expert < experts_; ++expert) {
            for (std::size_t choice = 0; choice < experts.size(); ++choice) {
                if (experts[choice] != expert) continue;
                const std::uint16_t* row = &rows_[choice / llm::unsigned_of(chosen_) * columns];
                gathered.insert(gathered.end(), row, row + columns);
                ++offsets[llm::unsigned_of(expert + 1)];
            }
            offsets[llm::unsigned_of(expert + 1)] += offsets[llm::unsigned_of(expert)];
        }
        verdict &= compare_exact("first row", offsets_of_, offsets);
        verdict &= compare_exact("gathered value", gathered_, gathered);
        for (const std::uint16_t bits : rows_) results.push_back(llm::to_float(llm::Format::f16, bits));  // the weights add up to 1
        return verdict &= compare("result", llm::to_floats(llm::Format::f16, result_), results, 0x1p-10, 1e-6);
    }

private:
    void choose(int token, std::vector<int>& experts, std::vector<double>& weights) const {
        const float* logits = &logits_[static_cast<std::size_t>(token) * experts_];
        std::vector<int> order;
        for (int e = 0; e < experts_; ++e) order.push_back(e);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
        double total = 0;
        for (int k = 0; k < chosen_; ++k) total += std::exp(static_cast<double>(logits[order[llm::unsigned_of(k)]]));
        for (int k = 0; k < chosen_; ++k) {
            experts.push_back(order[llm::unsigned_of(k)]);
            weights.push_back(std::exp(static_cast<double>(logits[experts.back()])) / total);
        }
    }

    int tokens_, experts_, chosen_, columns_;
    std::vector<float> logits_, weight_of_;
    std::vector<int> expert_of_, offsets_of_;
    std::vector<std::uint16_t> rows_, gathered_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_moe(Size size, std::uint64_t seed) {
    return std::make_unique<Moe>(size, seed);
}

}  // namespace mergelane::suite
