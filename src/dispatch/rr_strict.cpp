// SPDX-License-Identifier: MIT
#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

namespace {
/// CTA n runs on SM n mod SMs, however long it has to wait for space there.
class StrictRoundRobin final : public CtaScheduler {
public:
    void start(const DispatchState& state) override {
        next_.resize(state.sms());
        for (std::uint32_t sm = 0; sm < state.sms(); ++sm) next_[sm] = state.first_cta + sm;
        end_cta_ = state.end_cta;
        remaining_ = state.end_cta - state.first_cta;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        for (std::uint32_t sm = 0; sm < state.sms(); ++sm) {
            if (next_[sm] >= end_cta_ || state.free_contexts[sm] == 0) continue;
            out.push_back({next_[sm], sm});
            next_[sm] += state.sms();
            --remaining_;
        }
    }
    std::uint64_t remaining() const override { return remaining_; }

private:
    std::vector<std::uint64_t> next_;  ///< next CTA of each SM
    std::uint64_t end_cta_ = 0;
    std::uint64_t remaining_ = 0;
};
}  // namespace

std::unique_ptr<CtaScheduler> make_rr_strict(const DispatchSpec&, const Sections&) {
    return std::make_unique<StrictRoundRobin>();
}

}  // namespace mergelane
