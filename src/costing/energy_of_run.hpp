// SPDX-License-Identifier: MIT
// Connects energy to the machine: sizes from the configuration, counts from the statistics of a run.
#pragma once

#include <span>

#include "core/result.hpp"
#include "energy/energy_model.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane {

MachineShape energy_shape(const MachineSpec& spec);

/// Events in `cycles` core cycles, according to the statistics (of a kernel or a whole run). `structures`: as passed to energy_prices.
/// Throws InputError for a missing statistic.
EnergyCounts energy_counts(const MachineSpec& spec, std::span<const Structure> structures, std::span<const StatValue> stats,
                           std::uint64_t cycles);

EnergyPrices prices_of(const MachineSpec& spec, const EnergyData& data);
/// Of a run with these statistics.
EnergyReport energy_of_run(const MachineSpec& spec, const EnergyData& data, std::span<const StatValue> stats, std::uint64_t cycles);

/// Throws InputError if a run of this machine, which counts these statistics, could not be priced, so that the error comes before the run.
void check_energy(const MachineSpec& spec, std::span<const StatValue> counted, const EnergyData& data);

/// Adds the energy of the run and of each of its kernels to the result, including the structures that its mechanisms declare.
void add_energy(RunResult& result, const MachineSpec& spec, const EnergyData& data);
void add_energy(RunResult& result, const MachineSpec& spec, std::span<const Structure> structures, const EnergyData& data);

}  // namespace mergelane
