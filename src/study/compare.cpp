// SPDX-License-Identifier: MIT
#include "study/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runs/energy_of_record.hpp"

namespace mergelane::study {

std::string ComparedMachine::label() const {
    return overrides.empty() ? gpu : fmt::format("{} with {}", gpu, fmt::join(overrides, ", "));
}

CompareStudy::CompareStudy(ComparedMachine a, ComparedMachine b, std::vector<std::string> workloads, std::string size, std::uint64_t seed,
                           const Registry& registry)
    : a_(std::move(a)), b_(std::move(b)), workloads_(std::move(workloads)), size_(std::move(size)), registry_(registry), plan_(registry) {
    for (const std::string& workload : workloads_) {
        runs_a_.push_back(plan_.add({a_.gpu, a_.overrides, workload, size_, seed}));
        runs_b_.push_back(plan_.add({b_.gpu, b_.overrides, workload, size_, seed}));
    }
}

Comparison CompareStudy::compare(const StoreContents& contents, const std::vector<std::string>& energy_tables) const {
    Comparison comparison{a_, b_, size_, workloads_, {}, {}};
    const auto add = [&](const std::string& name, const std::string& unit, const auto& value) {
        ComparedQuantity q{name, unit, {"A", {}}, {"B", {}}, {"B/A", {}}};
        for (std::size_t w = 0; w < workloads_.size(); ++w) {
            const RunRecord* a = contents.finished(plan_.runs()[runs_a_[w]].key);
            const RunRecord* b = contents.finished(plan_.runs()[runs_b_[w]].key);
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
    add("cycles", "core cycles", [](const RunRecord& r, const ComparedMachine&) { return static_cast<double>(r.cycles); });
    add("NoC reads", "packets", counter("noc.request.read_packets"));
    add("L2 accesses", "sectors", counter("l2.sector_accesses"));
    for (const std::string& table : energy_tables) {
        const EnergyData data = load_energy_table(table, default_energy_dirs());
        add("energy, " + data.table.name, "J",
            [&](const RunRecord& r, const ComparedMachine& m) { return energy_of_record(r, m.gpu, m.overrides, data, registry_).joules; });
    }
    for (const PlannedRun& run : plan_.runs()) {
        const auto at = contents.runs.find(run.key);
        if (at != contents.runs.end() && !at->second.done)
            comparison.failures.push_back(fmt::format("{} on {}: {}", run.spec.workload, run.spec.gpu, at->second.message));
    }
    return comparison;
}

}  // namespace mergelane::study
