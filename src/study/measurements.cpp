// SPDX-License-Identifier: MIT
#include "study/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/config.hpp"
#include "config/published_costs.hpp"
#include "core/error.hpp"
#include "costing/energy_of_run.hpp"
#include "dispatch/cta_scheduler.hpp"
#include "files/toml_text.hpp"
#include "runs/plan.hpp"
#include "sim/machine.hpp"

namespace mergelane::study {

std::vector<double> Measurements::each(const Configuration& configuration, const Quantity& value) const {
    std::vector<double> values;
    for (const StudyWorkload& workload : study_.workloads) {
        const RunRecord* record = find(configuration, workload);
        values.push_back(record == nullptr ? kMissing : value(*record, workload));
    }
    return values;
}

std::vector<double> Measurements::ipc(const Configuration& configuration) const {
    return each(configuration, [](const RunRecord& r, const StudyWorkload&) {
        return static_cast<double>(r.warp_instructions) / static_cast<double>(std::max<std::uint64_t>(1, r.cycles));
    });
}

std::vector<double> Measurements::cycles(const Configuration& configuration) const {
    return each(configuration, [](const RunRecord& r, const StudyWorkload&) { return static_cast<double>(r.cycles); });
}

std::vector<double> Measurements::host_seconds(const Configuration& configuration) const {
    return each(configuration, [](const RunRecord& r, const StudyWorkload&) { return r.seconds; });
}

std::vector<double> Measurements::kernel_cycles(const Configuration& configuration, std::size_t number) const {
    return each(configuration, [number](const RunRecord& r, const StudyWorkload&) {
        return number == 0 || number > r.kernels.size() ? kMissing : static_cast<double>(r.kernels[number - 1].cycles);
    });
}

std::vector<double> Measurements::stat(const Configuration& configuration, const std::string& name) const {
    if (sources_.check_statistic) sources_.check_statistic(configuration, name);
    return each(configuration, [&](const RunRecord& r, const StudyWorkload&) { return static_cast<double>(r.stat(name)); });
}

std::vector<double> Measurements::highest(const Configuration& configuration, const std::string& name) const {
    if (sources_.check_statistic) sources_.check_statistic(configuration, name);
    return each(configuration, [&](const RunRecord& r, const StudyWorkload&) {
        const auto at = r.highest.find(name);
        return at == r.highest.end() ? kMissing : static_cast<double>(at->second);
    });
}

const EnergyData* Measurements::energy_data(const std::string& table) const {
    std::shared_ptr<const EnergyData>& data = tables_[table];
    if (data == nullptr && sources_.energy) data = sources_.energy(table);
    return data.get();
}

namespace {

/// The machine as the study has it: a record may come from a file that has changed since, with the same values then.
MachineSpec spec_of(const StudySpec& study, const Configuration& configuration, const StudyWorkload* workload = nullptr) {
    return load_config(study.machine_of(configuration),
                       workload == nullptr ? configuration.overrides : overrides_of(configuration, *workload), default_preset_dirs(),
                       *study.registry)
        .spec;
}

/// Sums up `value` of everything whose name ends with `ending`. Throws InputError when nothing does.
template <typename List, typename Name, typename Value>
double sum_of(const List& list, std::string_view what, const std::string& ending, Name&& name, Value&& value) {
    std::vector<std::string> names;
    double sum = 0;
    bool found = false;
    for (const auto& item : list) {
        names.push_back(name(item));
        if (!names.back().ends_with(ending)) continue;
        found = true;
        sum += value(item);
    }
    if (!found) throw InputError("has " + unknown_name(what, ending, names));
    return sum;
}

/// The storage that one structure of a mechanism takes on the machine of its paper.
double storage(const std::string& mechanism, const std::string& structure, const std::string& what, const Registry& registry) {
    const auto named = [](const auto& list, const std::string& name, auto member, const char* kind) {
        const auto found = std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.*member == name; });
        if (found == list.end()) throw InputError("has " + unknown_name(kind, name, names_of(list, member)));
        return *found;
    };
    const Publication paper = named(publications(registry), mechanism, &Publication::mechanism, "mechanism");
    const Structure found = named(structures_of(paper, default_preset_dirs(), registry), structure, &Structure::name, "structure");
    if (what == "entries") return static_cast<double>(found.entries);
    if (what == "entry_bits") return static_cast<double>(found.entry_bits());
    if (what == "bits") return static_cast<double>(found.bits());
    if (what == "bytes") return static_cast<double>(found.bytes());
    throw InputError("has " + unknown_name("kind of storage", what, {"entries", "entry_bits", "bits", "bytes"}));
}

