// SPDX-License-Identifier: MIT
// The result of a run: counters with unit and description, identity of machine and workload.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/instruction_counts.hpp"
#include "core/metrics.hpp"
#include "core/sample.hpp"

namespace mergelane {

struct StatValue {
    std::string name;  ///< for example "l1.sector_accesses"
    std::string_view unit;
    std::string_view meaning;
    std::uint64_t value = 0;
    std::uint64_t highest = 0;  ///< maximum over components; of a whole run
};

/// Throws InputError for an unknown name: a counter that does not exist is not zero.
std::uint64_t statistic(std::span<const StatValue> stats, std::string_view name);
bool has_statistic(std::span<const StatValue> stats, std::string_view name);
/// Maximum over components; throws as above.
std::uint64_t highest_statistic(std::span<const StatValue> stats, std::string_view name);
/// The error message for such a name.
std::string unknown_statistic(std::string_view name, std::span<const std::string_view> known);

/// One line of an energy breakdown: fj = count * unit_fj, in integer femtojoules.
struct EnergyItem {
    std::string component;  ///< "sm", "l1", "cluster", "noc", "l2", "dram" or "static"
    std::string name;
    std::uint64_t count = 0;
    std::string_view unit;
    std::uint64_t unit_fj = 0;
    std::uint64_t fj = 0;
};

/// Energy according to one event table. Items add up exactly to components, and components to the total.
struct EnergyReport {
    std::string table;
    std::string kind;  ///< "regressed" or "bottom_up"
    std::uint64_t total_fj = 0;
    std::vector<std::pair<std::string, std::uint64_t>> components;
    std::vector<EnergyItem> items;
    std::vector<std::pair<std::string, double>> areas_mm2;  ///< of structures the table models
    std::vector<std::string> notes;
    double seconds = 0;
    double joules = 0;
    double joule_seconds = 0;  ///< energy-delay product
};

/// Where the time of loads went, from issue until the value is available: the stages of the request that was answered last.
struct LoadTimes {
    std::uint64_t loads = 0;
    std::uint64_t total = 0;             ///< engine units (see core/clock.hpp)
    std::vector<std::uint64_t> spent;    ///< per stage of the machine; adds up to the total
    std::vector<std::uint64_t> stalled;  ///< of the schedulers while they waited for memory, by the stage of the load that ended the wait
};

/// All counters over time. What still drains after the last kernel belongs to the last interval.
struct Intervals {
    std::uint64_t cycles = 0;           ///< core cycles from one boundary to the next; 0: there are no intervals
    std::uint64_t end = 0;              ///< of the last interval, which may be shorter
    std::vector<std::uint64_t> counts;  ///< of each interval, in the order of RunResult::stats; they add up to the statistics of the run

