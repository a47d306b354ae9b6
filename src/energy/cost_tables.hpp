// SPDX-License-Identifier: MIT
// What the published mechanisms cost in hardware: storage exactly from their sizes, area and energy from the models, and
// beside them the figures their papers print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/structure.hpp"

namespace mergelane {

/// Storage of one structure.
struct StorageCost {
    Structure structure;
    double published_mw = 0;  ///< dynamic and static, as the paper prints it; 0: not printed
};

struct CostTable {
    std::string mechanism;
    std::string per;  ///< "cluster", "SM", "node", or "program" for software
    std::uint32_t instances = 1;
    std::vector<StorageCost> storage;
    std::string remark;

    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const StorageCost& row : storage) sum += row.structure.bytes();
        return sum;
    }
};

struct IccSizes {
    std::uint32_t clusters = 12;
    std::uint32_t sms_per_cluster = 5;
    std::uint32_t merge_table_entries = 48;
    std::uint32_t coalesced_cache_entries = 24;
    std::uint32_t line_bytes = 128;
};
CostTable icc_cost(const IccSizes& sizes = {});

CostTable warp_pool_cost();

struct DcL1Sizes {
    std::uint32_t nodes = 40;
    std::uint32_t queues = 4;
    std::uint32_t entries = 4;
    std::uint32_t line_bytes = 128;
};
CostTable dc_l1_cost(const DcL1Sizes& sizes = {});

/// All five papers, at their published sizes.
std::vector<CostTable> cost_tables();

}  // namespace mergelane