/// What the machine of each configuration counts; machines are built when they are asked about.
class CountedNames {
public:
    explicit CountedNames(const StudySpec& study) : study_(study) {}

    void check(const Configuration& configuration, const std::string& statistic) {
        if (of(configuration).contains(statistic)) return;
        std::set<std::string> all;
        for (const Configuration& other : study_.configurations) {
            const std::set<std::string>& counted = of(other);
            if (counted.contains(statistic))
                throw InputError(fmt::format(
                    "uses '{}' of configuration '{}', in which the mechanism that counts it is disabled; configuration '{}' counts it",
                    statistic, configuration.name, other.name));
            all.insert(counted.begin(), counted.end());
        }
        throw InputError(fmt::format("has {} (of configuration '{}')", unknown_name("statistic", statistic, {all.begin(), all.end()}),
                                     configuration.name));
    }

private:
    const std::set<std::string>& of(const Configuration& configuration) {
        const auto [at, is_new] = names_.try_emplace(configuration.name);
        if (is_new && study_.machine_of(configuration) == kNoMachine) {
            at->second.insert(std::begin(kProfileCounts), std::end(kProfileCounts));
        } else if (is_new) {
            const Machine built(spec_of(study_, configuration));
            StatFields fields;
            for (const Wiring::Part& part : built.parts()) part.component->stats(fields, 0);
            for (const StatField& field : fields.list()) at->second.insert(fmt::format("{}.{}", field.group, field.name));
        }
        return at->second;
    }

    const StudySpec& study_;
    std::map<std::string, std::set<std::string>> names_;  ///< by configuration
};

}  // namespace

std::vector<double> Measurements::energy(const Configuration& configuration, const std::string& table, const std::string& component) const {
    std::vector<std::string> known = {"sm", "l1", "cluster", "noc", "l2", "dram", "static", "total", "edp"};
    const bool whole = std::find(known.begin(), known.end(), component) != known.end();
    const EnergyData* data = energy_data(table);
    if (data == nullptr) return std::vector<double>(study_.workloads.size(), kMissing);
    if (!whole) {  // before anything has run
        for (const EnergyPrice& price : prices_of(spec_of(study_, configuration), *data).list) known.push_back(price.name);
        if (std::none_of(known.begin(), known.end(), [&](const std::string& name) { return name.ends_with(component); }))
            throw InputError("has " + unknown_name("component", component, known));
    }
    return each(configuration, [&](const RunRecord& record, const StudyWorkload& workload) {
        const auto [report, is_first] = reports_.try_emplace(fmt::format("{}\n{}", table, record.key));
        if (is_first) report->second = energy_of_run(spec_of(study_, configuration, &workload), *data, record.counted(), record.cycles);
        if (component == "total") return report->second.joules;
        if (component == "edp") return report->second.joule_seconds;
        if (!whole)
            return sum_of(
                report->second.items, "price", component, [](const EnergyItem& item) { return item.name; },
                [](const EnergyItem& item) { return static_cast<double>(item.fj) * 1e-15; });
        double value = 0;
        for (const auto& [part, fj] : report->second.components) {
            if (part == component) value = static_cast<double>(fj) * 1e-15;
        }
        return value;
    });
}

