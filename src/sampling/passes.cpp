// SPDX-License-Identifier: MIT
#include "sampling/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "core/skippable_workload.hpp"
#include "sampling/kept_run.hpp"
#include "sampling/warming.hpp"

namespace mergelane::sampling {

namespace {

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Those launches of a workload that are simulated. The others only leave their lines in the L2.
class ChosenLaunches final : public Workload {
public:
    /// `plans`: of the launches chosen.
    ChosenLaunches(std::unique_ptr<Workload> all, std::vector<std::uint32_t> chosen, std::vector<std::uint32_t> from,
                   std::vector<LaunchPlan> plans, bool warm)
        : all_(std::move(all)), chosen_(std::move(chosen)), from_(std::move(from)), plans_(std::move(plans)), warm_(warm) {}
    /// Goes on up to the `end`-th chosen launch on an idle machine.
    void begin(Simulation& simulation, std::size_t end) {
        simulation_ = &simulation;
        warming_.reset();
        end_ = end;
        idle_ = true;
        warmed = 0;
        warming_seconds = 0;
    }
    /// The chosen launches up to the `end`-th one have been simulated before.
    void leave_out(std::size_t end) { next_ = end; }

    const std::string& name() const override { return all_->name(); }
    const KernelSource* next_kernel() override {
        if (long_ != nullptr && piece_ != plan().pieces.size()) return next_piece();
        long_ = nullptr;
        if (next_ == end_) {
            leave();
            return nullptr;
        }
        while (const KernelSource* kernel = next()) {
            const std::uint32_t number = position_++;
            if (number == chosen_[next_]) {
                ++next_;
                idle_ = false;
                if (!plan().any()) return kernel;
                long_ = kernel;
                piece_ = 0;
                return next_piece();
            }
            leave();
            walk(*kernel, {});
            ++warmed;
        }
        throw InputError(fmt::format(
            "the workload launched {} kernels this time and more when their signatures were taken; it cannot be sampled", position_));
    }

    /// Of the launch that is simulated, or was last.
    std::uint32_t launch() const { return chosen_[next_ - 1]; }
    const LaunchPlan& plan() const { return plans_[next_ - 1]; }
    /// The piece of it, counted from 1; 0: the whole launch.
    std::size_t piece() const { return long_ != nullptr ? piece_ : 0; }

    std::uint64_t warmed = 0;
    double warming_seconds = 0;
    std::function<void(const std::vector<std::uint64_t>&)> on_left;  ///< counts of what the last simulated launch left in flight

private:
    /// The next launch that is simulated or walked.
    const KernelSource* next() {
        const double before = cpu_seconds();
        const std::uint32_t wanted = warm_ ? std::min(from_[next_], chosen_[next_]) : chosen_[next_];
        const bool skips = position_ < wanted;
        while (position_ < wanted && skip_kernel(*all_)) ++position_;
        const KernelSource* const kernel = position_ < wanted ? nullptr : all_->next_kernel();
        warming_seconds += cpu_seconds() - before;
        if (skips) leave();
        return kernel;
    }
    /// Of a launch that is simulated in pieces. What is in flight between them belongs to none of its stretches.
    const KernelSource* next_piece() {
        const Piece& piece = plan().pieces[piece_];
        if (piece_ != 0) {
            simulation_->drain();
            if (warm_ && piece.walk_from < piece.ctas.first) walk(*long_, {piece.walk_from, piece.ctas.first});
        }
        ++piece_;
        idle_ = false;
        std::vector<std::uint64_t> marks;
        for (const std::uint64_t mark : piece.marks) marks.push_back(mark - piece.ctas.first);
        simulation_->read_when_completed(std::move(marks));
        part_.emplace(*long_, piece.ctas);
        return &*part_;
    }
    void walk(const KernelSource& kernel, const CtaRange& ctas) {
        const double before = cpu_seconds();
        if (!warming_) warming_.emplace(simulation_->machine());
        warming_->warm(kernel, ctas);
        warming_seconds += cpu_seconds() - before;
    }
    /// What the last simulated launch left in flight belongs to it.
    void leave() {
        if (idle_) return;
        on_left(simulation_->drain());
        idle_ = true;
    }

