// SPDX-License-Identifier: MIT
// What both kinds of channels count and report alike.
#pragma once

#include <array>

#include "core/fields.hpp"
#include "core/journey.hpp"
#include "core/packet.hpp"

namespace mergelane {

struct DramStats {
    std::uint64_t requests = 0;
    std::uint64_t sector_reads = 0;
    std::uint64_t sector_writes = 0;
    std::uint64_t read_bursts = 0;
    std::uint64_t write_bursts = 0;
    std::uint64_t activates = 0;
    std::uint64_t precharges = 0;
    std::uint64_t row_misses = 0;
    std::uint64_t queue_wait = 0;
    std::uint64_t replies = 0;
    std::uint64_t writes = 0;

    void report(StatFields& f) const;
};

/// Column commands that cover the requested sectors of a line, by their mask.
using BurstCounts = std::array<std::uint8_t, 16>;
BurstCounts burst_counts(std::uint32_t access_bytes);

void declare_dram_stages(Stages& out, Stage& queue, Stage& row, Stage& bus);

}  // namespace mergelane
