// SPDX-License-Identifier: MIT
#include "energy/cost_tables.hpp"

#include <utility>

namespace mergelane {

namespace {

StorageCost storage(std::string name, std::uint64_t entries, std::uint32_t tag_bits, std::uint32_t data_bits, double published_mw = 0) {
    StorageCost cost;
    cost.structure.name = std::move(name);
    cost.structure.entries = entries;
    cost.structure.tag_bits = tag_bits;
    cost.structure.data_bits = data_bits;
    cost.published_mw = published_mw;
    return cost;
}

}  // namespace

CostTable icc_cost(const IccSizes& sizes) {
    const std::uint32_t tag = block_tag_bits(sizes.line_bytes);
    CostTable table{"intra-cluster coalescing", "cluster", sizes.clusters, {}, "valid bits are not counted, as in the paper"};
    table.storage = {storage("merge table", sizes.merge_table_entries, tag, sizes.sms_per_cluster),
                     storage("coalesced cache", sizes.coalesced_cache_entries, tag, sizes.line_bytes * 8)};
    return table;
}

CostTable warp_pool_cost() {
    CostTable table{"WarpPool", "SM", 15, {}, "power and area (0.36 mm2 per SM) are the paper's, at 45 nm and 1.2 GHz"};
    table.storage = {storage("instruction queues", 128, 0, 37, 41.8), storage("intra-warp coalescers", 2, 0, 2048, 24.3),
                     storage("inter-warp queues", 64, 0, 124, 44.3), storage("thread map table", 8, 0, 321, 9.9),
                     storage("MSHR metadata", 1024, 0, 23, 22.0)};
    return table;
}

CostTable dc_l1_cost(const DcL1Sizes& sizes) {
    CostTable table{"decoupled L1", "node", sizes.nodes, {}, "queues; the node's cache is L1 capacity that moved"};
    table.storage = {storage("queues", std::uint64_t{sizes.queues} * sizes.entries, 0, sizes.line_bytes * 8)};
    return table;
}

std::vector<CostTable> cost_tables() {
    return {icc_cost(),
            warp_pool_cost(),
            dc_l1_cost(),
            {"packet coalescing", "router", 1, {}, "the paper gives no cost"},
            {"CTA clustering", "program", 1, {}, "software only"}};
}

NocTotal noc_total(const NocDesign& design, ReplyCount reply, bool with_allocator) {
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

NocDesign dc_l1_noc(std::string name, std::uint32_t cores, std::uint32_t nodes, std::uint32_t clusters, std::uint32_t slices) {
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

std::vector<NocDesign> dc_l1_nocs() {
    return {dc_l1_noc("baseline", 80, 0, 1, 32),   dc_l1_noc("Pr40", 80, 40, 40, 32),    dc_l1_noc("Pr20", 80, 20, 20, 32),
            dc_l1_noc("Pr10", 80, 10, 10, 32),     dc_l1_noc("Sh40", 80, 40, 1, 32),     dc_l1_noc("Sh40+C5", 80, 40, 5, 32),
            dc_l1_noc("Sh40+C10", 80, 40, 10, 32), dc_l1_noc("Sh40+C20", 80, 40, 20, 32)};
}

}  // namespace mergelane
