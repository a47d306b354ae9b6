// SPDX-License-Identifier: MIT
#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

namespace {
/// Breadth first: every cycle visits all SMs once, starting where the last round ended, and places one CTA on each that has space.
class RoundRobin final : public CtaScheduler {
public:
    explicit RoundRobin(bool goes_on) : goes_on_(goes_on) {}
    void start(const DispatchState& state) override {
        next_cta_ = state.first_cta;
        end_cta_ = state.end_cta;
        if (!goes_on_) next_sm_ = 0;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        const std::uint32_t sms = state.sms();
        const std::uint32_t first = next_sm_;
        for (std::uint32_t k = 0; k < sms && next_cta_ < end_cta_; ++k) {
            const std::uint32_t sm = (first + k) % sms;
            if (state.free_contexts[sm] == 0) continue;
            out.push_back({next_cta_++, sm});
            next_sm_ = (sm + 1) % sms;
        }
    }
    std::uint64_t remaining() const override { return end_cta_ - next_cta_; }

private:
    const bool goes_on_;  ///< the next kernel continues where the last one ended
    std::uint64_t next_cta_ = 0;
    std::uint64_t end_cta_ = 0;
    std::uint32_t next_sm_ = 0;
};
}  // namespace

std::unique_ptr<CtaScheduler> make_round_robin(const DispatchSpec& spec, const Sections&) {
    return std::make_unique<RoundRobin>(spec.continue_round);
}

}  // namespace mergelane
