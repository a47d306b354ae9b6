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
    CostTable table{"intra-cluster coalescing", "cluster", sizes.clusters, {}, "valid bits are excluded, as in the paper"};
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
    CostTable table{"decoupled L1", "node", sizes.nodes, {}, "queues only; the node's cache replaces the L1s"};
    table.storage = {storage("queues", std::uint64_t{sizes.queues} * sizes.entries, 0, sizes.line_bytes * 8)};
    return table;
}

std::vector<CostTable> cost_tables() {
    return {icc_cost(),
            warp_pool_cost(),
            dc_l1_cost(),
            {"packet coalescing", "router", 1, {}, "the paper reports no cost"},
            {"CTA clustering", "program", 1, {}, "software only"}};
}

}  // namespace mergelane
