// SPDX-License-Identifier: MIT
// Intra-cluster coalescing and the coalesced cache: configuration, invariants, cost and summary.
#pragma once

#include <string>

#include "cluster/cluster_unit.hpp"

namespace mergelane {

/// Reads to one line from the SMs of a cluster merge while the line is in flight.
struct IccSpec final : ClusterUnitSpec<IccSpec> {
    enum class Match : std::uint8_t { tracked, address };
    enum class OnStore : std::uint8_t { close, ignore };

    bool on = false;
    std::uint32_t entries = 48;
    std::uint32_t request_cycles = 1;
    std::uint32_t reply_cycles = 1;
    Match match = Match::tracked;
    OnStore on_store = OnStore::close;
    bool l1_bypassing_loads = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
    void structures(const MachineFacts& machine, Structures& out) const override;
    std::optional<Publication> publication() const override;
    std::unique_ptr<ClusterUnit> make(const ClusterContext& context) const override;
    std::uint32_t request_delay() const override { return request_cycles; }
    std::uint32_t reply_delay() const override { return reply_cycles; }
};

/// Lines that several SMs of the cluster requested; part of the coalescing unit.
struct CoalescedCacheSpec final : SectionOf<CoalescedCacheSpec> {
    bool on = false;
    std::uint32_t entries = 24;
    std::uint32_t ways = 0;
    std::string replacement = "lru";
    bool invalidate_on_store = true;
    std::uint32_t hit_queue = 8;

    std::uint32_t ways_per_set() const { return ways == 0 ? entries : ways; }
    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void structures(const MachineFacts& machine, Structures& out) const override;
};

}  // namespace mergelane
