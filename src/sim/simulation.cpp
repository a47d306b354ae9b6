// SPDX-License-Identifier: MIT
#include "sim/simulation.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <typeindex>
#include <unordered_map>
#include <utility>

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

void subtract(LoadTimes& times, const LoadTimes& before) {
    times.loads -= before.loads;
    times.total -= before.total;
    for (std::size_t s = 0; s < times.spent.size(); ++s) {
        times.spent[s] -= before.spent[s];
        times.stalled[s] -= before.stalled[s];
    }
}

/// Requests inside components, and on the links between them.
std::vector<StatValue> depths_of(const Machine& machine) {
    std::vector<StatValue> depths = gauges_of(machine);
    std::unordered_map<std::string_view, std::size_t> index;
    for (const Wiring::NamedLink& named : machine.links()) {
        const auto [at, is_new] = index.try_emplace(named.boundary, depths.size());
        if (is_new) depths.push_back({named.boundary, "messages", "", 0});
        depths[at->second].value += named.link->in_flight();
    }
    return depths;
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
    : options_(options),
      machine_(spec),
      engine_(islands(machine_, options), engine_options(machine_, options)),
      sampler_(options.interval_cycles, options.timeline, machine_.timing().core) {}

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

LoadTimes Simulation::load_times() const {
    LoadTimes sum;
    sum.spent.resize(machine_.wiring().stages().list().size());
    sum.stalled.resize(sum.spent.size());
    for (const Sm& sm : machine_.sms()) {
        sum.loads += sm.latency().loads;
        sum.total += sm.latency().total;
        for (std::size_t s = 0; s < sum.spent.size(); ++s) {
            sum.spent[s] += sm.latency().spent[s];
            sum.stalled[s] += sm.latency().stalled[s];
        }
    }
    return sum;
}

namespace {

std::string_view class_name(OpClass op) {
    const auto index = static_cast<std::size_t>(op);
    return index < kComputeClasses ? kComputeClassNames[index] : kOtherClassNames[index - kComputeClasses];
}

InstructionResult describe(const InstructionTable::Key& key, const ProgramText* text) {
    InstructionResult made;
    made.pc = key.pc;
    made.opcode = class_name(key.op);
    made.shared = key.shared;
    if (key.pc == kAddedPc) made.opcode = key.op == OpClass::exit ? "(not attributed)" : made.opcode + " (added)";
    if (text == nullptr || key.pc >= text->origins.size()) return made;
    const ProgramText::Origin& origin = text->origins[key.pc];
    made.ptx_line = origin.ptx_line;
    if (origin.opcode != 0) made.opcode = text->words[origin.opcode];
    made.source_file = text->words[origin.source.file];
    made.source_line = origin.source.line;
    made.inlined_file = text->words[origin.inlined_at.file];
    made.inlined_line = origin.inlined_at.line;
    return made;
}

/// Two kernels of one name are the same program if they have the same instructions.
bool is_same(const InstructionResult& a, const InstructionResult& b) {
    return a.pc == b.pc && a.opcode == b.opcode && a.shared == b.shared && a.ptx_line == b.ptx_line;
}

}  // namespace

/// Adds the counts of the kernel that has run to those of its previous launches.
void Simulation::take_instructions(const KernelSource& kernel) {
    InstructionTable::Rows rows;
    for (Sm& sm : machine_.sms()) sm.take_instructions(rows);
    const std::shared_ptr<const ProgramText> text = kernel.listing().text;
    const std::string ptx_file = text == nullptr ? "" : text->file;
    auto known = std::find_if(by_instruction_.begin(), by_instruction_.end(),
                              [&](const KernelInstructions& k) { return k.kernel == kernel.info().name && k.ptx_file == ptx_file; });
    if (known == by_instruction_.end()) {
        known = by_instruction_.emplace(by_instruction_.end());
        known->kernel = kernel.info().name;
        known->ptx_file = ptx_file;
    }
    ++known->launches;
    std::vector<InstructionResult>& list = known->instructions;
    std::size_t at = 0;  // both are in the order of the program
    for (const auto& [key, row] : rows) {
        InstructionResult made = describe(key, text.get());
        while (at < list.size() && list[at].pc < key.pc) ++at;
        std::size_t same = at;
        while (same < list.size() && list[same].pc == key.pc && !is_same(list[same], made)) ++same;
        if (same == list.size() || list[same].pc != key.pc) list.insert(list.begin() + static_cast<std::ptrdiff_t>(same), std::move(made));
        InstructionResult& to = list[same];
        to.counts.add(row.counts);
        to.spent.resize(std::max(to.spent.size(), row.spent.size()));
        for (std::size_t s = 0; s < row.spent.size(); ++s) to.spent[s] += row.spent[s];
    }
}

std::vector<std::pair<std::string, std::vector<std::uint64_t>>> Simulation::per_unit() const {
    static constexpr std::string_view kCounters[] = {"sm.warp_instructions", "sm.stall_memory",  "sm.stall_lsu",  "l1.sector_misses",
                                                     "l2.sector_accesses",   "l2.sector_misses", "dram.requests", "dram.row_misses"};
    std::vector<std::pair<std::string, std::vector<std::uint64_t>>> list;
    for (const std::string_view counter : kCounters) list.emplace_back(counter, std::vector<std::uint64_t>());
    StatFields fields;
    for (const Wiring::Part& part : machine_.parts()) {
        fields.clear();
        part.component->stats(fields, part.clock.first_at(engine_.time()));
        for (const StatField& field : fields.list()) {
            for (auto& [counter, values] : list) {
                if (is_called(counter, field)) values.push_back(field.value);
            }
        }
    }
    std::erase_if(list, [](const auto& one) { return one.second.empty(); });  // machines without an L1
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
    if (next_reading() < engine_limit_) return false;  // the engine must stop earlier than it was told
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

void Simulation::sample() {
    machine_.merge_logs();  // of the last window too
    std::vector<StatValue> depths;
    if (sampler_.wants_gauges()) depths = depths_of(machine_);
    sampler_.take(totals(), depths);
}

void Simulation::read_when_completed(std::vector<std::uint64_t> ctas) {
    if (machine_.spec().gpu.groups != 1) throw std::logic_error("counters are read by completed CTAs only on machines of one group");
    reading_marks_ = std::move(ctas);
}

/// A window after the dispatcher has seen the completion, nobody can have gone further.
Time Simulation::next_reading() const {
    const Clock core = machine_.timing().core;
    if (readings_.size() >= machine_.marked().size()) return kEndOfTime;
    return core.time_of(machine_.marked()[readings_.size()] + divide_up(machine_.window(), core.period));
}

void Simulation::read_counters() {
    machine_.merge_logs();
    Reading& reading = readings_.emplace_back();
    reading.cycle = engine_.time() / machine_.timing().core.period;
    const std::vector<StatValue> now = totals();
    for (std::size_t i = 0; i < now.size(); ++i) reading.counts.push_back(now[i].value - before_[i].value);
}

/// What is to be done at this time.
void Simulation::stop_at(Time time) {
    if (time == sampler_.next()) sample();
    if (time == next_reading()) read_counters();
}

/// Runs the engine, and stops on the way wherever an interval ends or counters are read.
Engine::End Simulation::run_engine(Time limit, bool while_busy) {
    const auto busy = [this](Time now) { return keep_going(now); };
    const auto quiet = [this](Time now) { return pass(now); };
    while (true) {
        const Time stop = std::min({limit, sampler_.next(), next_reading()});
        engine_limit_ = stop;
        const Engine::End end = while_busy ? engine_.run_while_busy(stop, busy) : engine_.run_until(stop, quiet);
        if (while_busy && machine_.finished()) return end;  // meters end with the kernel: the sample is taken after that
        const bool goes_on = next_reading() < stop;         // since then, CTAs have completed
        stop_at(engine_.time());
        if (!goes_on && (end != Engine::End::limit || stop == limit)) return end;
    }
}

/// Simulates traffic in flight between kernels until `time`.
void Simulation::run_quietly_to(Time time) {
    run_engine(time, false);
    for (Time next; (next = std::min(sampler_.next(), next_reading())) <= time;) {  // nothing has anything to do
        engine_.advance_to(next);
        stop_at(next);
    }
    engine_.advance_to(time);
}

void Simulation::record_work() {
    Timeline& timeline = *options_.timeline;
    timeline = {};
    timeline.sms.resize(machine_.sms().size());
    for (std::size_t s = 0; s < timeline.sms.size(); ++s) {
        Sm& sm = machine_.sms()[s];
        timeline.sms[s].name = sm.name();
        const std::size_t groups = machine_.spec().gpu.groups;
        sm.observe(recorders_.emplace_back(timeline.sms[s], timeline.sms.size(), s * groups / timeline.sms.size(), groups));
    }
}

void Simulation::end_intervals(RunResult& result) {
    Intervals intervals = sampler_.finish(result.cycles, result.stats);
    if (options_.timeline != nullptr) {
        Timeline& timeline = *options_.timeline;
        for (const WorkRecorder& recorder : recorders_)
            timeline.sampled_one_of = std::max(timeline.sampled_one_of, recorder.sampled_one_of());
        for (WorkRecorder& recorder : recorders_) {
            recorder.thin(timeline.sampled_one_of);
            recorder.finish(result.cycles);
        }
        timeline.intervals = intervals;
    }
    if (options_.interval_cycles != 0) result.intervals = std::move(intervals);
}

/// One kernel from its start until the next may start.
KernelResult Simulation::run_kernel(const KernelSource& kernel, Cycle start, Time limit, Cycle& next_start) {
    const MachineSpec& spec = machine_.spec();
    const Clock core = machine_.timing().core;
    const KernelInfo& info = kernel.info();
    readings_.clear();
    machine_.launch(kernel, start);
    if (!reading_marks_.empty()) machine_.mark(std::exchange(reading_marks_, {}));
    ctas_total_ = machine_.ctas_total();
    Engine::End end = Engine::End::stopped;
    if (!machine_.finished()) end = run_engine(limit, true);
    if (end == Engine::End::idle) report_deadlock();
    if (end == Engine::End::limit && !machine_.finished()) stopped_ = "cycle limit";
    const Cycle finish = machine_.finished() ? machine_.last_cta_end() : engine_.time() / core.period;
    next_start = machine_.finished_at() + spec.dispatch.latency + spec.dispatch.launch_latency;
    machine_.end_kernel(finish);
    if (stopped_.empty()) run_quietly_to(core.time_of(next_start));
    while (next_reading() != kEndOfTime && stopped_.empty()) read_counters();  // the next kernel starts before

    std::vector<StatValue> after = totals();
    const Residency fit = residency(spec.sm, info);
    KernelResult record;
    record.name = info.name;
    record.ctas = info.ctas();
    record.ctas_per_sm = fit.ctas;
    record.limited_by = fit.limited_by;
    record.registers = info.registers_per_thread;
    record.registers_from = kRegisterCountNames[static_cast<std::size_t>(info.registers_from)];
    record.at_placement = kernel.executes_at_placement();
    record.start = start;
    record.cycles = finish - start;
    record.warp_instructions = statistic(after, "sm.warp_instructions") - statistic(before_, "sm.warp_instructions");
    for (std::size_t i = 0; i < after.size(); ++i) record.values.push_back(after[i].value - before_[i].value);
    record.load_times = load_times();
    const LoadTimes until_now = record.load_times;
    subtract(record.load_times, times_before_);
    times_before_ = until_now;
    before_ = after;
    if (options_.by_instruction) take_instructions(kernel);
    if (options_.after_kernel) {
        for (std::size_t i = 0; i < after.size(); ++i) after[i].value = record.values[i];
        options_.after_kernel(record, after);
    }
    return record;
}

std::vector<std::uint64_t> Simulation::drain() {
    run_engine(kEndOfTime, false);
    std::vector<StatValue> after = totals();
    std::vector<std::uint64_t> counts;
    for (std::size_t i = 0; i < after.size(); ++i) counts.push_back(after[i].value - before_[i].value);
    before_ = std::move(after);
    times_before_ = load_times();
    return counts;
}

void Simulation::check_laws(const std::vector<StatValue>& stats) const {
    std::vector<std::string> broken;
    try {
        broken = broken_laws(machine_, stats, stopped_.empty());
        if (options_.by_instruction) {
            const std::vector<std::string> more = broken_instruction_laws(machine_, stats, by_instruction_, stopped_.empty());
            broken.insert(broken.end(), more.begin(), more.end());
        }
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

/// Follows all lines in small grids, where a sample has too few loads, and by instruction, because one may access no sampled line.
void Simulation::follow_loads(const KernelInfo& first) {
    constexpr std::uint64_t kSmall = 256, kUsual = 32;
    const std::uint64_t usual = first.ctas() * first.warps_per_cta() < kSmall ? 1 : kUsual;
    const std::uint64_t one_of = options_.by_instruction ? 1 : options_.follow_one_of != 0 ? options_.follow_one_of : usual;
    if (options_.timeline != nullptr) options_.timeline->followed_one_of = static_cast<std::uint32_t>(one_of);
    for (Sm& sm : machine_.sms()) {
        sm.follow(FollowedLines(static_cast<std::uint32_t>(one_of)));
        if (options_.by_instruction) sm.count_by_instruction(machine_.spec().lsu.block_bytes, machine_.wiring().stages().list().size());
    }
}

RunResult Simulation::run(Workload& workload) {
    const auto wall_start = std::chrono::steady_clock::now();
    const MachineSpec& spec = machine_.spec();
    const Clock core = machine_.timing().core;
    const Time limit = options_.max_cycles == 0 ? kEndOfTime : core.time_of(options_.max_cycles);

    if (options_.timeline != nullptr) record_work();
    RunResult result;
    before_ = totals();
    times_before_ = load_times();
    Cycle start = spec.dispatch.launch_latency;
    while (const KernelSource* kernel = workload.next_kernel()) {
        if (++kernel_ == 1) follow_loads(kernel->info());
        watched_since_ = 0;
        start = std::max(start, core.first_at(engine_.time()));  // later only if the workload has drained the machine
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
    sampler_.stop();
    if (stopped_.empty()) run_engine(kEndOfTime, false);
    result.stats = totals();
    check_laws(result.stats);
    end_intervals(result);
    result.load_times = load_times();
    result.by_instruction = std::move(by_instruction_);
    for (const Stages::Info& stage : machine_.wiring().stages().list()) result.stages.emplace_back(stage.name, stage.meaning);
    result.units_per_cycle = core.period;
    result.version = version();
    result.model = kModelVersion;
    result.edition = spec.registry->edition();
    result.config_hash = config_hash(spec);
    result.workload = workload.name();
    result.machine = facts(spec);
    result.partial = stopped_;
    result.warp_instructions = result.stat("sm.warp_instructions");
    result.per_unit = per_unit();
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
