// SPDX-License-Identifier: MIT
#include "sim/simulation.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <typeindex>
#include <unordered_map>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/model_version.hpp"
#include "sim/declared.hpp"

namespace mergelane {

namespace {

constexpr std::uint64_t kLookEvery = 256;  ///< windows between checks of watchdog and progress

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

EngineOptions engine_options(const Machine& machine, const RunOptions& options) {
    Time window = machine.window();
    if (options.window_cycles != 0) window = std::min(window, machine.timing().core.time_of(options.window_cycles));
    return {options.threads, window, options.sleep, options.measure_every};
}

/// An after_window callback requires all domains to synchronize after every window.
std::vector<Island> islands(Machine& machine, const RunOptions& options) {
    if (!options.after_window && !machine.keeps_logs()) return machine.islands();
    std::vector<Island> one(1);
    one.front().domains = machine.domains();
    return one;
}

bool is_called(std::string_view name, const StatField& field) {
    return name.size() == field.group.size() + 1 + field.name.size() && name.starts_with(field.group) && name.ends_with(field.name);
}

}  // namespace

std::string_view version() {
    return MERGELANE_VERSION;
}

std::string config_hash(const MachineSpec& spec) {
    MachineSpec copy = spec;
    std::vector<std::string> lines;
    for (const SpecField& field : copy.fields().list()) {
        if (field.active) lines.push_back(field.key + "=" + field.value() + "\n");
    }
    // Where a part lists its values is no property of the machine.
    std::sort(lines.begin(), lines.end());
    Hasher hasher;
    for (const std::string& line : lines) hasher.add(line);
    return hasher.hex();
}

Simulation::Simulation(const MachineSpec& spec, const RunOptions& options)
    : options_(options), machine_(spec), engine_(islands(machine_, options), engine_options(machine_, options)) {}

std::vector<StatValue> Simulation::totals() const {
    std::vector<StatValue> list;
    std::unordered_map<std::string, std::size_t> index;
    // Components of one type mostly have the same fields, so that the name need not be looked up.
    std::unordered_map<std::type_index, std::vector<std::size_t>> of_type;
    StatFields fields;
    std::string name;
    for (const Wiring::Part& part : machine_.parts()) {
        fields.clear();
        part.component->stats(fields, part.clock.first_at(engine_.time()));
        std::vector<std::size_t>& places = of_type[typeid(*part.component)];
        for (std::size_t i = 0; i < fields.list().size(); ++i) {
            const StatField& field = fields.list()[i];
            if (i >= places.size() || !is_called(list[places[i]].name, field)) {
                name.assign(field.group).append(".").append(field.name);
                const auto [at, is_new] = index.try_emplace(name, list.size());
                if (is_new) list.push_back({name, field.unit, field.meaning, 0, 0});
                places.resize(std::max(places.size(), i + 1));
                places[i] = at->second;
            }
            StatValue& stat = list[places[i]];
            stat.value += field.value;
            stat.highest = std::max(stat.highest, field.value);
        }
    }
    return list;
}

std::string Simulation::digest(const std::vector<KernelResult>& kernels) const {
    Hasher hasher;
    StatFields fields;
    for (const Wiring::Part& part : machine_.parts()) {
        fields.clear();
        part.component->stats(fields, part.clock.first_at(engine_.time()));
        hasher.add(part.component->name());
        for (const StatField& field : fields.list()) hasher.add(field.value);
    }
    for (const KernelResult& kernel : kernels) {
        hasher.add(kernel.start);
        hasher.add(kernel.cycles);
        for (const std::uint64_t value : kernel.values) hasher.add(value);
    }
    return hasher.hex();
}

void Simulation::check_livelock(Cycle now) {
    const std::uint64_t ctas = machine_.ctas_completed();
    if (ctas != watched_ctas_ || watched_since_ == 0) {
        watched_ctas_ = ctas;
        watched_instructions_ = machine_.warp_instructions();
        watched_since_ = now;
        return;
    }
    if (options_.watchdog_cycles == 0 || now - watched_since_ < options_.watchdog_cycles) return;
    throw SimulationError(
        fmt::format("livelock: {} warp instructions retired in the last {} cycles, but no CTA finished ({} of {} done at cycle {}).\n"
                    "  A warp probably waits for an event that never occurs (a flag, a lock, a CTA that cannot become resident).\n"
                    "  If the CTAs of this kernel run that long, raise --watchdog, or disable it with --watchdog 0.",
                    machine_.warp_instructions() - watched_instructions_, now - watched_since_, ctas, ctas_total_, now));
}

/// All domains have got as far as `time`.
bool Simulation::pass(Time) {
    machine_.merge_logs();
    return true;
}

bool Simulation::keep_going(Time time) {
    pass(time);
    if (options_.after_window) options_.after_window(machine_, time);
    if (options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed)) {
        stopped_ = "interrupted";
        return false;
    }
    if (time >= look_at_) {
        look_at_ = time + kLookEvery * machine_.window();
        const Cycle now = time / machine_.timing().core.period;
        check_livelock(now);
        if (options_.progress) options_.progress({kernel_, now, machine_.ctas_completed(), ctas_total_});
    }
    return !machine_.finished();
}

