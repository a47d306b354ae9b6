// SPDX-License-Identifier: MIT
#include "costing/energy_of_run.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/types.hpp"
#include "dram/controller_spec.hpp"
#include "sim/declared.hpp"
#include "sim/process_spec.hpp"

namespace mergelane {

namespace {

/// All crossbars there are; a kind of network says which it has.
std::vector<CrossbarSet> crossbars_of(const MachineSpec& spec) {
    const NetworkTraits::Crossbars& inside = *spec.network_traits().crossbars;
    std::vector<CrossbarSet> sets;
    for (const CrossbarSet& set : networks_of(spec)) {
        if (set.is_network && inside == nullptr)
            throw InputError("there is no energy model for noc.kind = \"" + spec.noc.kind +
                             "\"; use \"crossbar\" or \"mesh\", or omit --energy");
        const std::vector<CrossbarSet> mine = set.is_network ? inside(set, spec.sections) : std::vector{set};
        sets.insert(sets.end(), mine.begin(), mine.end());
    }
    return sets;
}

void add_l1(EnergyCounts& counts, const MachineSpec& spec, std::span<const StatValue> stats) {
    using Count = EnergyCount;
    const auto s = [&](std::string_view name) { return statistic(stats, name); };
    // A load looks up all sectors of its block, so its lookups follow from its sectors; stores are the rest.
    const std::uint64_t block_sectors = std::max(1u, spec.l1.sector_bytes / kSectorBytes);
    const std::uint64_t read_misses = (s("l1.sector_misses") - s("l1.sector_write_misses")) / block_sectors;
    counts[Count::l1_read_hits] = s("l1.sector_hits") / block_sectors;
    counts[Count::l1_read_merges] = s("l1.sector_pending_hits") / block_sectors;
    counts[Count::l1_read_misses] = read_misses;
    const std::uint64_t reads = counts[Count::l1_read_hits] + counts[Count::l1_read_merges] + read_misses;
    counts[Count::l1_write_misses] = s("l1.line_write_misses");
    counts[Count::l1_write_hits] = s("l1.line_requests") - reads - counts[Count::l1_write_misses];
    counts[Count::l1_fills] = s("l1.fills");
}

}  // namespace

MachineShape energy_shape(const MachineSpec& spec) {
    MachineShape shape;
    shape.process_nm = spec.section<ProcessSpec>().process_nm;
    shape.groups = spec.gpu.groups;
    shape.slices = spec.l2.enabled ? spec.slices() : 0;  // of a cache
    shape.channels = spec.gpu.groups * spec.dram.channels;
    shape.core_mhz = spec.gpu.core_mhz;
    shape.l1 = spec.l1.enabled;
    shape.l1s = spec.sms();
    shape.l1_bytes = spec.l1.size_kib * 1024;
    shape.l1_block_bytes = spec.lsu.block_bytes;
    shape.l1_mshrs = spec.l1.mshrs;
    if (const FabricSection* fabric = fabric_of(spec.sections); fabric != nullptr && fabric->caches() != 0) {
        const L1Spec cache = fabric->cache(spec.l1, spec.sms() / spec.gpu.groups);
        shape.l1s = spec.gpu.groups * fabric->caches();
        shape.l1_bytes = cache.size_kib * 1024;
        shape.l1_mshrs = cache.mshrs;
    }
    shape.l1_keeps_stores = spec.l1.write_policy == L1Spec::WritePolicy::byte_mask;
    shape.l2_bytes = spec.l2.size_kib * 1024;
    shape.l2_block_bytes = spec.l2.sector_bytes;
    shape.l2_mshrs = spec.l2.mshrs;
    shape.flit_bytes = spec.noc.flit_bytes;
    shape.networks = crossbars_of(spec);
    shape.dram_bus_bytes = spec.dram.bus_bytes;
    shape.dram_access_bytes = spec.dram.access_bytes;
    shape.dram_mhz = spec.gpu.dram_mhz;
    shape.dram_banks = spec.dram.banks;
    const auto& controller = spec.sections.get<DramControllerSpec>();
    shape.dram_standard = controller.standard;
    if (controller.enabled()) {
        shape.dram_detailed = true;
        shape.dram_pseudo_channels = controller.pseudo_channels;
        shape.dram_refresh = static_cast<MachineShape::Refresh>(controller.refresh);
    }
    return shape;
}

EnergyCounts energy_counts(const MachineSpec& spec, std::span<const Structure> structures, std::span<const StatValue> stats,
                           std::uint64_t cycles) {
    using Count = EnergyCount;
    const auto s = [&](std::string_view name) { return statistic(stats, name); };
    EnergyCounts counts;
    // Time. An SM can be busy for a moment longer than its kernel, while the last acknowledgements travel.
    counts[Count::cycles] = cycles;
    counts[Count::sm_cycles] = cycles * spec.sms();
    counts[Count::idle_sm_cycles] = counts[Count::sm_cycles] - std::min(counts[Count::sm_cycles], s("sm.active_cycles"));
    // SM.
    counts[Count::warp_instructions] = s("sm.warp_instructions");
    std::array<std::uint64_t, kOpClasses> lanes{};
    std::string name;
    for (std::uint32_t c = 0; c < kOpClasses; ++c) {
        name.assign("lanes.").append(c < kComputeClasses ? kComputeClassNames[c] : kOtherClassNames[c - kComputeClasses]);
        lanes[c] = s(name);
    }
    add_instructions(counts, lanes);
    counts[Count::shared_accesses] = s("sm.shared_bank_cycles");
    if (has_statistic(stats, "l1.line_requests")) add_l1(counts, spec, stats);
    // Network, L2, DRAM. An atomic reads and writes the L2.
    counts[Count::request_flits] = s("noc.request.flits");
    counts[Count::reply_flits] = s("noc.reply.flits");
    if (spec.l2.enabled) {
        counts[Count::l2_read_merges] = s("l2.merges");
        counts[Count::l2_read_misses] = s("l2.fetches");
        counts[Count::l2_read_hits] = s("l2.reads") + s("l2.atomics") - s("l2.merges") - s("l2.fetches");
        counts[Count::l2_write_misses] = s("l2.write_misses");
        counts[Count::l2_write_hits] = s("l2.writes") - s("l2.write_misses") + s("l2.atomics");
        counts[Count::l2_fills] = s("l2.fills");
        counts[Count::l2_writebacks] = s("l2.writebacks");
    }
    counts[Count::dram_activates] = s("dram.activates");
    counts[Count::dram_precharges] = s("dram.precharges");
    counts[Count::dram_read_bursts] = s("dram.read_bursts");
    counts[Count::dram_write_bursts] = s("dram.write_bursts");
    if (const auto& controller = spec.sections.get<DramControllerSpec>(); controller.enabled()) {
        const bool per_bank = controller.refresh == DramControllerSpec::Refresh::per_bank;
        counts[per_bank ? Count::dram_bank_refreshes : Count::dram_refreshes] = s("dram.refreshes");
        counts[Count::dram_open_cycles] = s("dram.open_cycles");
    }
    for (const CrossbarSet& set : crossbars_of(spec)) counts.flits.push_back(s(set.statistics + ".flits"));
    for (const Structure& structure : structures) {
        for (const Structure::Use& use : structure.uses) {
            std::uint64_t& sum = counts.uses.emplace_back();
            for (const std::string& statistic_name : use.statistics) sum += s(statistic_name);
        }
    }
    return counts;
}

EnergyPrices prices_of(const MachineSpec& spec, const EnergyData& data) {
    return energy_prices(data, energy_shape(spec), structures_of(spec));
}

EnergyReport energy_of_run(const MachineSpec& spec, const EnergyData& data, std::span<const StatValue> stats, std::uint64_t cycles) {
    return energy_of(prices_of(spec, data), energy_counts(spec, structures_of(spec), stats, cycles));
}

void check_energy(const MachineSpec& spec, std::span<const StatValue> counted, const EnergyData& data) {
    energy_of_run(spec, data, counted, 0);
}

void add_energy(RunResult& result, const MachineSpec& spec, std::span<const Structure> structures, const EnergyData& data) {
    const EnergyPrices prices = energy_prices(data, energy_shape(spec), structures);
    for (KernelResult& kernel : result.kernels)
        kernel.energy.push_back(energy_of(prices, energy_counts(spec, structures, result.stats_of(kernel), kernel.cycles)));
    result.energy.push_back(energy_of(prices, energy_counts(spec, structures, result.stats, result.cycles)));
}

void add_energy(RunResult& result, const MachineSpec& spec, const EnergyData& data) {
    add_energy(result, spec, structures_of(spec), data);
}

}  // namespace mergelane
