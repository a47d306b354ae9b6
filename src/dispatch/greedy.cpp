// SPDX-License-Identifier: MIT
#include <algorithm>

#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

namespace {
/// Greedy clustering: initially a whole SM cluster is filled, round robin over its SMs, before the next cluster gets any CTA. Freed
/// contexts take the next CTA of a single pool. All clusters fill at the same time, each with the CTAs that this rule assigns to it, so
/// that no policy has a longer start than another.
class Greedy final : public CtaScheduler {
public:
    void start(const DispatchState& state) override {
        const std::uint64_t ctas = state.end_cta - state.first_cta;
        const std::uint64_t capacity = std::uint64_t{state.sms()} * state.contexts_per_sm;
        first_cta_ = state.first_cta;
        end_cta_ = state.end_cta;
        next_cta_ = state.first_cta + std::min(ctas, capacity);
        initial_end_ = next_cta_;
        unplaced_ = ctas;
        next_sm_ = 0;
        round_.assign(state.sms(), 0);
        cluster_.clear();
        for (std::uint32_t c = 0; c < state.clusters; ++c) cluster_.insert(cluster_.end(), state.cluster_size(c), c);
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        const std::uint32_t sms = state.sms();
        const std::uint32_t first = next_sm_;
        for (std::uint32_t k = 0; k < sms && unplaced_ != 0; ++k) {
            const std::uint32_t sm = (first + k) % sms;
            if (state.free_contexts[sm] == 0) continue;
            if (const std::uint64_t cta = initial(state, sm); cta < initial_end_) {
                ++round_[sm];
                out.push_back({cta, sm});
            } else if (next_cta_ < end_cta_) {
                out.push_back({next_cta_++, sm});
                next_sm_ = (sm + 1) % sms;
            } else {
                continue;
            }
            --unplaced_;
        }
    }
    std::uint64_t remaining() const override { return unplaced_; }

private:
    /// The next CTA of the SM's share of the initial filling; past its end when there are none left.
    std::uint64_t initial(const DispatchState& state, std::uint32_t sm) const {
        if (round_[sm] == state.contexts_per_sm) return initial_end_;
        const std::uint64_t first = state.first_sm(cluster_[sm]);
        return first_cta_ + first * state.contexts_per_sm + round_[sm] * state.cluster_size(cluster_[sm]) + sm - first;
    }

    std::uint64_t first_cta_ = 0;
    std::uint64_t initial_end_ = 0;
    std::uint64_t next_cta_ = 0;
    std::uint64_t end_cta_ = 0;
    std::uint64_t unplaced_ = 0;
    std::uint32_t next_sm_ = 0;
    std::vector<std::uint32_t> round_;    ///< per SM: CTAs received in the initial filling
    std::vector<std::uint32_t> cluster_;  ///< per SM
};
}  // namespace

std::unique_ptr<CtaScheduler> make_greedy(const DispatchSpec&, const Sections&) {
    return std::make_unique<Greedy>();
}

}  // namespace mergelane
