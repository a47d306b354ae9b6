// SPDX-License-Identifier: MIT
#include "advise/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "advise/parallel.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "report/instructions.hpp"

namespace mergelane {

namespace {

// Thresholds of the locality classes, as shares:
constexpr double kSome = 0.1, kMany = 0.25, kMost = 0.8;
constexpr double kMuchLess = 0.4;  ///< of common lines, those of which different parts are used
constexpr double kScattered = 8;   ///< lines of a warp's load

bool about_equal(double a, double b, double slack) {
    return std::abs(a - b) <= slack * std::max(std::abs(a), std::abs(b));
}

/// Candidates whose simulation would be the same.
bool alike(const Prediction& a, const Prediction& b) {
    return about_equal(a.cycles, b.cycles, 0.002) &&
           about_equal(static_cast<double>(a.traffic.l1_misses), static_cast<double>(b.traffic.l1_misses), 0.005) &&
           about_equal(static_cast<double>(a.traffic.l2_misses), static_cast<double>(b.traffic.l2_misses), 0.005);
}

/// The unchanged workload, then the most promising candidates, without duplicates unless there is time for all.
std::vector<std::size_t> worth_trying(const Forecast& forecast, std::uint32_t most) {
    std::vector<Prediction> totals;
    for (std::size_t c = 0; c < forecast.candidates.size(); ++c) totals.push_back(forecast.total(c));
    std::vector<std::size_t> order(totals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin() + 1, order.end(), [&](std::size_t a, std::size_t b) { return totals[a].cycles < totals[b].cycles; });
    if (order.size() <= most + std::size_t{1}) return order;
    std::vector<std::size_t> picked = {0};
    for (const std::size_t candidate : order) {
        if (picked.size() > most) break;
        // Agents may gain even if traffic stays the same.
        const auto how = [&](std::size_t c) { return forecast.candidates[c].how; };
        const bool known = std::any_of(picked.begin(), picked.end(), [&](std::size_t other) {
            return how(candidate) == how(other) && alike(totals[candidate], totals[other]);
        });
        if (!known) picked.push_back(candidate);
    }
    return picked;
}

/// Progress of all simulations. Agents all end at the end of a kernel, so finished CTAs say little. Cycles do, once the cycles of the
/// unchanged program are known.
class Trials {
public:
    Trials(const AdviseOptions& options, std::size_t trials, std::uint64_t launches)
        : options_(options), launches_(static_cast<double>(launches)), shares_(trials) {}

    RunOptions options_of(std::size_t trial) {
        RunOptions run = options_.run;
        run.by_instruction = run.by_instruction && trial == 0;
        run.progress = [this, trial](const Progress& p) {
            const std::lock_guard guard(lock_);
            const double kernels = static_cast<double>(p.kernel - 1) + share(p.ctas_done, p.ctas_total);
            tell(trial, unchanged_ == 0 ? kernels / launches_ : share(p.cycles, unchanged_));
        };
        return run;
    }
    void ends(std::size_t trial, std::uint64_t cycles) {
        const std::lock_guard guard(lock_);
        if (trial == 0) unchanged_ = cycles;
        tell(trial, 1);
    }
    std::mutex& lock() { return lock_; }

private:
    void tell(std::size_t trial, double of_trial) {
        shares_[trial] = std::min(1.0, of_trial);
        const double all = std::accumulate(shares_.begin(), shares_.end(), 0.0) / static_cast<double>(shares_.size());
        if (options_.progress) options_.progress("simulating", all);
    }

