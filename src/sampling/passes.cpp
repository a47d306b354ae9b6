// SPDX-License-Identifier: MIT
#include "sampling/passes.hpp"

#include <fmt/format.h>

#include <ctime>
#include <optional>

#include "core/error.hpp"
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
    ChosenLaunches(std::unique_ptr<Workload> all, std::vector<std::uint32_t> chosen, std::vector<std::uint32_t> from, bool warm)
        : all_(std::move(all)), chosen_(std::move(chosen)), from_(std::move(from)), warm_(warm) {}
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
        if (next_ == end_) {
            leave();
            return nullptr;
        }
        while (const KernelSource* kernel = next()) {
            const std::uint32_t number = position_++;
            if (number == chosen_[next_]) {
                ++next_;
                idle_ = false;
                return kernel;
            }
            leave();
            const double before = cpu_seconds();
            if (!warming_) warming_.emplace(simulation_->machine());
            warming_->warm(*kernel);
            warming_seconds += cpu_seconds() - before;
            ++warmed;
        }
        throw InputError(fmt::format(
            "the workload launched {} kernels this time and more when their signatures were taken; it cannot be sampled", position_));
    }

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
    /// What the last simulated launch left in flight belongs to it.
    void leave() {
        if (idle_) return;
        on_left(simulation_->drain());
        idle_ = true;
    }

    std::unique_ptr<Workload> all_;
    std::vector<std::uint32_t> chosen_;
    std::vector<std::uint32_t> from_;
    bool warm_;
    Simulation* simulation_ = nullptr;
    std::optional<Warming> warming_;  ///< of its machine
    std::uint32_t position_ = 0;
    std::size_t next_ = 0;
    std::size_t end_ = 0;
    bool idle_ = true;
};

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
        taken.launches.push_back(taker.take(*kernel));
        taken.traffic.push_back(warming.warm(*kernel));
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

Pass simulate_segment(const MachineSpec& spec, const Options& options, ChosenLaunches& workload, std::span<const std::uint32_t> chosen,
                      std::size_t end) {
    const double before = cpu_seconds();
    Pass pass;
    RunOptions run = options.run;
    Simulation* running = nullptr;
    run.after_kernel = [&](const KernelResult& result, const std::vector<StatValue>&) {
        Simulated& launch = pass.launches.emplace_back();
        launch.launch = chosen[pass.launches.size() - 1];
        launch.result = result;
        const Cycle next = running->machine().finished_at() + spec.dispatch.latency + spec.dispatch.launch_latency;
        launch.span = next - result.start;
        launch.gap = launch.span - result.cycles;
        launch.waves = divide_up(result.ctas, std::uint64_t{result.ctas_per_sm} * spec.sms());
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

std::vector<Pass> simulate(const MachineSpec& spec, const Options& options, std::span<const Signature> launches,
                           std::vector<std::uint32_t> chosen, const KeptRun* kept, std::uint64_t number) {
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
            if (workload == nullptr) workload = std::make_unique<ChosenLaunches>(options.open(), chosen, from, options.warm);
            workload->leave_out(begin);
            passes.push_back(simulate_segment(spec, options, *workload, std::span(chosen).subspan(begin, ends[s] - begin), ends[s]));
            if (!passes.back().result.partial.empty()) break;
            if (kept != nullptr) kept->save(part, to_bytes(passes.back()));
        }
        begin = ends[s];
    }
    return passes;
}

}  // namespace mergelane::sampling
