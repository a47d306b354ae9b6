// SPDX-License-Identifier: MIT
#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

namespace {
/// Breadth first: every cycle visits all SMs once, starting where the last round ended, and places one CTA on each that has space. With two
/// levels, a round visits SM 0 of every cluster, then SM 1 of every cluster, and so on, so that consecutive CTAs are spread over clusters
/// first. Freed contexts take the next CTA of a single pool.
class RoundRobin final : public CtaScheduler {
public:
    RoundRobin(bool goes_on, bool two_levels) : goes_on_(goes_on), two_levels_(two_levels) {}
    void start(const DispatchState& state) override {
        next_cta_ = state.first_cta;
        end_cta_ = state.end_cta;
        if (!goes_on_) next_ = 0;
        order_.clear();
        for (std::uint32_t s = 0; two_levels_ && order_.size() < state.sms(); ++s) {
            for (std::uint32_t c = 0; c < state.clusters; ++c) {
                if (s < state.cluster_size(c)) order_.push_back(state.first_sm(c) + s);
            }
        }
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        const std::uint32_t sms = state.sms();
        const std::uint32_t first = next_;
        for (std::uint32_t k = 0; k < sms && next_cta_ < end_cta_; ++k) {
            const std::uint32_t turn = (first + k) % sms;
            const std::uint32_t sm = two_levels_ ? order_[turn] : turn;
            if (state.free_contexts[sm] == 0) continue;
            out.push_back({next_cta_++, sm});
            next_ = (turn + 1) % sms;
        }
    }
    std::uint64_t remaining() const override { return end_cta_ - next_cta_; }
    bool in_order() const override { return true; }

private:
    const bool goes_on_;  ///< the next kernel continues where the last one ended
    const bool two_levels_;
    std::uint64_t next_cta_ = 0;
    std::uint64_t end_cta_ = 0;
    std::uint32_t next_ = 0;            ///< position in the round
    std::vector<std::uint32_t> order_;  ///< with two levels: of the SMs in a round
};
}  // namespace

std::unique_ptr<CtaScheduler> make_round_robin(const DispatchSpec& spec, const Sections&) {
    return std::make_unique<RoundRobin>(spec.continue_round, false);
}

std::unique_ptr<CtaScheduler> make_two_level_rr(const DispatchSpec& spec, const Sections&) {
    return std::make_unique<RoundRobin>(spec.continue_round, true);
}

}  // namespace mergelane