double Measurements::area(const Configuration& configuration, const std::string& table, const std::string& structure) const {
    const EnergyData* data = energy_data(table);
    if (data == nullptr) return kMissing;
    return sum_of(
        prices_of(spec_of(study_, configuration), *data).areas_mm2, "structure", structure, [](const auto& area) { return area.first; },
        [](const auto& area) { return area.second; });
}

double Measurements::power(const Configuration& configuration, const std::string& table, const std::string& name) const {
    const EnergyData* data = energy_data(table);
    if (data == nullptr) return kMissing;
    EnergyPrices prices = prices_of(spec_of(study_, configuration), *data);
    std::erase_if(prices.list, [](const EnergyPrice& price) { return price.component != "static"; });
    return sum_of(
        prices.list, "price", name, [](const EnergyPrice& price) { return price.name; },
        [&](const EnergyPrice& price) { return static_cast<double>(price.fj) * prices.core_mhz * 1e-9; });
}

double Measurements::crossbars(const Configuration& configuration, const std::string& network) const {
    return sum_of(
        energy_shape(spec_of(study_, configuration)).networks, "network", network, [](const CrossbarSet& set) { return set.name; },
        [](const CrossbarSet& set) { return static_cast<double>(set.instances); });
}

double Measurements::revisit(const Configuration& configuration, const std::string& what, std::uint32_t turnarounds,
                             std::uint32_t divisions) const {
    const std::vector<std::string> known = {"latency", "slow", "transactions"};
    if (std::find(known.begin(), known.end(), what) == known.end()) throw InputError("has " + unknown_name("measurement", what, known));
    const auto [found, is_first] = revisits_.try_emplace(fmt::format("{}\n{} {}", configuration.name, turnarounds, divisions));
    if (is_first) found->second = study::revisit(spec_of(study_, configuration), turnarounds, divisions);
    if (what == known[0]) return found->second.latency;
    return what == known[1] ? found->second.slow : found->second.transactions;
}

double Measurements::mapping_failures(const std::string& kind) const {
    const auto [found, is_first] = mapping_failures_.try_emplace(kind);
    return is_first ? found->second = study::mapping_failures(kind) : found->second;
}

const Measure* StudyScope::measure(std::string_view name) const {
    for (const std::vector<Measure>* measures : {&experiment_.measures, &study_.measures}) {
        const auto at = std::find_if(measures->begin(), measures->end(), [&](const Measure& m) { return m.name == name; });
        if (at != measures->end()) return &*at;
    }
    return nullptr;
}

std::vector<std::string> StudyScope::names() const {
    std::vector<std::string> all = names_of(experiment_.measures, &Measure::name);
    for (const Measure& m : study_.measures) all.push_back(m.name);
    for (const auto& [name, values] : study_.lists) all.push_back(name);
    for (const FunctionInfo& function : functions()) all.emplace_back(function.name);
    return all;
}

const Configuration& StudyScope::known(const std::string& name) const {
    if (const Configuration* found = study_.find(name)) return *found;
    throw InputError("has " + unknown_name("configuration", name, study_.configuration_names()));
}

const Configuration& StudyScope::configuration(const std::string& name) const {
    const Configuration& found = known(name);
    const auto& run = experiment_.configurations;
    if (std::find(run.begin(), run.end(), name) == run.end())
        throw InputError(fmt::format("uses configuration '{}', which the experiment does not run; add it to 'configurations'", name));
    return found;
}

std::size_t StudyScope::workload(const std::string& name) const {
    const std::vector<std::string> known = study_.workload_names();
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) throw InputError("has " + unknown_name("workload", name, known));
    return static_cast<std::size_t>(at - known.begin());
}

/// One call of a function, and its arguments with their types checked.
struct StudyScope::Call {
    const StudyScope& scope;
    const FunctionInfo& function;
    std::span<const Value> arguments;

