// SPDX-License-Identifier: MIT
#include "advise/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"

namespace mergelane {

namespace {

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

bool about_equal(double a, double b, double slack) {
    return std::abs(a - b) <= slack * std::max(std::abs(a), std::abs(b));
}

/// Candidates that would be the same to simulate.
bool alike(const Prediction& a, const Prediction& b) {
    return about_equal(a.cycles, b.cycles, 0.002) &&
           about_equal(static_cast<double>(a.traffic.l1_misses), static_cast<double>(b.traffic.l1_misses), 0.005) &&
           about_equal(static_cast<double>(a.traffic.l2_misses), static_cast<double>(b.traffic.l2_misses), 0.005);
}

/// The unchanged workload, then those that promise most, no two alike.
std::vector<std::size_t> worth_trying(const Forecast& forecast, std::uint32_t most) {
    std::vector<Prediction> totals;
    for (std::size_t c = 0; c < forecast.candidates.size(); ++c) totals.push_back(forecast.total(c));
    std::vector<std::size_t> order(totals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin() + 1, order.end(), [&](std::size_t a, std::size_t b) { return totals[a].cycles < totals[b].cycles; });
    std::vector<std::size_t> picked = {0};
    for (const std::size_t candidate : order) {
        if (picked.size() > most) break;
        const bool known =
            std::any_of(picked.begin(), picked.end(), [&](std::size_t other) { return alike(totals[candidate], totals[other]); });
        if (!known) picked.push_back(candidate);
    }
    return picked;
}

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

void decide(Advice& advice, double least_gain) {
    const Trial& unchanged = advice.trials.front();
    for (const Trial& trial : advice.trials) {
        const double gain = share(unchanged.cycles, trial.cycles);
        if (gain >= least_gain && gain > advice.all.gain) advice.all = {advice.all.reason, trial.candidate, gain};
        for (std::size_t k = 0; k < advice.kernels.size(); ++k) {
            KernelAdvice& kernel = advice.kernels[k];
            const double of_kernel = share(unchanged.by_kernel[k], trial.by_kernel[k]);
            if (of_kernel >= least_gain && of_kernel > kernel.gain) kernel = {kernel.reason, trial.candidate, of_kernel};
        }
        const double predicted = advice.forecast.total(0).cycles / advice.forecast.total(trial.candidate).cycles;
        advice.worst_error = std::max(advice.worst_error, std::max(predicted / gain, gain / predicted) - 1);
    }
}

/// Of the L1s' misses, what the best order with all CTAs at work would save.
double saved_by_order(const KernelForecast& kernel, const std::vector<Prediction>& by_candidate) {
    std::uint64_t least = by_candidate.front().traffic.l1_misses;
    for (const Prediction& prediction : by_candidate) least = std::min(least, prediction.traffic.l1_misses);
    static_cast<void>(kernel);
    return 1 - share(least, by_candidate.front().traffic.l1_misses);
}

}  // namespace

std::string_view locality_name(Locality locality) {
    switch (locality) {
        case Locality::algorithm: return "algorithm-related";
        case Locality::cache_line: return "cache-line-related";
        case Locality::data: return "data-related";
        case Locality::write: return "write-related";
        case Locality::streaming: break;
    }
    return "streaming";
}

Reason locality_of(const KernelForecast& kernel) {
    const Sharing& sharing = kernel.sharing;
    const AccessLog::Counts& counts = kernel.counts;
    const double found = share(counts.found, counts.watched);
    const double lines = share(counts.load_lines, counts.loads);
    const double same_lines = sharing.line_reuse(), same_sectors = sharing.sector_reuse();
    const double passed = share(sharing.passed_sectors, sharing.sectors);
    const double saved = saved_by_order(kernel, kernel.by_candidate);
    if (passed > 0.1) return {Locality::write, fmt::format("CTAs write {:.0f} % of the sectors that others read", 100 * passed)};
    if (found > 0.25) return {Locality::data, fmt::format("{:.0f} % of its loads have addresses that come from memory", 100 * found)};
    if (lines > 8)
        return {Locality::cache_line,
                fmt::format("a warp's load touches {:.1f} lines, of which it uses a part each; other loads use the rest", lines)};
    if (same_lines > 0.1 && same_lines - same_sectors > 0.4 * same_lines)
        return {Locality::cache_line,
                fmt::format("{:.0f} % of the lines that CTAs touch are touched by others too, but only {:.0f} % of the 32-byte parts",
                            100 * same_lines, 100 * same_sectors)};
    if (same_sectors > 0.1)
        return {Locality::algorithm,
                fmt::format("{:.0f} % of what CTAs read is read by others too; the best order saves {:.0f} % of the L1s' misses",
                            100 * same_sectors, 100 * saved)};
    return {Locality::streaming, fmt::format("{:.0f} % of what CTAs touch is touched by others", 100 * same_lines)};
}

Advice advise(const Configure& configure, const OpenWorkload& open, const AdviseOptions& options) {
    Advice advice;
    const MachineSpec spec = configure({});
    advice.machine = facts(spec);
    advice.config_hash = config_hash(spec);
    advice.version = version();
    advice.forecast = forecast(spec, open, options.forecast);
    const std::vector<std::size_t> tries = worth_trying(advice.forecast, options.simulations);
    for (const std::size_t candidate : tries) {
        if (options.begins) options.begins(advice.trials.size() + 1, tries.size());
        const std::unique_ptr<Workload> workload = open();
        advice.workload = workload->name();
        Simulation simulation(configure(advice.forecast.candidates[candidate].overrides()), options.run);
        const RunResult result = simulation.run(*workload);
        if (!result.partial.empty()) throw InputError(fmt::format("the simulation did not run to its end: {}", result.partial));
        advice.trials.push_back(trial_of(candidate, result, advice.forecast));
    }
    for (const KernelForecast& kernel : advice.forecast.kernels) advice.kernels.push_back({locality_of(kernel), 0, 1});
    decide(advice, options.least_gain);
    return advice;
}

}  // namespace mergelane
