// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "scripted.hpp"
#include "sim/simulation.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {

inline RunResult run_on(const MachineSpec& spec, Workload& workload, const RunOptions& options = {}) {
    Simulation simulation(spec, options);
    return simulation.run(workload);
}

inline RunResult run_on(const MachineSpec& spec, WarpScript script, const RunOptions& options = {}) {
    ScriptedWorkload workload(std::move(script));
    return run_on(spec, workload, options);
}

/// Takes all room from one link after the other: each run ends in a report that names it. `ctas`: of the workload; 0: as many as usual.
inline void expect_deadlock_at(const MachineSpec& spec, std::initializer_list<const char*> links, std::uint32_t ctas = 0) {
    for (const std::string name : links) {
        Simulation simulation(spec, {});
        LinkBase* link = simulation.machine().find_link(name);
        ASSERT_NE(link, nullptr) << name;
        link->plant_credit_leak(link->capacity());
        SyntheticParams params = synthetic_defaults("stream");
        if (ctas != 0) params.ctas = ctas;
        const auto workload = make_synthetic("stream", params);
        try {
            simulation.run(*workload);
            FAIL() << "the run ended as if nothing were wrong";
        } catch (const SimulationError& error) {
            EXPECT_NE(std::string(error.what()).find("no credits on '" + name + "'"), std::string::npos) << error.what();
        }
    }
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
