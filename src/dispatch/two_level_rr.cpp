// SPDX-License-Identifier: MIT
#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

namespace {
/// Two levels: a round visits SM 0 of every cluster, then SM 1 of every cluster, and so on, so that consecutive CTAs are spread over
/// clusters first. Freed contexts take the next CTA of a single pool.
class TwoLevelRoundRobin final : public CtaScheduler {
public:
    explicit TwoLevelRoundRobin(bool goes_on) : goes_on_(goes_on) {}
    void start(const DispatchState& state) override {
        next_cta_ = state.first_cta;
        end_cta_ = state.end_cta;
        if (!goes_on_) next_ = 0;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        const std::uint32_t sms = state.sms();
        const std::uint32_t first = next_;
        for (std::uint32_t k = 0; k < sms && next_cta_ < end_cta_; ++k) {
            const std::uint32_t turn = (first + k) % sms;
            const std::uint32_t sm = turn % state.clusters * state.sms_per_cluster + turn / state.clusters;
            if (state.free_contexts[sm] == 0) continue;
            out.push_back({next_cta_++, sm});
            next_ = (turn + 1) % sms;
        }
    }
    std::uint64_t remaining() const override { return end_cta_ - next_cta_; }

private:
    const bool goes_on_;  ///< the next kernel continues where the last one ended
    std::uint64_t next_cta_ = 0;
    std::uint64_t end_cta_ = 0;
    std::uint32_t next_ = 0;  ///< position in the round, not an SM
};
}  // namespace

std::unique_ptr<CtaScheduler> make_two_level_rr(const DispatchSpec& spec, const Sections&) {
    return std::make_unique<TwoLevelRoundRobin>(spec.continue_round);
}

}  // namespace mergelane