    const Measurements& measured() const { return scope.measurements_; }
    const std::string& text(std::size_t i) const {
        if (const std::string* text = std::get_if<std::string>(&arguments[i])) return *text;
        throw InputError(fmt::format("passes {} a number where a text is expected; write {}", function.name, function.usage));
    }
    /// The first argument: a configuration that the experiment runs, or any of the study.
    const Configuration& run() const { return scope.configuration(text(0)); }
    const Configuration& machine() const { return scope.known(text(0)); }
    Series series() const {
        if (const auto* values = std::get_if<std::vector<double>>(&arguments[0])) return {"", *values};
        throw InputError(fmt::format("passes {} something that is not one value per workload; write {}", function.name, function.usage));
    }
    std::uint32_t whole(std::size_t i, std::uint32_t least, std::uint32_t most) const {
        const double* number = std::get_if<double>(&arguments[i]);
        if (number == nullptr || !(*number >= least && *number <= most) || *number != std::floor(*number))
            throw InputError(fmt::format("does not pass {}() an integer from {} to {} as argument {}; write {}", function.name, least, most,
                                         i + 1, function.usage));
        return static_cast<std::uint32_t>(*number);
    }
    Value lowest() const {
        const std::vector<double> values = series().values;
        const bool known = !values.empty() && std::none_of(values.begin(), values.end(), is_missing);
        return known
                   ? scope.study_.workloads[static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin())].name
                   : "-";
    }
    Value placement() const {
        constexpr std::uint32_t kMost[] = {0, 64, 64, 64, 1000, 1000};
        std::uint32_t size[6] = {};
        for (std::size_t i = 1; i < 6; ++i) size[i] = whole(i, i == 5 ? 0 : 1, kMost[i]);
        if (size[1] * size[2] > 256) throw InputError("calls placed() with more than 256 SMs; use fewer");
        const std::vector<std::string_view> names = cta_scheduler_names();
        if (std::find(names.begin(), names.end(), text(0)) == names.end())
            throw InputError("has " + unknown_name("CTA scheduler", text(0), {names.begin(), names.end()}));
        return placed(text(0), {size[1], size[2], size[3], size[4]}, size[5]);
    }
};

struct StudyScope::Function : FunctionInfo {
    Value (*value)(const Call&);
};

