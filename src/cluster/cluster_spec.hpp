// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/problems.hpp"

namespace mergelane {

/// Intra-cluster coalescing: reads of a cluster's SMs to one line merge while it is on its way.
struct IccSpec {
    bool enabled = false;
    std::uint32_t entries = 48;
    std::uint32_t request_cycles = 1;
    std::uint32_t reply_cycles = 1;
    std::string match = "tracked";
    std::string on_store = "close";
    bool l1_bypassing_loads = false;

    void fields(SpecFields& f);
};

/// Coalesced cache: lines that several SMs of the cluster had asked for.
struct CoalescedCacheSpec {
    bool enabled = false;
    std::uint32_t entries = 24;
    std::uint32_t ways = 0;
    std::string replacement = "lru";
    bool invalidate_on_store = true;
    std::uint32_t hit_queue = 8;

    std::uint32_t ways_per_set() const { return ways == 0 ? entries : ways; }
    void fields(SpecFields& f);
};

struct LocalitySpec {
    bool enabled = false;

    void fields(SpecFields& f);
};

struct ClusterSpec {
    std::uint32_t injection_buffer = 8;
    std::uint32_t response_fifo = 8;
    IccSpec icc;
    CoalescedCacheSpec cc;
    LocalitySpec locality;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
    void laws(LawBook& book) const;
};

}  // namespace mergelane
