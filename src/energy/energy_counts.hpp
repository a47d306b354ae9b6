// SPDX-License-Identifier: MIT
// Event counts: the quantities that event tables price.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

/// Order of the table in energy_counts.cpp.
enum class EnergyCount : std::uint8_t {
    cycles,
    sm_cycles,
    idle_sm_cycles,
    warp_instructions,
    thread_instructions,
    int_lanes,
    fp_lanes,
    mul_lanes,
    special_lanes,
    double_lanes,
    tensor_lanes,
    constant_lanes,
    register_reads,
    register_writes,
    shared_accesses,
    l1_read_hits,
    l1_read_merges,
    l1_read_misses,
    l1_write_hits,
    l1_write_misses,
    l1_fills,
    request_flits,
    reply_flits,
    l2_read_hits,
    l2_read_merges,
    l2_read_misses,
    l2_write_hits,
    l2_write_misses,
    l2_fills,
    l2_writebacks,
    dram_activates,
    dram_precharges,
    dram_read_bursts,
    dram_write_bursts,
    dram_refreshes,
    dram_bank_refreshes,
    dram_open_cycles,
    count
};
inline constexpr std::size_t kEnergyCounts = static_cast<std::size_t>(EnergyCount::count);

struct EnergyCountInfo {
    std::string_view name;
    std::string_view unit;
    std::string_view meaning;
};
const std::array<EnergyCountInfo, kEnergyCounts>& energy_count_infos();

/// How often each event happened. Counts of two runs can be added.
struct EnergyCounts {
    std::array<std::uint64_t, kEnergyCounts> values{};
    /// Accesses to the structures that mechanisms declared: one per use, in order of declaration.
    std::vector<std::uint64_t> uses;
    /// Flits of every set of crossbars.
    std::vector<std::uint64_t> flits;

    std::uint64_t& operator[](EnergyCount count) { return values[static_cast<std::size_t>(count)]; }
    std::uint64_t operator[](EnergyCount count) const { return values[static_cast<std::size_t>(count)]; }
    /// Of the same machine.
    EnergyCounts& operator+=(const EnergyCounts& other) {
        for (std::size_t i = 0; i < kEnergyCounts; ++i) values[i] += other.values[i];
        for (std::size_t i = 0; i < uses.size(); ++i) uses[i] += other.uses.at(i);
        for (std::size_t i = 0; i < flits.size(); ++i) flits[i] += other.flits.at(i);
        return *this;
    }
};

/// Adds what the instructions of each class did inside the SM: execution lanes by unit, register operands read and written.
void add_instructions(EnergyCounts& counts, const std::array<std::uint64_t, kOpClasses>& lanes);

}  // namespace mergelane
