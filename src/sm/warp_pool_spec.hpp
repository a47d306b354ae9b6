// SPDX-License-Identifier: MIT
// WarpPool (inter-warp coalescing): configuration, invariants, cost and summary. Chosen by lsu.front = "warp_pool".
#pragma once

#include "core/section.hpp"

namespace mergelane {

struct WarpPoolSpec final : SectionOf<WarpPoolSpec> {
    enum class Policy : std::uint8_t { switching, oldest, warp_id };

    std::uint32_t instruction_queues = 16;
    std::uint32_t queue_entries = 8;
    std::uint32_t coalescers = 2;
    std::uint32_t line_queues = 32;
    std::uint32_t tags = 2;
    std::uint32_t merges = 4;
    std::uint32_t map_entries = 8;
    std::uint32_t added_latency = 2;
    Policy policy = Policy::switching;
    std::uint32_t quantum = 100000;
    std::uint32_t switch_percent = 99;
    bool count_merged_misses = true;
    std::uint32_t writeback_per_cycle = 1;
    std::uint32_t writeback_buffer = 2;
    std::uint32_t store_patience = 0;

    void fields(SpecFields& f) override;
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
    void structures(const MachineFacts& machine, Structures& out) const override;
    std::optional<Publication> publication() const override;
};

}  // namespace mergelane
