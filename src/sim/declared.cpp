// SPDX-License-Identifier: MIT
#include "sim/declared.hpp"

namespace mergelane {

namespace {
Structures declared_by(const MachineSpec& spec) {
    const MachineFacts machine = facts(spec);
    Structures structures;
    for (const auto& section : spec.sections.list()) {
        if (section->enabled()) section->structures(machine, structures);
    }
    return structures;
}
}  // namespace

std::vector<Structure> structures_of(const MachineSpec& spec) {
    return declared_by(spec).list();
}

std::vector<CrossbarSet> crossbars_of(const MachineSpec& spec) {
    return declared_by(spec).crossbars();
}

std::vector<Metric> metrics_of(const MachineSpec& spec, const RunResult& result) {
    const MachineFacts machine = facts(spec);
    Metrics metrics([&](std::string_view name) { return result.stat(name); }, [&](std::string_view name) { return result.highest(name); },
                    [&](std::string_view name) { return result.has_stat(name); }, machine, result.cycles);
    for (const auto& section : spec.sections.list()) {
        if (section->enabled()) section->metrics(metrics);
    }
    return metrics.list();
}

}  // namespace mergelane