    std::size_t size() const { return cycles == 0 ? 0 : std::max<std::size_t>(1, (end + cycles - 1) / cycles); }
    std::uint64_t start(std::size_t interval) const { return interval * cycles; }
    std::uint64_t length(std::size_t interval) const { return std::min(cycles, end - start(interval)); }
    /// The counts of one interval.
    std::span<const std::uint64_t> of(std::size_t interval) const {
        const std::size_t counters = counts.size() / size();
        return {counts.data() + interval * counters, counters};
    }
};

struct KernelResult {
    std::string name;
    std::uint64_t ctas = 0;
    std::uint32_t ctas_per_sm = 0;
    std::string limited_by;           ///< the resource that limits ctas_per_sm
    std::uint32_t registers = 0;      ///< per thread
    std::string_view registers_from;  ///< "cubin", "estimated" (from the PTX) or "given"
    bool at_placement = false;        ///< CTAs executed where and when they were placed
    std::uint64_t start = 0;
    std::uint64_t cycles = 0;
    std::uint64_t warp_instructions = 0;
    std::vector<std::uint64_t> values;  ///< in the order of RunResult::stats; no names, because a program may launch 100,000 kernels
    LoadTimes load_times;
    std::vector<EnergyReport> energy;  ///< one per requested table
};

/// Facts about the machine that are visible everywhere: sizes that declarations depend on, and peaks for comparison with measured rates.
/// All counts are for the whole machine.
struct MachineFacts {
    std::string name;
    std::string validated;  ///< what the preset was compared with, and how well it did; empty: with nothing
    std::uint32_t groups = 1;
    std::uint32_t sms = 0;
    std::uint32_t sms_per_cluster = 1;
    std::uint32_t schedulers_per_sm = 0;
    std::uint32_t clusters = 0;
    std::uint32_t request_ports = 0;  ///< network ports that bound each direction
    std::uint32_t flit_bytes = 0;
    std::uint32_t input_buffer_flits = 0;
    std::uint32_t slices = 0;
    std::uint32_t block_bytes = 0;
    bool has_l1 = true;
    std::uint32_t l1_blocks_per_cycle = 1;
    std::uint32_t l1_partitions = 1;
    std::uint32_t l1_waiting = 0;  ///< requests that can wait for lines in one L1
    std::uint32_t channels = 0;
    std::uint32_t dram_bus_bytes = 0;
    std::uint32_t core_mhz = 0, noc_mhz = 0, l2_mhz = 0, dram_mhz = 0;
    // What the chosen network kind, load/store front end and kernel transform declare of themselves.
    bool network_wants_one_clock = false;
    bool network_has_routers = false;
    bool network_counts_ports = false;
    bool front_arranges_l1 = false;
    bool transform_has_persistent_ctas = false;
    double network_to_dram = 0;  ///< bandwidth of the network's L2 side over that of DRAM
};

struct RunResult {
    std::string version;
    std::uint32_t model = 0;  ///< version of the model (core/model_version.hpp)
    std::string edition;      ///< version of user-added models
    std::string config_hash;
    std::string workload;
    MachineFacts machine;
    std::string digest;        ///< of every counter of every component
    std::string partial;       ///< empty: ran to completion; otherwise why it stopped early
    std::uint64_t cycles = 0;  ///< from the start of the run to the end of its last kernel, launch overhead included
    std::uint64_t warp_instructions = 0;
    double cpu_seconds = 0;
    double wall_seconds = 0;
    std::uint32_t threads = 1;
    double window_cycles = 0;
    std::vector<KernelResult> kernels;
    std::vector<StatValue> stats;
    Intervals intervals;
    LoadTimes load_times;
    std::vector<std::pair<std::string, std::string>> stages;  ///< of load_times: name and meaning
    std::uint32_t units_per_cycle = 1;                        ///< engine units per core cycle
    std::vector<KernelInstructions> by_instruction;           ///< if requested
    /// A few counters of each SM, slice and channel, in the order of the machine, to show imbalance.
    std::vector<std::pair<std::string, std::vector<std::uint64_t>>> per_unit;
    std::vector<Metric> metrics;                              ///< derived by mechanisms from their statistics
    std::vector<EnergyReport> energy;                         ///< one per requested table
    std::vector<std::pair<std::string, std::string>> config;  ///< resolved, key and value
    SampleFacts sample;  ///< of a sampled run: cycles and statistics are estimates, and `kernels` are the launches simulated

    /// Throws InputError for unknown statistics; those of a mechanism exist only if it is enabled.
    std::uint64_t stat(std::string_view name) const { return statistic(stats, name); }
    std::uint64_t highest(std::string_view name) const { return highest_statistic(stats, name); }
    bool has_stat(std::string_view name) const { return has_statistic(stats, name); }

    /// The statistics of one of its kernels.
    std::vector<StatValue> stats_of(const KernelResult& kernel) const;

    /// Sum over all kernels: from the first cycle in which a CTA may be dispatched to the end of the last CTA.
    std::uint64_t kernel_cycles() const;
    /// The rest of `cycles`: launch latency before every kernel, and the dispatcher's latency between kernels.
    std::uint64_t launch_cycles() const { return cycles - kernel_cycles(); }
    double microseconds(std::uint64_t core_cycles) const { return static_cast<double>(core_cycles) / machine.core_mhz; }
};

}  // namespace mergelane
