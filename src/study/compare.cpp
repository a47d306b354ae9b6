// SPDX-License-Identifier: MIT
#include "study/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "config/config.hpp"
#include "core/text.hpp"
#include "costing/energy_of_run.hpp"

namespace mergelane::study {

std::string ComparedMachine::label() const {
    return overrides.empty() ? gpu : fmt::format("{} with {}", gpu, fmt::join(overrides, ", "));
}

CompareStudy::CompareStudy(std::vector<ComparedMachine> machines, std::vector<ComparedWorkload> workloads, std::string size,
                           std::uint64_t seed, const Registry& registry, std::string sample)
    : machines_(std::move(machines)),
      workloads_(std::move(workloads)),
      size_(std::move(size)),
      sample_(std::move(sample)),
      registry_(registry),
      plan_(registry) {
    for (ComparedMachine& m : machines_) {
        const std::size_t number = runs_.size();
        m.name = number < 26 ? std::string(1, static_cast<char>('A' + number)) : fmt::format("M{}", number + 1);
        const MachineSpec spec = load_config(m.gpu, m.overrides, default_preset_dirs(), registry).spec;
        m.core_mhz = spec.gpu.core_mhz;
        m.dram_peak = double{1} * spec.dram.channels * spec.dram.bus_bytes * spec.gpu.dram_mhz;
        m.validated = spec.validated;
        runs_.emplace_back();
        for (const ComparedWorkload& workload : workloads_)
            runs_.back().push_back(plan_.add({m.gpu, m.overrides, workload.program, size_, seed, "", sample_}));
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

/// Half-width of a sum of statistics, as if all were off in the same direction.
double half_width_of(const RunRecord& r, std::initializer_list<const char*> names) {
    double sum = 0;
    for (const char* name : names) {
        const std::optional<double> one = r.half_width(name);
        if (!one) return kMissing;
        sum += *one;
    }
    return sum;
}

/// Of ratios of machine `m` to the first one, as if their errors were independent. Runs with the same seed draw alike as far as their
/// strata are the same, which makes their errors alike and these widths too large.
Series ratio_half_widths(const ComparedQuantity& q, std::size_t m) {
    Series widths{q.ratios[m].label, {}};
    for (std::size_t w = 0; w < q.values[m].values.size(); ++w) {
        const auto relative = [&](std::size_t machine) { return q.half_widths[machine].at(w) / q.values[machine].at(w); };
        widths.values.push_back(m == 0 ? 0 : q.ratios[m].at(w) * std::hypot(relative(0), relative(m)));
    }
    return widths;
}

double unknown(const RunRecord&, const ComparedMachine&) {
    return kMissing;
}

double dram_bytes(const RunRecord& r) {
    return kSectorBytes * static_cast<double>(r.stat("dram.sector_reads") + r.stat("dram.sector_writes"));
}

}  // namespace

std::vector<Series> CompareStudy::measured(const StoreContents& contents, const Value& value) const {
    std::vector<Series> list;
    for (std::size_t m = 0; m < machines_.size(); ++m) {
        list.push_back({machines_[m].name, {}});
        for (const std::size_t run : runs_[m]) {
            const RunRecord* record = contents.finished(plan_.run(run).key);
            list.back().values.push_back(record == nullptr ? kMissing : value(*record, machines_[m]));
        }
    }
    return list;
}

Comparison CompareStudy::compare(const StoreContents& contents, const std::vector<std::string>& energy_tables) const {
    Comparison comparison{machines_, size_, names_of(workloads_, &ComparedWorkload::label), {}, {}};
    const auto add = [&](const std::string& name, const std::string& unit, const Value& value, int digits = -1, bool compared = true,
                         const Value& half_width = {}) {
        ComparedQuantity q{name, unit, measured(contents, value), {}, digits, compared};
        if (!sample_.empty()) q.half_widths = measured(contents, half_width ? half_width : unknown);
        comparison.quantities.push_back(std::move(q));
        add_ratios(comparison.quantities.back());
    };
    const auto add_counter = [&](const std::string& name, const std::string& unit, const char* stat) {
        const auto value = [stat](const RunRecord& r, const ComparedMachine&) { return static_cast<double>(r.stat(stat)); };
        const auto width = [stat](const RunRecord& r, const ComparedMachine&) { return half_width_of(r, {stat}); };
        add(name, unit, value, -1, true, width);
    };
    const auto kernel_cycles = [](const RunRecord& r, const ComparedMachine&) {
        const std::optional<std::uint64_t> cycles = r.kernel_cycles();
        return cycles ? static_cast<double>(*cycles) : kMissing;
    };
    const auto kernel_width = [](const RunRecord& r, const ComparedMachine&) { return half_width_of(r, {"sample.kernel_cycles"}); };
    add(
        "kernel time", "us", [&](const RunRecord& r, const ComparedMachine& m) { return kernel_cycles(r, m) / m.core_mhz; }, 2, true,
        [&](const RunRecord& r, const ComparedMachine& m) { return kernel_width(r, m) / m.core_mhz; });
    add(
        "launch overhead", "us",
        [&](const RunRecord& r, const ComparedMachine& m) { return (static_cast<double>(r.cycles) - kernel_cycles(r, m)) / m.core_mhz; }, 2,
        false);
    add("kernel cycles", "core cycles", kernel_cycles, 0, false, kernel_width);
    add("load latency", "ns", load_latency, 1);
    add("L1 load hit rate", "%", l1_hit_rate, 1, false);
    add("L2 hit rate", "%", l2_hit_rate, 1, false);
    add(
        "DRAM traffic", "MB", [](const RunRecord& r, const ComparedMachine&) { return dram_bytes(r) / 1e6; }, 3, true,
        [](const RunRecord& r, const ComparedMachine&) {
            return kSectorBytes * half_width_of(r, {"dram.sector_reads", "dram.sector_writes"}) / 1e6;
        });
    add(
        "DRAM bandwidth", "% of peak",
        [&](const RunRecord& r, const ComparedMachine& m) {
            return 100 * dram_bytes(r) / (kernel_cycles(r, m) / m.core_mhz) / m.dram_peak;
        },
        1, false);
    add_counter("NoC reads", "packets", "noc.request.read_packets");
    add_counter("L2 accesses", "sectors", "l2.sector_accesses");
    for (const std::string& table : energy_tables) {
        const EnergyData data = load_energy_table(table, default_energy_dirs());
        add("energy, " + data.table.name, "J", [&](const RunRecord& r, const ComparedMachine& m) {
            const LoadedConfig machine = load_config(m.gpu, m.overrides, default_preset_dirs(), registry_);
            return energy_of_run(machine.spec, data, r.counted(), r.cycles).joules;
        });
    }
    add_notes(comparison);
    if (!energy_tables.empty()) comparison.notes.push_back("energy covers the full run, including launch overhead");
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const PlannedRun run = plan_.run(i);
        const auto at = contents.runs.find(run.key);
        if (at != contents.runs.end() && !at->second.done)
            comparison.failures.push_back(fmt::format("{} on {}: {}", run.spec.workload, run.spec.gpu, at->second.message));
    }
    return comparison;
}

void CompareStudy::add_ratios(ComparedQuantity& q) const {
    for (std::size_t m = 0; m < machines_.size(); ++m) {
        q.ratios.push_back(q.values[m] / q.values.front());
        q.ratios.back().label = fmt::format("{}/{}", machines_[m].name, machines_.front().name);
        if (!sample_.empty()) q.ratio_half_widths.push_back(ratio_half_widths(q, m));
    }
}

void CompareStudy::add_notes(Comparison& comparison) const {
    std::vector<std::string> clocks;
    for (const ComparedMachine& m : machines_) clocks.push_back(fmt::format("{} {} MHz", m.name, m.core_mhz));
    const auto same = [&](const ComparedMachine& m) { return m.core_mhz == machines_.front().core_mhz; };
    if (!std::all_of(machines_.begin(), machines_.end(), same))
        comparison.notes.push_back(fmt::format("core clocks differ ({}): compare time, not cycles", fmt::join(clocks, ", ")));
    comparison.sample = sample_;
    if (!sample_.empty())
        comparison.notes.push_back(fmt::format(
            "sampled ({}): values are estimates, +- half-widths of 95 % intervals where they are known; those of ratios treat the runs as "
            "independent, which is conservative for runs that draw the same launches",
            sample_));
}

}  // namespace mergelane::study
