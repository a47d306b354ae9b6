// SPDX-License-Identifier: MIT
#include "dispatch/cta_pools.hpp"

namespace mergelane {

namespace {
/// Each SM cluster has its own pool of consecutive CTAs, assigned round robin to its SMs. A cluster whose pool is empty stays idle: there
/// is no stealing.
class Distributed final : public CtaScheduler {
public:
    void start(const DispatchState& state) override {
        cut_into_pools(state, pools_);
        remaining_ = state.end_cta - state.first_cta;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        const std::uint32_t per_cluster = state.sms_per_cluster;
        for (std::uint32_t c = 0; c < state.clusters; ++c) {
            CtaPool& pool = pools_[c];
            const std::uint32_t first = pool.next_sm;
            for (std::uint32_t k = 0; k < per_cluster && pool.left() != 0; ++k) {
                const std::uint32_t s = (first + k) % per_cluster;
                if (state.free_contexts[c * per_cluster + s] == 0) continue;
                out.push_back({pool.next++, c * per_cluster + s});
                pool.next_sm = (s + 1) % per_cluster;
                --remaining_;
            }
        }
    }
    std::uint64_t remaining() const override { return remaining_; }

private:
    std::vector<CtaPool> pools_;
    std::uint64_t remaining_ = 0;
};
}  // namespace

std::unique_ptr<CtaScheduler> make_distributed(const DispatchSpec&, const Sections&) {
    return std::make_unique<Distributed>();
}

}  // namespace mergelane
