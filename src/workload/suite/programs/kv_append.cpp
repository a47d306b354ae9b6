// SPDX-License-Identifier: MIT
#include <numeric>

#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

/// The tokens of several prompts, which fill pages that are scattered in the cache; every 50th token of the batch is padding.
class KvAppend final : public Problem {
public:
    KvAppend(Size size, std::uint64_t seed)
        : tokens_(by_size(size, 90, 4096, 16384)), groups_(by_size(size, 3, llm::kGroups, llm::kGroups)) {
        Rng rng(seed);
        const std::uint32_t tokens = llm::unsigned_of(tokens_), pages = 2 * ceil_div(tokens, kPage);
        std::vector<int> order(pages);
        std::iota(order.begin(), order.end(), 0);
        for (std::uint32_t i = pages - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
        for (int t = 0; t < tokens_; ++t)
            slots_.push_back(t % 50 == 49 ? -1 : order[llm::unsigned_of(t) / kPage] * int{kPage} + t % int{kPage});
        keys_ = llm::random_values(llm::Format::f16, rng, std::size_t{tokens} * groups_ * llm::kHead);
        values_ = llm::random_values(llm::Format::f16, rng, std::size_t{tokens} * groups_ * llm::kHead);
        cached_ = std::size_t{pages} * kPage * groups_ * llm::kHead;
    }
    void run(Device& device) override {
        const auto keys = device.upload(keys_);
        const auto values = device.upload(values_);
        const auto slots = device.upload(slots_);
        const auto key_pages = device.zeros<std::uint16_t>(cached_);
        const auto value_pages = device.zeros<std::uint16_t>(cached_);
        device.launch("llm/kv_append", "kv_append", {llm::unsigned_of(tokens_), 1, 1}, {128, 1, 1}, keys, values, key_pages, value_pages,
                      slots, groups_);
        key_pages_ = device.download(key_pages);
        value_pages_ = device.download(value_pages);
    }
    Verdict verify() const override {
        Verdict verdict = compare_exact("key", key_pages_, placed(keys_));
        return verdict &= compare_exact("value", value_pages_, placed(values_));
    }

private:
    std::vector<std::uint16_t> placed(const std::vector<std::uint16_t>& rows) const {
        std::vector<std::uint16_t> pages(cached_);
        for (int t = 0; t < tokens_; ++t) {
            const int slot = slots_[llm::unsigned_of(t)];
            for (int group = 0; slot >= 0 && group < groups_; ++group) {
                const std::size_t from = (static_cast<std::size_t>(t) * groups_ + group) * llm::kHead;
                const std::size_t to =
                    ((static_cast<std::size_t>(slot / int{kPage}) * groups_ + group) * kPage + slot % int{kPage}) * llm::kHead;
                std::copy_n(&rows[from], llm::kHead, &pages[to]);
            }
        }
        return pages;
    }

    static constexpr std::uint32_t kPage = 16;
    int tokens_, groups_;
    std::size_t cached_ = 0;
    std::vector<int> slots_;
    std::vector<std::uint16_t> keys_, values_, key_pages_, value_pages_;
};

}  // namespace

std::unique_ptr<Problem> make_kv_append(Size size, std::uint64_t seed) {
    return std::make_unique<KvAppend>(size, seed);
}

}  // namespace mergelane::suite
