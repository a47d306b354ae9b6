// SPDX-License-Identifier: MIT
#include <algorithm>

#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

namespace {
/// Each SM cluster has its own pool of consecutive CTAs, in proportion to its SMs, assigned round robin to its SMs in blocks of consecutive
/// CTAs (one, or usually pairs). A cluster whose pool is empty stays idle: there is no stealing. With delayed launch, an SM waits until a
/// whole block fits, including the remainder at the end of its pool. Without it, a freed context takes the next single CTA once the initial
/// filling is over. A block is sent one CTA per cycle.
class Distributed final : public CtaScheduler {
public:
    Distributed(std::uint32_t block_ctas, bool delayed_launch) : block_ctas_(block_ctas), delayed_launch_(delayed_launch) {}

    void start(const DispatchState& state) override {
        remaining_ = state.end_cta - state.first_cta;
        // The first (CTAs mod clusters) pools have one CTA more.
        const std::uint64_t longer = remaining_ % state.clusters;
        pools_.resize(state.clusters);
        std::uint64_t first = state.first_cta;
        for (std::uint64_t c = 0; c < state.clusters; ++c) {
            const std::uint64_t end = state.first_sms.empty()
                                          ? first + remaining_ / state.clusters + (c < longer ? 1 : 0)
                                          : state.first_cta + remaining_ * state.first_sm(static_cast<std::uint32_t>(c) + 1) / state.sms();
            pools_[c] = {first, end, 0};
            first = end;
        }
        block_ = std::min(block_ctas_, state.contexts_per_sm);  // a block that never fits would never start
        blocks_.assign(state.sms(), {});
        for (Block& block : blocks_) block.to_fill = state.contexts_per_sm / block_;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        for (std::uint32_t c = 0; c < state.clusters; ++c) {
            const std::uint32_t per_cluster = state.cluster_size(c);
            Pool& pool = pools_[c];
            const std::uint32_t first = pool.next_sm;
            for (std::uint32_t k = 0; k < per_cluster; ++k) {
                const std::uint32_t s = (first + k) % per_cluster;
                const std::uint32_t sm = state.first_sm(c) + s;
                Block& block = blocks_[sm];
                if (block.next == block.end && pool.left() != 0 && take_block(state, sm, pool)) pool.next_sm = (s + 1) % per_cluster;
                if (block.next == block.end) continue;
                out.push_back({block.next++, sm});
                --remaining_;
            }
        }
    }
    std::uint64_t remaining() const override { return remaining_; }

private:
    struct Pool {
        std::uint64_t next = 0;
        std::uint64_t end = 0;
        std::uint32_t next_sm = 0;  ///< round-robin pointer within the cluster

        std::uint64_t left() const { return end - next; }
    };
    struct Block {
        std::uint64_t next = 0;
        std::uint64_t end = 0;
        std::uint32_t to_fill = 0;  ///< remaining blocks of the initial filling
    };

    bool take_block(const DispatchState& state, std::uint32_t sm, Pool& pool) {
        Block& block = blocks_[sm];
        const bool single = !delayed_launch_ && block.to_fill == 0;
        const std::uint32_t size = single ? 1 : block_;
        if (state.free_contexts[sm] < size) return false;
        if (block.to_fill != 0) --block.to_fill;
        block.next = pool.next;
        pool.next += std::min<std::uint64_t>(size, pool.left());
        block.end = pool.next;
        return true;
    }

    const std::uint32_t block_ctas_;
    const bool delayed_launch_;
    std::vector<Pool> pools_;
    std::vector<Block> blocks_;  ///< per SM: CTAs reserved for it
    std::uint64_t remaining_ = 0;
    std::uint32_t block_ = 1;
};
}  // namespace

std::unique_ptr<CtaScheduler> make_distributed(const DispatchSpec&, const Sections&) {
    return std::make_unique<Distributed>(1, true);
}

std::unique_ptr<CtaScheduler> make_distributed_block(const DispatchSpec& spec, const Sections&) {
    return std::make_unique<Distributed>(spec.block_ctas, spec.delayed_launch);
}

}  // namespace mergelane
