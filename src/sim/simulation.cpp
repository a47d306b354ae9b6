// SPDX-License-Identifier: MIT
#include "sim/simulation.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "core/error.hpp"
#include "sim/declared.hpp"

namespace mergelane {

namespace {

constexpr std::uint64_t kLookEvery = 256;  ///< windows between looks at watchdog and progress

class Hasher {
public:
    Hasher() : state_(XXH3_createState()) { XXH3_128bits_reset(state_); }
    ~Hasher() { XXH3_freeState(state_); }
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;
    void add(std::string_view text) { XXH3_128bits_update(state_, text.data(), text.size()); }
    void add(std::uint64_t value) { XXH3_128bits_update(state_, &value, sizeof value); }
    std::string hex() const {
        const XXH128_hash_t hash = XXH3_128bits_digest(state_);
        return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
    }

private:
    XXH3_state_t* state_;
};

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

EngineOptions engine_options(const Machine& machine, const RunOptions& options) {
    Time window = machine.timing().window;
    if (options.window_cycles != 0) window = std::min(window, machine.timing().core.time_of(options.window_cycles));
    return {options.threads, window, options.sleep};
}

std::vector<StatValue> difference(std::vector<StatValue> after, const std::vector<StatValue>& before) {
    for (std::size_t i = 0; i < before.size(); ++i) after[i].value -= before[i].value;
    return after;
}

}  // namespace

std::string_view version() {
    return MERGELANE_VERSION;
}

std::string config_hash(const MachineSpec& spec) {
    MachineSpec copy = spec;
    Hasher hasher;
    for (const SpecField& field : copy.fields().list()) hasher.add(field.key + "=" + field.value() + "\n");
    return hasher.hex();
}

Simulation::Simulation(const MachineSpec& spec, const RunOptions& options)
    : options_(options), machine_(spec), engine_(machine_.domains(), engine_options(machine_, options)) {}

std::vector<StatValue> Simulation::totals() const {
    std::vector<StatValue> list;
    std::unordered_map<std::string, std::size_t> index;
    StatFields fields;
    std::string name;
    for (const Machine::Part& part : machine_.parts()) {
        fields.clear();
        part.component->stats(fields, part.clock.first_at(engine_.time()));
        for (const StatField& field : fields.list()) {
            name.assign(field.group).append(".").append(field.name);
            const auto [at, is_new] = index.try_emplace(name, list.size());
            if (is_new) list.push_back({name, field.unit, field.meaning, 0});
            list[at->second].value += field.value;
        }
    }
    return list;
}

std::string Simulation::digest(const std::vector<KernelResult>& kernels) const {
    Hasher hasher;
    StatFields fields;
    for (const Machine::Part& part : machine_.parts()) {
        fields.clear();
        part.component->stats(fields, part.clock.first_at(engine_.time()));
        hasher.add(part.component->name());
        for (const StatField& field : fields.list()) hasher.add(field.value);
    }
    for (const KernelResult& kernel : kernels) {
        hasher.add(kernel.start);
        hasher.add(kernel.cycles);
        for (const StatValue& stat : kernel.stats) hasher.add(stat.value);
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
                    "  A warp probably waits for something that never happens (a flag, a lock, a CTA that cannot be resident).\n"
                    "  If CTAs of this kernel really run that long, raise --watchdog or turn it off with --watchdog 0.",
                    machine_.warp_instructions() - watched_instructions_, now - watched_since_, ctas, ctas_total_, now));
}

bool Simulation::keep_going(Time time) {
    if (options_.after_window) options_.after_window(machine_, time);
    if (options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed)) {
        stopped_ = "interrupted";
        return false;
    }
    if (++windows_ % kLookEvery == 0) {
        const Cycle now = time / machine_.timing().core.period;
        check_livelock(now);
        if (options_.progress) options_.progress({kernel_, now, machine_.ctas_completed(), ctas_total_});
    }
    return !machine_.finished();
}

