// SPDX-License-Identifier: MIT
#include "study/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/config.hpp"
#include "core/text.hpp"
#include "costing/energy_of_run.hpp"

namespace mergelane::study {

std::string ComparedMachine::label() const {
    return overrides.empty() ? gpu : fmt::format("{} with {}", gpu, fmt::join(overrides, ", "));
}

CompareStudy::CompareStudy(std::vector<ComparedMachine> machines, std::vector<ComparedWorkload> workloads, std::string size,
                           std::uint64_t seed, const Registry& registry)
    : machines_(std::move(machines)), workloads_(std::move(workloads)), size_(std::move(size)), registry_(registry), plan_(registry) {
    for (ComparedMachine& m : machines_) {
        const std::size_t number = runs_.size();
        m.name = number < 26 ? std::string(1, static_cast<char>('A' + number)) : fmt::format("M{}", number + 1);
        const MachineSpec spec = load_config(m.gpu, m.overrides, default_preset_dirs(), registry).spec;
        m.core_mhz = spec.gpu.core_mhz;
        m.dram_peak = double{1} * spec.dram.channels * spec.dram.bus_bytes * spec.gpu.dram_mhz;
        m.validated = spec.validated;
        runs_.emplace_back();
        for (const ComparedWorkload& workload : workloads_)
            runs_.back().push_back(plan_.add({m.gpu, m.overrides, workload.program, size_, seed}));
    }
}

namespace {

double load_latency(const RunRecord& r, const ComparedMachine& m) {
    const auto loads = static_cast<double>(r.stat("sm.loads"));
    return loads == 0 ? kMissing : 1000 * static_cast<double>(r.stat("sm.load_latency")) / loads / m.core_mhz;
}

double l1_hit_rate(const RunRecord& r, const ComparedMachine&) {
    if (!r.has_stat("l1.sector_hits")) return kMissing;
    const double loads = static_cast<double>(r.stat("l1.sector_accesses")) - static_cast<double>(r.stat("l1.sector_write_accesses"));
    return loads == 0 ? kMissing : 100 * static_cast<double>(r.stat("l1.sector_hits")) / loads;
}

double l2_hit_rate(const RunRecord& r, const ComparedMachine&) {
    const auto accesses = static_cast<double>(r.stat("l2.sector_accesses"));
    return accesses == 0 ? kMissing : 100 * static_cast<double>(r.stat("l2.sector_hits")) / accesses;
}

double dram_bytes(const RunRecord& r) {
    return kSectorBytes * static_cast<double>(r.stat("dram.sector_reads") + r.stat("dram.sector_writes"));
}

}  // namespace

Comparison CompareStudy::compare(const StoreContents& contents, const std::vector<std::string>& energy_tables) const {
    Comparison comparison{machines_, size_, names_of(workloads_, &ComparedWorkload::label), {}, {}};
    const auto add = [&](const std::string& name, const std::string& unit, const auto& value, int digits = -1, bool compared = true) {
        ComparedQuantity q{name, unit, {}, {}, digits, compared};
        for (std::size_t m = 0; m < machines_.size(); ++m) {
            q.values.push_back({machines_[m].name, {}});
            for (const std::size_t run : runs_[m]) {
                const RunRecord* record = contents.finished(plan_.run(run).key);
                q.values.back().values.push_back(record == nullptr ? kMissing : value(*record, machines_[m]));
            }
            q.ratios.push_back(q.values.back() / q.values.front());
            q.ratios.back().label = fmt::format("{}/{}", machines_[m].name, machines_.front().name);
        }
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
    add("load latency", "ns", load_latency, 1);
    add("L1 load hit rate", "%", l1_hit_rate, 1, false);
    add("L2 hit rate", "%", l2_hit_rate, 1, false);
    add(
        "DRAM traffic", "MB", [](const RunRecord& r, const ComparedMachine&) { return dram_bytes(r) / 1e6; }, 3);
    add(
        "DRAM bandwidth", "% of peak",
        [&](const RunRecord& r, const ComparedMachine& m) {
            return 100 * dram_bytes(r) / (kernel_cycles(r, m) / m.core_mhz) / m.dram_peak;
        },
        1, false);
    add("NoC reads", "packets", counter("noc.request.read_packets"));
    add("L2 accesses", "sectors", counter("l2.sector_accesses"));
    for (const std::string& table : energy_tables) {
        const EnergyData data = load_energy_table(table, default_energy_dirs());
        add("energy, " + data.table.name, "J", [&](const RunRecord& r, const ComparedMachine& m) {
            const LoadedConfig machine = load_config(m.gpu, m.overrides, default_preset_dirs(), registry_);
            return energy_of_run(machine.spec, data, r.counted(), r.cycles).joules;
        });
    }
    note_clocks(comparison);
    if (!energy_tables.empty()) comparison.notes.push_back("energy covers the full run, including launch overhead");
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const PlannedRun run = plan_.run(i);
        const auto at = contents.runs.find(run.key);
        if (at != contents.runs.end() && !at->second.done)
            comparison.failures.push_back(fmt::format("{} on {}: {}", run.spec.workload, run.spec.gpu, at->second.message));
    }
    return comparison;
}

void CompareStudy::note_clocks(Comparison& comparison) const {
    std::vector<std::string> clocks;
    for (const ComparedMachine& m : machines_) clocks.push_back(fmt::format("{} {} MHz", m.name, m.core_mhz));
    const auto same = [&](const ComparedMachine& m) { return m.core_mhz == machines_.front().core_mhz; };
    if (!std::all_of(machines_.begin(), machines_.end(), same))
        comparison.notes.push_back(fmt::format("core clocks differ ({}): compare time, not cycles", fmt::join(clocks, ", ")));
}

}  // namespace mergelane::study
