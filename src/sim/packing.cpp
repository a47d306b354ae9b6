// SPDX-License-Identifier: MIT
#include "sim/packing.hpp"

#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace mergelane {

Packing pack_longest_first(std::span<const std::uint64_t> costs, std::uint32_t threads) {
    Packing packing;
    packing.order.resize(costs.size());
    std::iota(packing.order.begin(), packing.order.end(), 0u);
    std::stable_sort(packing.order.begin(), packing.order.end(), [&](std::uint32_t a, std::uint32_t b) { return costs[a] > costs[b]; });
    packing.thread.resize(costs.size());
    packing.load.resize(std::max(threads, 1u));
    using Thread = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Thread, std::vector<Thread>, std::greater<>> least;
    for (std::uint32_t t = 0; t < packing.load.size(); ++t) least.emplace(0, t);
    for (const std::uint32_t job : packing.order) {
        const std::uint32_t thread = least.top().second;
        least.pop();
        packing.thread[job] = thread;
        packing.load[thread] += costs[job];
        least.emplace(packing.load[thread], thread);
    }
    return packing;
}

}  // namespace mergelane
