// SPDX-License-Identifier: MIT
// CTAs that read the same lines, as a graph: for reuse that follows no direction of the grid.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/access_log.hpp"

namespace mergelane {

class CtaGraph {
public:
    /// Limits on CTAs and sharing pairs; beyond them the graph stays empty, because a table of that size would be useless.
    static constexpr std::uint64_t kMostCtas = 16384;
    static constexpr std::size_t kMostEdges = std::size_t{1} << 22;

    /// Adds one launch. All must have the same grid; otherwise the graph stays empty.
    void add(const AccessLog& log);

    struct Parts {
        std::vector<std::uint64_t> order;  ///< CTAs, grouped by part; parts are as even as those of TaskClusters
        double cut = 0;                    ///< share of the sharing that crosses parts
    };
    /// Empty if there is nothing to partition.
    Parts split(std::uint32_t parts) const;
    /// The same for any other order that is cut evenly.
    double cut_of(const std::vector<std::uint64_t>& order, std::uint32_t parts) const;

private:
    void join(std::uint32_t a, std::uint32_t b);
    void give_up();

    std::uint64_t ctas_ = 0;
    bool useless_ = false;
    std::unordered_map<std::uint64_t, std::uint32_t> edges_;  ///< smaller CTA << 32 | larger one, to lines in common
};

}  // namespace mergelane
