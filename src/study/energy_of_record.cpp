// SPDX-License-Identifier: MIT
#include "study/energy_of_record.hpp"

#include "sim/config.hpp"
#include "sim/energy_of_run.hpp"

namespace mergelane::study {

EnergyReport energy_of_record(const RunRecord& record, const EnergyData& data) {
    const MachineSpec spec = load_config(record.spec.gpu, record.spec.overrides, default_preset_dirs()).spec;
    std::vector<StatValue> stats;
    for (const auto& [name, value] : record.stats) stats.push_back({name, "", "", value});
    return energy_of(energy_prices(data, energy_shape(spec)), energy_counts(spec, stats, record.cycles));
}

}  // namespace mergelane::study
