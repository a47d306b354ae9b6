// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <utility>

#include "scripted.hpp"
#include "sim/simulation.hpp"

namespace mergelane::testing {

inline RunResult run_on(const MachineSpec& spec, Workload& workload, const RunOptions& options = {}) {
    Simulation simulation(spec, options);
    return simulation.run(workload);
}

inline RunResult run_on(const MachineSpec& spec, WarpScript script, const RunOptions& options = {}) {
    ScriptedWorkload workload(std::move(script));
    return run_on(spec, workload, options);
}

/// One counter of one component (statistics of a run are sums over components).
inline std::uint64_t stat_of(const Component& component, std::string_view name, Cycle now = 0) {
    StatFields fields;
    component.stats(fields, now);
    for (const StatField& field : fields.list()) {
        if (field.name == name) return field.value;
    }
    ADD_FAILURE() << component.name() << " has no statistic '" << name << "'";
    return 0;
}

/// What a component holds of something right now.
inline std::uint64_t gauge_of(const Component& component, std::string_view group, std::string_view name) {
    StatFields fields;
    component.gauges(fields);
    for (const StatField& field : fields.list()) {
        if (field.group == group && field.name == name) return field.value;
    }
    ADD_FAILURE() << component.name() << " has no gauge '" << group << '.' << name << "'";
    return 0;
}

}  // namespace mergelane::testing