    const AdviseOptions& options_;
    const double launches_;
    std::mutex lock_;
    std::uint64_t unchanged_ = 0;  ///< cycles
    std::vector<double> shares_;   ///< by trial
};

Trial trial_of(std::size_t candidate, const RunResult& result, const Forecast& forecast) {
    Trial trial;
    trial.candidate = candidate;
    trial.cycles = result.cycles;
    trial.by_kernel.resize(forecast.kernels.size());
    for (const KernelResult& kernel : result.kernels) {
        for (std::size_t k = 0; k < forecast.kernels.size(); ++k) {
            if (forecast.kernels[k].info.name == kernel.name) trial.by_kernel[k] += kernel.cycles;
        }
    }
    trial.l2_sectors = result.stat("l2.sector_accesses");
    trial.dram_sectors = result.stat("dram.sector_reads");
    return trial;
}

void decide(Advice& advice) {
    const Trial& unchanged = advice.trials.front();
    const auto consider = [&](Choice& choice, std::size_t candidate, double gain) {
        if (gain >= advice.least_gain && gain > choice.gain) choice = {candidate, gain};
    };
    for (const Trial& trial : advice.trials) {
        const double gain = advice.gain(trial);
        consider(advice.all, trial.candidate, gain);
        for (std::size_t k = 0; k < advice.kernels.size(); ++k)
            consider(advice.kernels[k].choice, trial.candidate, share(unchanged.by_kernel[k], trial.by_kernel[k]));
        const double predicted = advice.predicted_gain(trial.candidate);
        advice.worst_error = std::max(advice.worst_error, std::max(predicted / gain, gain / predicted) - 1);
    }
}

/// Share of L1 misses that the candidate with the fewest would save.
double most_saved(const std::vector<Prediction>& by_candidate) {
    std::uint64_t least = by_candidate.front().traffic.l1_misses;
    for (const Prediction& prediction : by_candidate) least = std::min(least, prediction.traffic.l1_misses);
    return 1 - share(least, by_candidate.front().traffic.l1_misses);
}

Reason locality_of(const KernelForecast& kernel) {
    const Sharing& sharing = kernel.sharing;
    const AccessLog::Counts& counts = kernel.counts;
    const double found = share(counts.found, counts.watched), in_tables = share(counts.found_shared, counts.watched_shared);
    const double lines = share(counts.load_lines, counts.loads);
    const double same_lines = sharing.ordered_line_reuse(), same_sectors = sharing.ordered_sector_reuse();
    const double passed = share(sharing.passed_sectors, sharing.sectors);
    if (sharing.common_share() > kMost)
        return {Locality::streaming,
                fmt::format("{:.0f} % of the data a CTA accesses is accessed by most others, so no order improves locality",
                            100 * sharing.common_share())};
    if (passed > kSome) return {Locality::write, fmt::format("CTAs write {:.0f} % of the sectors that others read", 100 * passed)};
    if (found > kMany || in_tables > kMost)
        return {Locality::data,
                fmt::format("{:.0f} % of its global loads and {:.0f} % of its shared-memory loads have addresses loaded from memory",
                            100 * found, 100 * in_tables)};
    if (lines > kScattered)
        return {Locality::cache_line,
                fmt::format("a warp's load accesses {:.1f} lines but uses only a part of each; other loads use the rest", lines)};
    if (same_lines > kSome && same_lines - same_sectors > kMuchLess * same_lines)
        return {Locality::cache_line,
                fmt::format("{:.0f} % of the lines that CTAs access are shared with other CTAs, but only {:.0f} % of the 32-byte sectors",
                            100 * same_lines, 100 * same_sectors)};
    if (same_sectors > kSome)
        return {
            Locality::algorithm,
            fmt::format("{:.0f} % of the data CTAs read is also read by other CTAs; the best candidate avoids {:.0f} % of the L1 misses",
                        100 * same_sectors, 100 * most_saved(kernel.by_candidate))};
    return {Locality::streaming, fmt::format("{:.0f} % of the data CTAs access is accessed by others", 100 * same_lines)};
}

}  // namespace

std::string_view locality_name(Locality locality) {
    static constexpr std::string_view kNames[] = {"algorithm-related", "cache-line-related", "data-related", "write-related", "streaming"};
    return kNames[static_cast<std::size_t>(locality)];
}

std::size_t Advice::main_kernel() const {
    const auto most =
        std::max_element(forecast.kernels.begin(), forecast.kernels.end(),
                         [](const KernelForecast& a, const KernelForecast& b) { return a.counts.load_sectors < b.counts.load_sectors; });
    return static_cast<std::size_t>(most - forecast.kernels.begin());
}

const Trial* Advice::trial_of(std::size_t candidate) const {
    const auto found = std::find_if(trials.begin(), trials.end(), [&](const Trial& trial) { return trial.candidate == candidate; });
    return found == trials.end() ? nullptr : &*found;
}

double Advice::gain(const Trial& trial) const {
    return share(trials.front().cycles, trial.cycles);
}

TaskOrder::Kind Advice::direction() const {
    const Sharing& sharing = forecast.kernels[main_kernel()].sharing;
    const auto by = [&](TaskOrder::Kind kind) {
        return std::find(forecast.candidates.begin(), forecast.candidates.end(), Candidate{Candidate::How::agents, kind}) -
               forecast.candidates.begin();
    };
    const auto rows = static_cast<std::size_t>(by(TaskOrder::Kind::rows)), columns = static_cast<std::size_t>(by(TaskOrder::Kind::columns));
    if (columns == forecast.candidates.size() || sharing.ordered_line_reuse() < kSome) return TaskOrder::Kind::columns;
    const auto x = static_cast<double>(sharing.along_x), y = static_cast<double>(sharing.along_y);
    const bool along_rows = about_equal(x, y, kSome) ? forecast.total(rows).cycles < forecast.total(columns).cycles : x > y;
    return along_rows ? TaskOrder::Kind::rows : TaskOrder::Kind::columns;
}

double Advice::predicted_gain(std::size_t candidate) const {
    return forecast.total(0).cycles / forecast.total(candidate).cycles;
}

Advice advise(const Configure& configure, const OpenWorkload& open, const AdviseOptions& options) {
    Advice advice;
    const MachineSpec spec = configure({});
    advice.machine = facts(spec);
    advice.config_hash = config_hash(spec);
    advice.version = version();
    advice.least_gain = options.least_gain;
    ForecastOptions forecast_options = options.forecast;
    forecast_options.threads = options.threads;
    if (options.progress) forecast_options.progress = [&](double share) { options.progress("predicting", share); };
    advice.forecast = forecast(spec, open, forecast_options);
    const std::vector<std::size_t> tries = worth_trying(advice.forecast, options.simulations);
    advice.trials.resize(tries.size());
    Trials trials(options, tries.size(), advice.forecast.launches());
    in_parallel(tries.size(), options.threads, [&](std::size_t i) {
        std::unique_ptr<Workload> workload;
        std::optional<MachineSpec> machine;
        {
            const std::lock_guard guard(trials.lock());
            workload = open();
            machine = configure(advice.forecast.candidates[tries[i]].overrides());
            advice.workload = workload->name();
        }
        RunOptions run_options = trials.options_of(i);
        if (i == 0) run_options.follow_one_of = 1;
        explain::WatchedWorkload watched(std::move(workload));
        const RunResult result = Simulation(std::move(*machine), run_options).run(watched);
        trials.ends(i, result.cycles);
        if (!result.partial.empty()) throw InputError(fmt::format("the simulation did not complete: {}", result.partial));
        advice.trials[i] = trial_of(tries[i], result, advice.forecast);
        if (i == 0) advice.findings = explain::explain(result, watched.facts()).findings;
        if (i == 0 && options.run.by_instruction) {
            advice.waits_text = longest_waits(result);
            advice.waits_json = json_text(instructions_json(result), -1);
        }
    });
    for (const KernelForecast& kernel : advice.forecast.kernels) advice.kernels.push_back({locality_of(kernel), {}});
    decide(advice);
    return advice;
}

}  // namespace mergelane
