// SPDX-License-Identifier: MIT
// The networks of the DC-L1 paper as listed in its tables, and their cost with parts left out or counted differently. Declared structures
// of machines are compared with them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "energy/crossbar_cost.hpp"

namespace mergelane::testing {

/// The crossbars of one organisation of decoupled L1s, one direction.
struct NocDesign {
    struct Crossbars {
        std::uint32_t count;
        CrossbarShape shape;
    };
    std::string name;
    std::vector<Crossbars> request;
};
struct NocTotal {
    double area_mm2 = 0;
    double leak_mw = 0;
};
/// How a second network for the replies is counted.
enum class ReplyCount {
    transposed,      ///< as built: inputs and outputs change places
    as_the_request,  ///< the request network twice
};

inline NocTotal noc_total(const NocDesign& design, ReplyCount reply, bool with_allocator = true) {
    NocTotal total;
    const auto add = [&](std::uint32_t count, const CrossbarShape& shape) {
        const CrossbarCost cost = crossbar_cost(shape);
        total.area_mm2 += count * (cost.area_mm2() - (with_allocator ? 0 : cost.allocator.area_mm2));
        total.leak_mw += count * (cost.leak_mw() - (with_allocator ? 0 : cost.allocator.leak_mw));
    };
    for (const auto& [count, shape] : design.request) {
        add(count, shape);
        add(count, reply == ReplyCount::transposed ? shape.transposed() : shape);
    }
    return total;
}

/// X cores, Y nodes in Z clusters, L slices: NoC#1 of Z crossbars (X/Z) x (Y/Z); NoC#2 of Y/Z crossbars Z x (L Z / Y) where
/// that divides, else one Y x L. 0 nodes: the baseline, one X x L.
inline NocDesign dc_l1_noc(std::string name, std::uint32_t cores, std::uint32_t nodes, std::uint32_t clusters, std::uint32_t slices) {
    const auto crossbar = [](std::uint32_t inputs, std::uint32_t outputs) { return CrossbarShape{inputs, outputs, 256, 4, 16}; };
    NocDesign design{std::move(name), {}};
    if (nodes == 0) {
        design.request = {{1, crossbar(cores, slices)}};
        return design;
    }
    const std::uint32_t nodes_per_cluster = nodes / clusters;
    design.request.push_back({clusters, crossbar(cores / clusters, nodes_per_cluster)});
    if (slices % nodes_per_cluster == 0)
        design.request.push_back({nodes_per_cluster, crossbar(clusters, slices / nodes_per_cluster)});
    else
        design.request.push_back({1, crossbar(nodes, slices)});
    return design;
}

/// For 80 cores and 32 slices.
inline std::vector<NocDesign> dc_l1_nocs() {
    return {dc_l1_noc("baseline", 80, 0, 1, 32),   dc_l1_noc("Pr40", 80, 40, 40, 32),    dc_l1_noc("Pr20", 80, 20, 20, 32),
            dc_l1_noc("Pr10", 80, 10, 10, 32),     dc_l1_noc("Sh40", 80, 40, 1, 32),     dc_l1_noc("Sh40+C5", 80, 40, 5, 32),
            dc_l1_noc("Sh40+C10", 80, 40, 10, 32), dc_l1_noc("Sh40+C20", 80, 40, 20, 32)};
}

}  // namespace mergelane::testing