std::span<const StudyScope::Function> StudyScope::table() {
    static constexpr Function kTable[] = {
        {{"ipc", 1, 1, "ipc('CONFIGURATION')", "instructions per cycle of each workload"},
         [](const Call& c) -> Value { return c.measured().ipc(c.run()); }},
        {{"cycles", 1, 1, "cycles('CONFIGURATION')", "cycles of each workload"},
         [](const Call& c) -> Value { return c.measured().cycles(c.run()); }},
        {{"host_seconds", 1, 1, "host_seconds('CONFIGURATION')", "CPU seconds that the simulation of each workload took"},
         [](const Call& c) -> Value { return c.measured().host_seconds(c.run()); }},
        {{"kernel_cycles", 2, 2, "kernel_cycles('CONFIGURATION', number)", "cycles of the n'th kernel of each workload"},
         [](const Call& c) -> Value { return c.measured().kernel_cycles(c.run(), c.whole(1, 1, 1'000'000)); }},
        {{"stat", 2, 2, "stat('CONFIGURATION', 'STATISTIC')", "a statistic of each workload's run"},
         [](const Call& c) -> Value { return c.measured().stat(c.run(), c.text(1)); }},
        {{"highest", 2, 2, "highest('CONFIGURATION', 'STATISTIC')", "maximum of a statistic over components"},
         [](const Call& c) -> Value { return c.measured().highest(c.run(), c.text(1)); }},
        {{"energy", 3, 3, "energy('CONFIGURATION', 'TABLE', 'COMPONENT')", "energy of each workload's run, in joules"},
         [](const Call& c) -> Value { return c.measured().energy(c.run(), c.text(1), c.text(2)); }},
        {{"area", 3, 3, "area('CONFIGURATION', 'TABLE', 'STRUCTURE')", "area of a machine's structures, in square millimetres"},
         [](const Call& c) -> Value { return c.measured().area(c.machine(), c.text(1), c.text(2)); }},
        {{"power", 3, 3, "power('CONFIGURATION', 'TABLE', 'NAME')", "static power of a machine, in watts"},
         [](const Call& c) -> Value { return c.measured().power(c.machine(), c.text(1), c.text(2)); }},
        {{"crossbars", 2, 2, "crossbars('CONFIGURATION', 'NETWORK')", "number of crossbars or routers of a network"},
         [](const Call& c) -> Value { return c.measured().crossbars(c.machine(), c.text(1)); }},
        {{"at", 2, 2, "at(values, 'WORKLOAD')", "the value of one workload"},
         [](const Call& c) -> Value { return c.series().at(c.scope.workload(c.text(1))); }},
        {{"lowest_of", 1, 1, "lowest_of(values)", "name of the workload with the smallest value, the first of them"},
         [](const Call& c) -> Value { return c.lowest(); }},
        {{"rank", 2, 2, "rank(values, 'WORKLOAD')", "rank of a workload; 1 is the largest value"},
         [](const Call& c) -> Value { return c.series().rank(c.scope.workload(c.text(1))); }},
        {{"published", 1, 1, "published('ID')", "a published number; a decrease is negative"},
         [](const Call& c) -> Value { return c.scope.published_.change(c.text(0)); }},
        {{"workloads", 0, 0, "workloads", "number of workloads"},
         [](const Call& c) -> Value { return static_cast<double>(c.scope.study_.workloads.size()); }},
        {{"top_third", 0, 0, "top_third", "a third of the workloads, rounded up"},
         [](const Call& c) -> Value { return static_cast<double>(top_third(c.scope.study_.workloads.size())); }},
        {{"storage", 3, 3, "storage('MECHANISM', 'STRUCTURE', 'bits')", "storage of a mechanism's structure"},
         [](const Call& c) -> Value { return storage(c.text(0), c.text(1), c.text(2), *c.scope.study_.registry); }},
        {{"placed", 6, 6, "placed('SCHEDULER', clusters, sms, contexts, ctas, ended)", "CTAs that each SM of a small machine receives"},
         [](const Call& c) -> Value { return c.placement(); }},
        {{"mapping_failures", 1, 1, "mapping_failures('KIND')", "number of sizes for which a partition of CTAs is incorrect"},
         [](const Call& c) -> Value { return c.measured().mapping_failures(c.text(0)); }},
        {{"revisit", 4, 4, "revisit('CONFIGURATION', 'latency', turnarounds, divisions)",
          "loads of a line that the CTAs of an SM access in turn"},
         [](const Call& c) -> Value { return c.measured().revisit(c.machine(), c.text(1), c.whole(2, 1, 16), c.whole(3, 0, 100)); }},
    };
    return kTable;
}

const FunctionInfo* StudyScope::function(std::string_view name) const {
    const auto at = std::find_if(table().begin(), table().end(), [&](const Function& f) { return f.name == name; });
    return at == table().end() ? nullptr : &*at;
}

Value StudyScope::call(const FunctionInfo& function, std::span<const Value> arguments) const {
    return static_cast<const Function&>(function).value({*this, function, arguments});
}

std::vector<FunctionInfo> StudyScope::functions() {
    return {table().begin(), table().end()};
}

Sources installed_sources(const StudySpec& study) {
    Sources sources;
    sources.energy = [](const std::string& table) {
        return std::make_shared<const EnergyData>(load_energy_table(table, default_energy_dirs()));
    };
    const auto names = std::make_shared<CountedNames>(study);
    sources.check_statistic = [names](const Configuration& configuration, const std::string& statistic) {
        names->check(configuration, statistic);
    };
    return sources;
}

}  // namespace mergelane::study
