// SPDX-License-Identifier: MIT
// What the published mechanisms cost in hardware: storage exactly from their sizes, area and energy from the models, and
// beside them the figures their papers print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/structure.hpp"
#include "energy/crossbar_cost.hpp"

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
NocTotal noc_total(const NocDesign& design, ReplyCount reply, bool with_allocator = true);

/// X cores, Y nodes in Z clusters, L slices: NoC#1 of Z crossbars (X/Z) x (Y/Z); NoC#2 of Y/Z crossbars Z x (L Z / Y) where
/// that divides, else one Y x L. 0 nodes: the baseline, one X x L.
NocDesign dc_l1_noc(std::string name, std::uint32_t cores, std::uint32_t nodes, std::uint32_t clusters, std::uint32_t slices);
/// Baseline, Pr40, Pr20, Pr10, Sh40, Sh40+C5, Sh40+C10, Sh40+C20 for 80 cores and 32 slices.
std::vector<NocDesign> dc_l1_nocs();

}  // namespace mergelane