    std::unique_ptr<Workload> all_;
    std::vector<std::uint32_t> chosen_;
    std::vector<std::uint32_t> from_;
    std::vector<LaunchPlan> plans_;
    bool warm_;
    Simulation* simulation_ = nullptr;
    std::optional<Warming> warming_;  ///< of its machine
    std::uint32_t position_ = 0;
    std::size_t next_ = 0;
    std::size_t end_ = 0;
    bool idle_ = true;
    const KernelSource* long_ = nullptr;  ///< a launch that is simulated in pieces
    std::size_t piece_ = 0;               ///< the next one
    std::optional<PartOfKernel> part_;
};

/// Signature and traffic of a long launch by stretches, and of the whole.
void take_parts(const MachineSpec& spec, const Options& options, const KernelSource& kernel, std::uint64_t wave, SignatureTaker& taker,
                Warming& warming, Signatures& taken) {
    LongLaunch launch;
    launch.wave = wave;
    launch.ctas = stretches_of(kernel.info().ctas(), wave, kShortest, kShortest);
    L2Traffic& traffic = taken.traffic.emplace_back();
    for (const CtaRange& ctas : launch.ctas) {
        const Signature stretch = taker.take(kernel, ctas);
        const L2Traffic own = warming.warm(kernel, ctas);
        launch.known.push_back(known_of(stretch, own));
        launch.lines.push_back(stretch.footprint);
        traffic.missed += own.missed;
        traffic.fetched += own.fetched;
        traffic.written_back += own.written_back;
        if (launch.known.size() == 1)
            taken.launches.push_back(stretch);
        else
            taken.launches.back().merge(stretch);
    }
    arrange(spec, kernel.info(), options.waves, launch);
    taken.parts.back() = std::move(launch);
}

void check_waves(const Machine& machine, const KernelSource& kernel) {
    const DispatchSpec& dispatch = machine.spec().dispatch;
    const auto refuse = [](std::string_view key, std::string_view value) {
        throw InputError(fmt::format(
            "{} = \"{}\" does not dispatch CTAs in the order of their numbers to any SM, so a part of a launch does not stand for "
            "the rest; leave out --waves",
            key, value));
    };
    if (!machine.dispatches_in_order()) refuse("dispatch.scheduler", dispatch.scheduler);
    if (machine.transforms(kernel)) refuse("dispatch.transform", dispatch.transform);
}

}  // namespace

Signatures take_signatures(const MachineSpec& spec, const Options& options) {
    const double before = cpu_seconds();
    Signatures taken;
    SignatureTaker taker;
    Machine machine(spec);
    Warming warming(machine);
    const std::unique_ptr<Workload> workload = options.open();
    while (const KernelSource* kernel = workload->next_kernel()) {
        if (kernel->executes_at_placement() || kernel->wants_places())
            throw InputError(
                fmt::format("kernel '{}' reads its SM ID, its warp slot or a clock, so what it does depends on the launches before it; "
                            "simulate the whole workload, without --sample",
                            kernel->info().name));
        taken.parts.emplace_back();
        if (const std::uint64_t wave = wave_if_long(spec, kernel->info(), options.waves); wave != 0) {
            check_waves(machine, *kernel);
            take_parts(spec, options, *kernel, wave, taker, warming, taken);
        } else {
            taken.launches.push_back(taker.take(*kernel));
            taken.traffic.push_back(warming.warm(*kernel));
        }
        if (options.run.interrupt != nullptr && options.run.interrupt->load(std::memory_order_relaxed)) break;
        if (options.progress) options.progress(taken.launches.size());
    }
    taken.seconds = cpu_seconds() - before;
    return taken;
}

std::vector<std::uint32_t> warm_from(std::span<const Signature> launches, std::span<const std::uint32_t> chosen, std::uint64_t l2_lines) {
    constexpr std::uint64_t kTimes = 2;  // sets fill unevenly
    std::vector<std::uint32_t> from;
    for (const std::uint32_t launch : chosen) {
        Footprint lines;
        std::uint32_t first = launch;
        while (first != 0 && lines.lines() < kTimes * l2_lines) lines.merge(launches[--first].footprint);
        from.push_back(first);
    }
    return from;
}

std::vector<std::size_t> segment_ends(std::span<const Signature> launches, std::span<const std::uint32_t> chosen,
                                      std::span<const std::uint32_t> from, std::uint64_t instructions) {
    std::vector<std::size_t> ends;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        // A new machine needs all the launches that are walked before the next one, and a workload cannot go back.
        if (i != 0 && instructions != 0 && sum >= instructions && from[i] > chosen[i - 1]) {
            ends.push_back(i);
            sum = 0;
        }
        sum += launches[chosen[i]].warp_instructions;
    }
    ends.push_back(chosen.size());
    return ends;
}

namespace {

class NoLaunches final : public Workload {
public:
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return nullptr; }

private:
    std::string name_;
};

std::vector<std::uint64_t> difference(const std::vector<std::uint64_t>& after, const std::vector<std::uint64_t>& before) {
    std::vector<std::uint64_t> list(after);
    for (std::size_t i = 0; i < list.size(); ++i) list[i] -= before[i];
    return list;
}