void Simulation::report_deadlock() const {
    std::vector<Wait> waits;
    for (const Machine::Part& part : machine_.parts()) part.component->explain(waits);
    std::string text = fmt::format("deadlock at cycle {}: nothing can move any more, {} of {} CTAs have finished. Who waits for whom:\n",
                                   engine_.time() / machine_.timing().core.period, machine_.ctas_completed(), ctas_total_);
    std::vector<const Component*> seen;
    const auto is_new = [&](const Wait& wait) { return std::find(seen.begin(), seen.end(), wait.who) == seen.end(); };
    const Component* at = waits.empty() ? nullptr : waits.front().who;
    while (at != nullptr) {
        const auto wait = std::find_if(waits.begin(), waits.end(), [&](const Wait& w) { return w.who == at && is_new(w); });
        seen.push_back(at);
        if (wait != waits.end()) {
            text += fmt::format("  {}: {}\n", at->name(), wait->why);
            at = wait->on;
            if (at != nullptr && std::find(seen.begin(), seen.end(), at) != seen.end()) {
                text += fmt::format("  {}: and so round again\n", at->name());
                break;
            }
            continue;
        }
        // This one only passes things on: whoever is held up by missing room is next.
        const auto held_up = std::find_if(waits.begin(), waits.end(), [&](const Wait& w) { return w.no_room && is_new(w); });
        text +=
            fmt::format("  {} has nothing to hand on{}\n", at->name(), held_up == waits.end() ? ": the chain ends here" : "; further up:");
        at = held_up == waits.end() ? nullptr : held_up->who;
    }
    throw SimulationError(text + "  This is a bug of the model or of a mechanism in it; please report it with the configuration.");
}

/// Lets what is still under way between kernels go on until `time`.
void Simulation::run_quietly_to(Time time) {
    engine_.run_until(time, [](Time) { return true; });
    engine_.advance_to(time);
}

RunResult Simulation::run(Workload& workload) {
    const auto wall_start = std::chrono::steady_clock::now();
    const MachineSpec& spec = machine_.spec();
    const Clock core = machine_.timing().core;
    const Time limit = options_.max_cycles == 0 ? kEndOfTime : core.time_of(options_.max_cycles);
    const auto go_on = [this](Time now) { return keep_going(now); };

    RunResult result;
    std::vector<StatValue> before = totals();
    Cycle start = spec.dispatch.launch_latency;
    while (const KernelSource* kernel = workload.next_kernel()) {
        const KernelInfo& info = kernel->info();
        ++kernel_;
        ctas_total_ = info.ctas();
        watched_since_ = 0;
        // 1. Everything before the start is history; then the kernel runs until its CTAs are done.
        run_quietly_to(std::min(core.time_of(start), limit));
        if (engine_.time() >= limit) {
            stopped_ = "cycle limit";
            break;
        }
        machine_.launch(*kernel, start);
        Engine::End end = Engine::End::stopped;
        if (!machine_.finished()) end = engine_.run_until(limit, go_on);
        if (end == Engine::End::idle) report_deadlock();
        if (end == Engine::End::limit && !machine_.finished()) stopped_ = "cycle limit";
        // 2. Its share of the counters is closed when the next one may start (or at the end).
        const Cycle finish = machine_.finished() ? machine_.last_cta_end() : engine_.time() / core.period;
        const Cycle next_start = machine_.finished_at() + spec.dispatch.latency + spec.dispatch.launch_latency;
        if (stopped_.empty()) run_quietly_to(core.time_of(next_start));
        std::vector<StatValue> after = totals();
        const Residency fit = residency(spec.sm, info);
        KernelResult& record = result.kernels.emplace_back();
        record.name = info.name;
        record.ctas = info.ctas();
        record.ctas_per_sm = fit.ctas;
        record.limited_by = fit.limited_by;
        record.at_placement = kernel->executes_at_placement();
        record.start = start;
        record.cycles = finish - start;
        record.stats = difference(after, before);
        record.warp_instructions = record.stat("sm.warp_instructions");
        if (options_.after_kernel) options_.after_kernel(record);
        result.cycles = finish;
        before = std::move(after);
        start = next_start;
        if (!stopped_.empty()) break;
    }
    // 3. What is still on its way to memory arrives; then every law must hold.
    if (stopped_.empty()) engine_.run_until(kEndOfTime, [](Time) { return true; });
    result.stats = totals();
    if (const std::vector<std::string> broken = broken_laws(machine_, result.stats, stopped_.empty()); !broken.empty()) {
        throw SimulationError(fmt::format("a conservation law is broken ({} in all), which is a bug of the model; please report it:\n  {}",
                                          broken.size(), broken.front()));
    }
    result.version = version();
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
