// SPDX-License-Identifier: MIT
#include "study/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.hpp"
#include "costing/energy_of_run.hpp"

namespace mergelane::study {

std::string ComparedMachine::label() const {
    return overrides.empty() ? gpu : fmt::format("{} with {}", gpu, fmt::join(overrides, ", "));
}

CompareStudy::CompareStudy(ComparedMachine a, ComparedMachine b, std::vector<std::string> workloads, std::string size, std::uint64_t seed,
                           const Registry& registry)
    : a_(std::move(a)), b_(std::move(b)), workloads_(std::move(workloads)), size_(std::move(size)), registry_(registry), plan_(registry) {
    for (ComparedMachine* m : {&a_, &b_})
        m->core_mhz = load_config(m->gpu, m->overrides, default_preset_dirs(), registry).spec.gpu.core_mhz;
    for (const std::string& workload : workloads_) {
        runs_a_.push_back(plan_.add({a_.gpu, a_.overrides, workload, size_, seed}));
        runs_b_.push_back(plan_.add({b_.gpu, b_.overrides, workload, size_, seed}));
    }
}

Comparison CompareStudy::compare(const StoreContents& contents, const std::vector<std::string>& energy_tables) const {
    Comparison comparison{a_, b_, size_, workloads_, {}, {}};
    const auto add = [&](const std::string& name, const std::string& unit, const auto& value, int digits = -1, bool compared = true) {
        ComparedQuantity q{name, unit, {"A", {}}, {"B", {}}, {"B/A", {}}, digits, compared};
        for (std::size_t w = 0; w < workloads_.size(); ++w) {
            const RunRecord* a = contents.finished(plan_.run(runs_a_[w]).key);
            const RunRecord* b = contents.finished(plan_.run(runs_b_[w]).key);
            q.a.values.push_back(a == nullptr ? kMissing : value(*a, a_));
            q.b.values.push_back(b == nullptr ? kMissing : value(*b, b_));
        }
        q.ratio = q.b / q.a;
        q.ratio.label = name;
        comparison.quantities.push_back(std::move(q));
    };
    const auto counter = [](const char* name) {
        return [name](const RunRecord& r, const ComparedMachine&) { return static_cast<double>(r.stat(name)); };
    };
    const auto kernel_cycles = [](const RunRecord& r, const ComparedMachine&) {
        const std::optional<std::uint64_t> cycles = r.kernel_cycles();
        return cycles ? static_cast<double>(*cycles) : kMissing;
    };
    add(
        "kernel time", "us", [&](const RunRecord& r, const ComparedMachine& m) { return kernel_cycles(r, m) / m.core_mhz; }, 2);
    add(
        "launch overhead", "us",
        [&](const RunRecord& r, const ComparedMachine& m) { return (static_cast<double>(r.cycles) - kernel_cycles(r, m)) / m.core_mhz; }, 2,
        false);
    add("kernel cycles", "core cycles", kernel_cycles, 0, false);
    add("NoC reads", "packets", counter("noc.request.read_packets"));
    add("L2 accesses", "sectors", counter("l2.sector_accesses"));
    for (const std::string& table : energy_tables) {
        const EnergyData data = load_energy_table(table, default_energy_dirs());
        add("energy, " + data.table.name, "J", [&](const RunRecord& r, const ComparedMachine& m) {
            const LoadedConfig machine = load_config(m.gpu, m.overrides, default_preset_dirs(), registry_);
            return energy_of_run(machine.spec, data, r.counted(), r.cycles).joules;
        });
    }
    if (a_.core_mhz != b_.core_mhz)
        comparison.notes.push_back(
            fmt::format("core clocks differ (A {} MHz, B {} MHz): compare time, not cycles", a_.core_mhz, b_.core_mhz));
    if (!energy_tables.empty()) comparison.notes.push_back("energy covers the full run, including launch overhead");
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const PlannedRun run = plan_.run(i);
        const auto at = contents.runs.find(run.key);
        if (at != contents.runs.end() && !at->second.done)
            comparison.failures.push_back(fmt::format("{} on {}: {}", run.spec.workload, run.spec.gpu, at->second.message));
    }
    return comparison;
}

}  // namespace mergelane::study