/// Adds a piece of a launch to what is known of it. `next`: when the next launch might start.
void add_piece(const LaunchPlan& plan, std::size_t number, const KernelResult& result, std::span<const Simulation::Reading> readings,
               Cycle next, Simulated& launch) {
    const Piece& piece = plan.pieces[number];
    const auto reading = [&](std::uint64_t mark) -> const Simulation::Reading& {
        const auto at = std::lower_bound(piece.marks.begin(), piece.marks.end(), mark);
        return readings[static_cast<std::size_t>(at - piece.marks.begin())];
    };
    if (number == 0) {
        const Simulation::Reading& end = reading(plan.begin);
        launch.result.values = end.counts;
        launch.result.cycles = launch.span = end.cycle - result.start;
    }
    for (std::size_t s = 0; s < plan.chosen.size(); ++s) {
        const CtaRange& ctas = plan.measured[s];
        if (ctas.first < piece.ctas.first || ctas.end > piece.ctas.end) continue;
        const Simulation::Reading &begin = reading(ctas.first), &end = reading(ctas.end);
        launch.chosen.push_back(plan.chosen[s]);
        launch.stretches.push_back({end.cycle - begin.cycle, end.cycle - begin.cycle, difference(end.counts, begin.counts)});
    }
    if (number + 1 != plan.pieces.size()) return;
    const Simulation::Reading& begin = reading(plan.end);
    const std::vector<std::uint64_t> last = difference(result.values, begin.counts);
    for (std::size_t i = 0; i < last.size(); ++i) launch.result.values[i] += last[i];
    launch.result.cycles += result.start + result.cycles - begin.cycle;
    launch.span += next - begin.cycle;
}

void add_load_times(LoadTimes& sum, const LoadTimes& more) {
    sum.loads += more.loads;
    sum.total += more.total;
    for (std::size_t i = 0; i < sum.spent.size(); ++i) sum.spent[i] += more.spent[i];
    for (std::size_t i = 0; i < sum.stalled.size(); ++i) sum.stalled[i] += more.stalled[i];
}

Pass simulate_segment(const MachineSpec& spec, const Options& options, ChosenLaunches& workload, std::size_t end) {
    const double before = cpu_seconds();
    Pass pass;
    RunOptions run = options.run;
    Simulation* running = nullptr;
    run.after_kernel = [&](const KernelResult& result, const std::vector<StatValue>&) {
        const std::size_t piece = workload.piece();
        if (piece <= 1) {
            Simulated& launch = pass.launches.emplace_back();
            launch.launch = workload.launch();
            launch.result = result;
        } else {
            pass.launches.back().result.ctas += result.ctas;
            add_load_times(pass.launches.back().result.load_times, result.load_times);
        }
        Simulated& launch = pass.launches.back();
        const Cycle next = running->machine().finished_at() + spec.dispatch.latency + spec.dispatch.launch_latency;
        launch.gap = next - result.start - result.cycles;
        launch.waves += divide_up(result.ctas, std::uint64_t{result.ctas_per_sm} * spec.sms());
        launch.warp_instructions += result.warp_instructions;
        if (piece == 0)
            launch.span = next - result.start;
        else
            add_piece(workload.plan(), piece - 1, result, running->readings(), next, launch);
    };
    workload.on_left = [&](const std::vector<std::uint64_t>& counts) {
        std::vector<std::uint64_t>& values = pass.launches.back().result.values;
        for (std::size_t i = 0; i < counts.size(); ++i) values[i] += counts[i];
    };
    Simulation simulation(spec, run);
    running = &simulation;
    workload.begin(simulation, end);
    pass.result = simulation.run(workload);
    pass.warmed = workload.warmed;
    pass.warming_seconds = workload.warming_seconds;
    pass.seconds = cpu_seconds() - before;
    return pass;
}

/// A segment that was simulated before the run was killed.
std::optional<Pass> kept_segment(const MachineSpec& spec, const Options& options, const KeptRun* kept, const std::string& part) {
    const std::optional<std::string> bytes = kept != nullptr ? kept->load(part) : std::nullopt;
    if (!bytes) return std::nullopt;
    NoLaunches none;
    Pass pass;
    pass.result = Simulation(spec, options.run).run(none);
    if (!from_bytes(*bytes, pass)) kept->refuse(part);
    return pass;
}

}  // namespace

std::vector<Pass> simulate(const MachineSpec& spec, const Options& options, const Signatures& signatures, std::vector<std::uint32_t> chosen,
                           const KeptRun* kept, std::uint64_t number) {
    const std::vector<Signature>& launches = signatures.launches;
    std::vector<LaunchPlan> plans;
    for (const std::uint32_t launch : chosen)
        plans.push_back(plan_launch(signatures.parts[launch], options.waves, l2_lines(spec), mix64(mix64(options.seed) + launch)));
    const std::vector<std::uint32_t> from = warm_from(launches, chosen, l2_lines(spec));
    const std::vector<std::size_t> ends = segment_ends(launches, chosen, from, options.warm ? options.segment_instructions : 0);
    std::vector<Pass> passes;
    std::unique_ptr<ChosenLaunches> workload;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < ends.size(); ++s) {
        const std::string part = fmt::format("pass-{}-segment-{}", number, s + 1);
        if (std::optional<Pass> pass = kept_segment(spec, options, kept, part)) {
            passes.push_back(*std::move(pass));
        } else {
            if (workload == nullptr) workload = std::make_unique<ChosenLaunches>(options.open(), chosen, from, plans, options.warm);
            workload->leave_out(begin);
            passes.push_back(simulate_segment(spec, options, *workload, ends[s]));
            if (!passes.back().result.partial.empty()) break;
            if (kept != nullptr) kept->save(part, to_bytes(passes.back()));
        }
        begin = ends[s];
    }
    return passes;
}

}  // namespace mergelane::sampling
