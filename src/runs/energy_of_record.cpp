// SPDX-License-Identifier: MIT
#include "runs/energy_of_record.hpp"

#include "config/config.hpp"
#include "costing/energy_of_run.hpp"
#include "sim/declared.hpp"

namespace mergelane::study {

EnergyReport energy_of_record(const RunRecord& record, const std::string& gpu, const std::vector<std::string>& overrides,
                              const EnergyData& data, const Registry& registry) {
    const MachineSpec spec = load_config(gpu, overrides, default_preset_dirs(), registry).spec;
    std::vector<StatValue> stats;
    for (const auto& [name, value] : record.stats) stats.push_back({name, "", "", value});
    const std::vector<Structure> structures = structures_of(spec);
    return energy_of(energy_prices(data, energy_shape(spec), structures), energy_counts(spec, structures, stats, record.cycles));
}

EnergyPrices prices_of_machine(const std::string& gpu, const std::vector<std::string>& overrides, const EnergyData& data,
                               const Registry& registry) {
    const MachineSpec spec = load_config(gpu, overrides, default_preset_dirs(), registry).spec;
    return energy_prices(data, energy_shape(spec), structures_of(spec));
}

std::vector<CrossbarSet> networks_of_machine(const std::string& gpu, const std::vector<std::string>& overrides, const Registry& registry) {
    return energy_shape(load_config(gpu, overrides, default_preset_dirs(), registry).spec).networks;
}

}  // namespace mergelane::study