void Simulation::report_deadlock() const {
    throw SimulationError(
        fmt::format("deadlock at cycle {}: no component can make progress; {} of {} CTAs have finished. Wait chain:\n"
                    "{}  This is a bug in the model or in one of its mechanisms; please report it with the configuration.",
                    engine_.time() / machine_.timing().core.period, machine_.ctas_completed(), ctas_total_, machine_.wiring().who_waits()));
}

/// Simulates traffic in flight between kernels until `time`.
void Simulation::run_quietly_to(Time time) {
    engine_.run_until(time, [this](Time now) { return pass(now); });
    engine_.advance_to(time);
}

/// One kernel from its start until the next may start.
KernelResult Simulation::run_kernel(const KernelSource& kernel, Cycle start, Time limit, Cycle& next_start) {
    const MachineSpec& spec = machine_.spec();
    const Clock core = machine_.timing().core;
    const KernelInfo& info = kernel.info();
    machine_.launch(kernel, start);
    ctas_total_ = machine_.ctas_total();
    Engine::End end = Engine::End::stopped;
    if (!machine_.finished()) end = engine_.run_while_busy(limit, [this](Time now) { return keep_going(now); });
    if (end == Engine::End::idle) report_deadlock();
    if (end == Engine::End::limit && !machine_.finished()) stopped_ = "cycle limit";
    const Cycle finish = machine_.finished() ? machine_.last_cta_end() : engine_.time() / core.period;
    next_start = machine_.finished_at() + spec.dispatch.latency + spec.dispatch.launch_latency;
    machine_.end_kernel(finish);
    if (stopped_.empty()) run_quietly_to(core.time_of(next_start));

    std::vector<StatValue> after = totals();
    const Residency fit = residency(spec.sm, info);
    KernelResult record;
    record.name = info.name;
    record.ctas = info.ctas();
    record.ctas_per_sm = fit.ctas;
    record.limited_by = fit.limited_by;
    record.at_placement = kernel.executes_at_placement();
    record.start = start;
    record.cycles = finish - start;
    record.warp_instructions = statistic(after, "sm.warp_instructions") - statistic(before_, "sm.warp_instructions");
    for (std::size_t i = 0; i < after.size(); ++i) record.values.push_back(after[i].value - before_[i].value);
    before_ = after;
    if (options_.after_kernel) {
        for (std::size_t i = 0; i < after.size(); ++i) after[i].value = record.values[i];
        options_.after_kernel(record, after);
    }
    return record;
}

void Simulation::check_laws(const std::vector<StatValue>& stats) const {
    std::vector<std::string> broken;
    try {
        broken = broken_laws(machine_, stats, stopped_.empty());
    } catch (const std::logic_error& error) {
        throw SimulationError(fmt::format("the invariants cannot be evaluated, which is a bug in their definition: {}", error.what()));
    }
    if (broken.empty()) return;
    constexpr std::size_t kMost = 5;
    std::string text = fmt::format("an invariant is violated ({} in total); this is a bug in the model", broken.size());
    const std::string& edition = machine_.spec().registry->edition();
    text += edition.empty() ? "; please report it:" : fmt::format(" or in '{}':", edition);
    for (std::size_t i = 0; i < std::min(broken.size(), kMost); ++i) text += "\n  " + broken[i];
    throw SimulationError(text);
}

RunResult Simulation::run(Workload& workload) {
    const auto wall_start = std::chrono::steady_clock::now();
    const MachineSpec& spec = machine_.spec();
    const Clock core = machine_.timing().core;
    const Time limit = options_.max_cycles == 0 ? kEndOfTime : core.time_of(options_.max_cycles);

    RunResult result;
    before_ = totals();
    Cycle start = spec.dispatch.launch_latency;
    while (const KernelSource* kernel = workload.next_kernel()) {
        ++kernel_;
        watched_since_ = 0;
        // 1. Simulate up to the start; then run the kernel until its CTAs are done.
        run_quietly_to(std::min(core.time_of(start), limit));
        if (engine_.time() >= limit) {
            stopped_ = "cycle limit";
            break;
        }
        // 2. Its share of the counters is closed when the next one may start (or at the end).
        Cycle next_start = start;
        const KernelResult& record = result.kernels.emplace_back(run_kernel(*kernel, start, limit, next_start));
        result.cycles = record.start + record.cycles;
        start = next_start;
        if (!stopped_.empty()) break;
    }
    // 3. Drain traffic in flight to memory; then every invariant must hold.
    if (stopped_.empty()) engine_.run_until(kEndOfTime, [this](Time now) { return pass(now); });
    result.stats = totals();
    check_laws(result.stats);
    result.version = version();
    result.model = kModelVersion;
    result.edition = spec.registry->edition();
    result.config_hash = config_hash(spec);
    result.workload = workload.name();
    result.machine = facts(spec);
    result.partial = stopped_;
    result.warp_instructions = result.stat("sm.warp_instructions");
    result.metrics = metrics_of(spec, result);
    result.digest = digest(result.kernels);
    result.threads = options_.threads;
    result.window_cycles = static_cast<double>(engine_options(machine_, options_).window) / core.period;
    MachineSpec copy = spec;
    for (const SpecField& field : copy.fields().list()) result.config.emplace_back(field.key, field.value());
    result.cpu_seconds = cpu_seconds();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start).count();
    return result;
}

}  // namespace mergelane
