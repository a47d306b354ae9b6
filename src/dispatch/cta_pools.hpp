// SPDX-License-Identifier: MIT
// A grid cut into one contiguous pool of CTAs per SM cluster. There is no stealing between clusters.
#pragma once

#include <algorithm>

#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

struct CtaPool {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    std::uint32_t next_sm = 0;  ///< round-robin pointer within the cluster

    std::uint64_t left() const { return end - next; }
};

/// Pools of equal size; the first (CTAs mod clusters) have one CTA more.
inline void cut_into_pools(const DispatchState& state, std::vector<CtaPool>& pools) {
    const std::uint64_t ctas = state.end_cta - state.first_cta;
    const std::uint64_t size = ctas / state.clusters;
    const std::uint64_t longer = ctas % state.clusters;
    pools.resize(state.clusters);
    for (std::uint64_t c = 0; c < state.clusters; ++c) {
        const std::uint64_t first = state.first_cta + c * size + std::min(c, longer);
        pools[c] = {first, first + size + (c < longer ? 1 : 0), 0};
    }
}

}  // namespace mergelane
