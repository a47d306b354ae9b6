// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "core/rng.hpp"
#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

namespace {
/// Like round robin, but the CTAs that fit on all SMs at a time (a turnaround) come in random order, one turnaround after another.
class RandomPerTurnaround final : public CtaScheduler {
public:
    explicit RandomPerTurnaround(std::uint64_t seed) : seed_(seed) {}
    void start(const DispatchState& state) override {
        next_cta_ = state.first_cta;
        end_cta_ = state.end_cta;
        next_sm_ = 0;
        rng_ = Rng(seed_ + kernels_++);
        block_.clear();
        block_.reserve(std::size_t{state.sms()} * state.contexts_per_sm);
        taken_ = 0;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        const std::uint32_t sms = state.sms();
        const std::uint32_t first = next_sm_;
        for (std::uint32_t k = 0; k < sms && remaining() != 0; ++k) {
            const std::uint32_t sm = (first + k) % sms;
            if (state.free_contexts[sm] == 0) continue;
            if (taken_ == block_.size()) shuffle(std::uint64_t{sms} * state.contexts_per_sm);
            out.push_back({block_[taken_++], sm});
            next_sm_ = (sm + 1) % sms;
        }
    }
    std::uint64_t remaining() const override { return end_cta_ - next_cta_ + block_.size() - taken_; }
    bool in_order() const override { return true; }

private:
    void shuffle(std::uint64_t most) {
        block_.resize(std::min(most, end_cta_ - next_cta_));
        std::iota(block_.begin(), block_.end(), next_cta_);
        next_cta_ += block_.size();
        taken_ = 0;
        for (std::size_t i = block_.size(); i > 1; --i) std::swap(block_[i - 1], block_[rng_.below(static_cast<std::uint32_t>(i))]);
    }

    const std::uint64_t seed_;
    std::uint64_t kernels_ = 0;
    Rng rng_{0};
    std::vector<std::uint64_t> block_;  ///< CTAs of this turnaround
    std::size_t taken_ = 0;             ///< CTAs of it already dispatched
    std::uint64_t next_cta_ = 0;        ///< first CTA after this turnaround
    std::uint64_t end_cta_ = 0;
    std::uint32_t next_sm_ = 0;
};
}  // namespace

std::unique_ptr<CtaScheduler> make_random_turnaround(const DispatchSpec& spec, const Sections&) {
    return std::make_unique<RandomPerTurnaround>(spec.seed);
}

}  // namespace mergelane
