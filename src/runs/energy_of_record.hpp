// SPDX-License-Identifier: MIT
#pragma once

#include "core/result.hpp"
#include "energy/energy_model.hpp"
#include "runs/store.hpp"
#include "sim/built_in.hpp"

namespace mergelane::study {

/// Energy follows from statistics and configuration alone, so it is computed when asked for and not kept with the run.
/// The machine is given as the plan has it: the record may come from a file that has changed since, with the same values then.
EnergyReport energy_of_record(const RunRecord& record, const std::string& gpu, const std::vector<std::string>& overrides,
                              const EnergyData& data, const Registry& registry = built_in());

/// What its machine's energy is made of, and its networks, whatever runs on it.
EnergyPrices prices_of_machine(const std::string& gpu, const std::vector<std::string>& overrides, const EnergyData& data,
                               const Registry& registry = built_in());
std::vector<CrossbarSet> networks_of_machine(const std::string& gpu, const std::vector<std::string>& overrides,
                                             const Registry& registry = built_in());

}  // namespace mergelane::study
