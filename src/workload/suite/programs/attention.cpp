// SPDX-License-Identifier: MIT
#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

class Attention final : public Problem {
public:
    Attention(Size size, std::uint64_t seed)
        : tokens_(by_size(size, 100, 1024, 4096)),
          heads_(by_size(size, 4, llm::kHeads, llm::kHeads)),
          groups_(by_size(size, 2, llm::kGroups, llm::kGroups)) {
        Rng rng(seed);
        const std::size_t tokens = llm::unsigned_of(tokens_);
        queries_ = llm::random_values(llm::Format::f16, rng, tokens * heads_ * llm::kHead, 4.0f);
        keys_ = llm::random_values(llm::Format::f16, rng, tokens * groups_ * llm::kHead);
        values_ = llm::random_values(llm::Format::f16, rng, tokens * groups_ * llm::kHead);
    }
    void run(Device& device) override {
        const auto queries = device.upload(queries_);
        const auto keys = device.upload(keys_);
        const auto values = device.upload(values_);
        const auto results = device.zeros<std::uint16_t>(queries_.size());
        const Dim3 grid{ceil_div(llm::unsigned_of(tokens_), 64), llm::unsigned_of(heads_), 1};
        device.launch("llm/attention", "attention_forward", grid, {128, 1, 1}, queries, keys, values, results, tokens_, heads_, groups_,
                      kScale * kLog2E);
        result_ = device.download(results);
    }
    /// The kernel rounds weights and results to 11 bits; values are below 1.
    Verdict verify() const override {
        const std::vector<float> queries = llm::to_floats(llm::Format::f16, queries_), keys = llm::to_floats(llm::Format::f16, keys_),
                                 values = llm::to_floats(llm::Format::f16, values_);
        const std::vector<int> rows = llm::checked_rows(tokens_, 128);
        std::vector<double> want;
        for (const int token : rows) {
            for (int head = 0; head < heads_; ++head) {
                const int group = head / (heads_ / groups_);
                const float* query = &queries[place(token, head, heads_)];
                double total = 0, sum[llm::kHead] = {};
                for (int key = 0; key <= token; ++key) {
                    const double weight = std::exp(kScale * llm::dot(query, &keys[place(key, group, groups_)], llm::kHead));
                    const float* value = &values[place(key, group, groups_)];
                    total += weight;
                    for (int i = 0; i < llm::kHead; ++i) sum[i] += weight * value[i];
                }
                for (const double each : sum) want.push_back(each / total);
            }
        }
        const std::vector<float> got =
            llm::pick_rows(llm::to_floats(llm::Format::f16, result_), rows, llm::unsigned_of(heads_ * llm::kHead));
        return compare("result", got, want, 2e-3, 1e-3);
    }

private:
    static std::size_t place(int token, int head, int heads) { return (static_cast<std::size_t>(token) * heads + head) * llm::kHead; }

    static constexpr float kScale = 0.0883883461f;  ///< 1 / sqrt(128)
    static constexpr float kLog2E = 1.44269502f;
    int tokens_, heads_, groups_;
    std::vector<std::uint16_t> queries_, keys_, values_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_attention(Size size, std::uint64_t seed) {
    return std::make_unique<Attention>(size, seed);
}

}  // namespace mergelane::suite
