// SPDX-License-Identifier: MIT
#include <numeric>

#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

class PagedDecode final : public Problem {
public:
    PagedDecode(Size size, std::uint64_t seed)
        : sequences_(by_size(size, 3, 16, 64)),
          longest_(by_size(size, 150, 1024, 2048)),
          heads_(by_size(size, 4, llm::kHeads, llm::kHeads)),
          groups_(by_size(size, 2, llm::kGroups, llm::kGroups)),
          pages_per_stretch_(by_size(size, 4, 16, 16)) {
        Rng rng(seed);
        for (int s = 0; s < sequences_; ++s)
            lengths_.push_back(longest_ / 2 + static_cast<int>(rng.below(llm::unsigned_of(longest_ / 2)) + 1));
        lengths_[0] = by_size(size, 5, longest_, longest_);  // less than a page
        const std::size_t pages = llm::unsigned_of(sequences_ * pages_per_sequence());
        table_.resize(pages);
        std::iota(table_.begin(), table_.end(), 0);
        for (std::size_t i = pages - 1; i > 0; --i) std::swap(table_[i], table_[rng.below(static_cast<std::uint32_t>(i + 1))]);
        queries_ = llm::random_values(llm::Format::f16, rng, llm::unsigned_of(sequences_ * heads_ * llm::kHead), 4.0f);
        keys_ = llm::random_values(llm::Format::f16, rng, pages * groups_ * kPage * llm::kHead);
        values_ = llm::random_values(llm::Format::f16, rng, pages * groups_ * kPage * llm::kHead);
    }
    void run(Device& device) override {
        const auto queries = device.upload(queries_);
        const auto keys = device.upload(keys_);
        const auto values = device.upload(values_);
        const auto table = device.upload(table_);
        const auto lengths = device.upload(lengths_);
        const std::uint32_t heads = llm::unsigned_of(heads_), sequences = llm::unsigned_of(sequences_);
        const std::uint32_t stretches = ceil_div(llm::unsigned_of(pages_per_sequence()), llm::unsigned_of(pages_per_stretch_));
        const auto sums = device.alloc<float>(std::size_t{heads} * sequences * stretches * llm::kHead);
        const auto totals = device.alloc<float>(std::size_t{heads} * sequences * stretches * 2);
        const auto results = device.zeros<std::uint16_t>(queries_.size());
        device.launch("llm/paged_decode", "paged_attend", {heads, sequences, stretches}, {128, 1, 1}, queries, keys, values, table, lengths,
                      sums, totals, groups_, pages_per_sequence(), pages_per_stretch_, kScale * kLog2E);
        device.launch("llm/paged_decode", "paged_combine", {heads, sequences, 1}, {128, 1, 1}, sums, totals, results,
                      static_cast<int>(stretches));
        result_ = device.download(results);
    }
    /// Results are rounded to 11 bits; all else is f32.
    Verdict verify() const override {
        const std::vector<float> queries = llm::to_floats(llm::Format::f16, queries_), keys = llm::to_floats(llm::Format::f16, keys_),
                                 values = llm::to_floats(llm::Format::f16, values_);
        std::vector<double> want;
        for (int sequence = 0; sequence < sequences_; ++sequence) {
            for (int head = 0; head < heads_; ++head) {
                const float* query = &queries[static_cast<std::size_t>(sequence * heads_ + head) * llm::kHead];
                double total = 0, sum[llm::kHead] = {};
                for (int token = 0; token < lengths_[llm::unsigned_of(sequence)]; ++token) {
                    const std::size_t at = place(sequence, token, head / (heads_ / groups_));
                    const double weight = std::exp(kScale * llm::dot(query, &keys[at], llm::kHead));
                    total += weight;
                    for (int i = 0; i < llm::kHead; ++i) sum[i] += weight * values[at + llm::unsigned_of(i)];
                }
                for (const double each : sum) want.push_back(each / total);
            }
        }
        return compare("result", llm::to_floats(llm::Format::f16, result_), want, 1e-3, 1e-5);
    }

private:
    int pages_per_sequence() const { return (longest_ + kPage - 1) / kPage; }
    std::size_t place(int sequence, int token, int group) const {
        const auto page = static_cast<std::size_t>(table_[llm::unsigned_of(sequence * pages_per_sequence() + token / kPage)]);
        return ((page * groups_ + group) * kPage + token % kPage) * llm::kHead;
    }

    static constexpr int kPage = 16;
    static constexpr float kScale = 0.0883883461f;  ///< 1 / sqrt(128)
    static constexpr float kLog2E = 1.44269502f;
    int sequences_, longest_, heads_, groups_, pages_per_stretch_;
    std::vector<int> lengths_, table_;
    std::vector<std::uint16_t> queries_, keys_, values_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_paged_decode(Size size, std::uint64_t seed) {
    return std::make_unique<PagedDecode>(size, seed);
}

}  // namespace mergelane::suite
