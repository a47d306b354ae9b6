// SPDX-License-Identifier: MIT
#include "sampling/sampled_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/model_version.hpp"
#include "core/rng.hpp"
#include "sampling/estimator.hpp"
#include "sampling/kept_run.hpp"
#include "sampling/passes.hpp"
#include "sampling/strata.hpp"
#include "sampling/warming.hpp"
#include "sim/declared.hpp"

namespace mergelane::sampling {

namespace {

constexpr std::uint64_t kPilot = 3;  ///< launches of each stratum in the first pass
constexpr std::uint32_t kMostPasses = 4;

// Found on the training programs of docs/sampling.md, before any other program was sampled.
/// What warming may miss, as shares of totals. Much more if launches evict each other's lines from the L2. Second: what warm-ups within a
/// launch may miss, and that CTAs start together after them.
struct Allowances {
    Allowance cycles;
    Allowance counts;
    Allowance memory_counts;  ///< of L2 and DRAM
};
constexpr Allowances kRoomy{{0.003, 0.02}, {0.005, 0.02}, {0.005, 0.02}};
constexpr Allowances kCrowded{{0.01, 0.02}, {0.005, 0.02}, {0.04, 0.04}};

struct RatioName {
    std::string_view name, above, below;
};
constexpr RatioName kRatios[] = {
    {"L1 hits per access", "l1.sector_hits", "l1.sector_accesses"},
    {"L2 hits per access", "l2.sector_hits", "l2.sector_accesses"},
    {"DRAM row misses per request", "dram.row_misses", "dram.requests"},
};

class SampledRun {
public:
    SampledRun(const MachineSpec& spec, const Options& options) : spec_(spec), options_(options) {}

    RunResult run() {
        const auto start = std::chrono::steady_clock::now();
        if (!options_.keep.empty()) kept_.emplace(options_.keep, identity());
        signatures_ = take_signatures();
        if (launches_.empty()) throw InputError("the workload launches no kernel; there is nothing to sample");
        facts_.signature_seconds = signatures_.seconds;
        chosen_.resize(launches_.size(), false);
        divide();
        for (std::vector<std::uint32_t> next = pilot(); !next.empty(); next = more()) {
            if (!simulate_more(std::move(next))) return std::move(partial_);  // interrupted
        }
        RunResult result = finish();
        result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return result;
    }

private:
    /// Everything that the result depends on.
    RunIdentity identity() const {
        RunIdentity list = {{"the model's version", std::to_string(kModelVersion)},
                            {"the edition", spec_.registry->edition()},
                            {"the workload", options_.identity},
                            {"the machine", spec_.name},
                            {"--error", fmt::format("{}", options_.error)},
                            {"--sample-seed", std::to_string(options_.seed)},
                            {"--sample-by", std::string(kSelectionNames[static_cast<std::size_t>(options_.selection)])},
                            {"--waves", std::to_string(options_.waves)},
                            {"warming", options_.warm ? "on" : "off"},
                            {"--segment", std::to_string(options_.segment_instructions)}};
        MachineSpec copy = spec_;
        for (const SpecField& field : copy.fields().list()) {
            if (field.active) list.emplace_back(field.key, field.value());
        }
        return list;
    }

    Signatures take_signatures() const {
        Signatures taken;
        if (const std::optional<std::string> bytes = kept_ ? kept_->load("signatures") : std::nullopt) {
            if (!from_bytes(*bytes, taken)) kept_->refuse("signatures");
            return taken;
        }
        taken = sampling::take_signatures(spec_, options_);
        const bool interrupted = options_.run.interrupt != nullptr && options_.run.interrupt->load(std::memory_order_relaxed);
        if (kept_ && !interrupted) kept_->save("signatures", to_bytes(taken));
        return taken;
    }

    bool stratified() const { return options_.selection == Selection::stratified; }

    void divide() {
        switch (options_.selection) {
            case Selection::stratified: {
                std::vector<std::uint64_t> missed;
                for (const L2Traffic& launch : traffic_) missed.push_back(launch.missed);
                strata_ = stratify(launches_, missed, options_.seed);
                break;
            }
            case Selection::pka: strata_ = pka_clusters(launches_, options_.seed); break;
            case Selection::sieve: strata_ = sieve_strata(launches_); break;
        }
        Footprint lines;
        for (const Signature& launch : launches_) lines.merge(launch.footprint);
        if (lines.lines() > l2_lines(spec_) / 2) allowances_ = kCrowded;
        stratum_of_.resize(launches_.size());
        for (std::uint32_t s = 0; s < strata_.size(); ++s) {
            for (const std::uint32_t launch : strata_[s]) stratum_of_[launch] = s;
        }
    }

    /// `count` more launches of a stratum: a random one of each of as many stretches of time.
    void choose(std::size_t stratum, std::uint64_t count, std::vector<std::uint32_t>& list) {
        std::vector<std::uint32_t> left;
        for (const std::uint32_t launch : strata_[stratum]) {
            if (!chosen_[launch]) left.push_back(launch);
        }
        count = std::min<std::uint64_t>(count, left.size());
        Rng rng(mix64(options_.seed) + (std::uint64_t{stratum} << 32) + (facts_.passes << 24));
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t begin = i * left.size() / count, end = (i + 1) * left.size() / count;
            list.push_back(left[begin + rng.below(static_cast<std::uint32_t>(end - begin))]);
        }
    }

    std::vector<std::uint32_t> pilot() {
        std::vector<std::uint32_t> list;
        for (std::size_t s = 0; s < strata_.size(); ++s) {
            if (stratified())
                choose(s, kPilot, list);
            else
                list.push_back(options_.selection == Selection::sieve ? sieve_representative(launches_, strata_[s]) : strata_[s].front());
        }
        return list;
    }

    /// What the requested error needs beyond what was simulated.
    std::vector<std::uint32_t> more() {
        std::vector<std::uint32_t> list;
        if (!stratified() || facts_.passes == kMostPasses) return list;
        const std::vector<StratumSample> cycles = explained(samples([](const Part& part) { return part.span; }), covariates());
        const std::vector<std::uint64_t> counts = Estimator(cycles).allocate(options_.error, allowances_.cycles);
        for (std::size_t s = 0; s < strata_.size(); ++s) choose(s, counts[s] - cycles[s].values.size(), list);
        return list;
    }

    bool simulate_more(std::vector<std::uint32_t> list) {
        std::sort(list.begin(), list.end());
        for (const std::uint32_t launch : list) chosen_[launch] = true;
        std::vector<Pass> segments = simulate(spec_, options_, signatures_, list, kept_ ? &*kept_ : nullptr, facts_.passes + 1);
        ++facts_.passes;
        for (Pass& segment : segments) {
            if (!add_segment(segment)) return false;
        }
        std::sort(simulated_.begin(), simulated_.end(), [](const Simulated& a, const Simulated& b) { return a.launch < b.launch; });
        return true;
    }

    /// False if it was interrupted.
    bool add_segment(Pass& segment) {
        facts_.simulation_seconds += segment.seconds - segment.warming_seconds;
        facts_.warming_seconds += segment.warming_seconds;
        facts_.warmed_launches += segment.warmed;
        if (!segment.result.partial.empty()) {
            partial_ = std::move(segment.result);
            return false;
        }
        hasher_.add(segment.result.digest);
        ++segments_;
        for (Simulated& launch : segment.launches) {
            add_stretch_covariates(launch);
            simulated_.push_back(std::move(launch));
        }
        merge_result(segment.result);
        return true;
    }

    /// Adds what has no estimate: times of loads, counts by unit and highest counts.
    void merge_result(RunResult& more) {
        if (segments_ == 1) {
            sum_ = std::move(more);
            return;
        }
        const auto add = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
            for (std::size_t i = 0; i < to.size() && i < from.size(); ++i) to[i] += from[i];
        };
        sum_.load_times.loads += more.load_times.loads;
        sum_.load_times.total += more.load_times.total;
        add(sum_.load_times.spent, more.load_times.spent);
        add(sum_.load_times.stalled, more.load_times.stalled);
        for (std::size_t u = 0; u < sum_.per_unit.size(); ++u) add(sum_.per_unit[u].second, more.per_unit[u].second);
        for (std::size_t i = 0; i < sum_.stats.size(); ++i) sum_.stats[i].highest = std::max(sum_.stats[i].highest, more.stats[i].highest);
        sum_.cpu_seconds = more.cpu_seconds;
    }

    /// What was counted in a launch or a part of it.
    struct Part {
        double span, cycles;
        std::span<const std::uint64_t> values;
        explicit Part(const Simulated& launch)
            : span(static_cast<double>(launch.span)), cycles(static_cast<double>(launch.result.cycles)), values(launch.result.values) {}
        explicit Part(const Counts& stretch)
            : span(static_cast<double>(stretch.span)), cycles(static_cast<double>(stretch.cycles)), values(stretch.values) {}
        /// May be negative in a stretch.
        double count(std::size_t index) const { return static_cast<double>(static_cast<std::int64_t>(values[index])); }
    };

    /// Of the stretches that were not simulated, if the launch was simulated in pieces. `value` must be linear.
    template <class Value>
    PartTotal between(const Simulated& launch, Value value) const {
        if (launch.stretches.empty()) return {};
        std::vector<double> values;
        for (const Counts& stretch : launch.stretches) values.push_back(value(Part(stretch)));
        return total_of_stretches(signatures_.parts[launch.launch].between(), std::move(values), stretch_covariates_.at(launch.launch));
    }

    void add_stretch_covariates(const Simulated& launch) {
        if (launch.stretches.empty()) return;
        const LongLaunch& parts = signatures_.parts[launch.launch];
        std::vector<Covariate>& list = stretch_covariates_[launch.launch];
        for (std::size_t which = 0; which < kCovariates; ++which) {
            Covariate& covariate = list.emplace_back();
            covariate.values.resize(1);
            covariate.totals.resize(1);
            for (const std::uint32_t chosen : launch.chosen)
                covariate.values.front().push_back(static_cast<double>(parts.known[chosen][which]));
            for (std::size_t s = 1; s + 1 < parts.stretches(); ++s) covariate.totals.front() += static_cast<double>(parts.known[s][which]);
        }
    }

    template <class Value>
    std::vector<StratumSample> samples(Value value) const {
        std::vector<StratumSample> list(strata_.size());
        for (std::uint32_t s = 0; s < strata_.size(); ++s) {
            list[s].launches = strata_[s].size();
            list[s].cost = static_cast<double>(instructions(s)) / static_cast<double>(strata_[s].size());
        }
        for (const Simulated& launch : simulated_) {
            StratumSample& stratum = list[stratum_of_[launch.launch]];
            const PartTotal rest = between(launch, value);
            stratum.values.push_back(value(Part(launch)) + rest.value);
            if (!launch.stretches.empty()) stratum.parts += std::abs(stratum.values.back());
            stratum.within += rest.variance;
            if (rest.freedom > 0) stratum.within_squares += rest.variance * rest.variance / rest.freedom;
        }
        // Sieve: a launch stands for as many instructions, not for as many launches.
        for (std::uint32_t s = 0; s < strata_.size() && options_.selection == Selection::sieve; ++s) {
            const auto own = static_cast<double>(launches_[sieve_representative(launches_, strata_[s])].warp_instructions);
            for (double& one : list[s].values) one *= own > 0 ? list[s].cost / own : 1;
        }
        return list;
    }

    /// What signatures and the L2 without timing say of every launch.
    std::vector<Covariate> covariates() const {
        const auto of = [&](std::uint32_t launch, std::size_t which) {
            return static_cast<double>(known_of(launches_[launch], traffic_[launch])[which]);
        };
        std::vector<Covariate> list(kCovariates);
        for (std::size_t which = 0; which < kCovariates; ++which) {
            list[which].values.resize(strata_.size());
            list[which].totals.resize(strata_.size());
            for (std::uint32_t launch = 0; launch < launches_.size(); ++launch)
                list[which].totals[stratum_of_[launch]] += of(launch, which);
            for (const Simulated& launch : simulated_) list[which].values[stratum_of_[launch.launch]].push_back(of(launch.launch, which));
        }
        return list;
    }

    std::uint64_t instructions(std::size_t stratum) const {
        std::uint64_t sum = 0;
        for (const std::uint32_t launch : strata_[stratum]) sum += launches_[launch].warp_instructions;
        return sum;
    }

    template <class Value>
    Estimate estimate(Value value, const Allowance& allowance) const {
        if (!stratified()) return {Estimator(samples(value)).total().value, 0};
        const bool exact = segments_ == 1 && simulated_.size() == launches_.size();
        return Estimator(explained(samples(value), covariates_)).total(exact ? Allowance{0, allowance.parts_share} : allowance);
    }

    void describe() {
        facts_.requested_error = stratified() ? options_.error : 0;
        facts_.launches = launches_.size();
        facts_.simulated = simulated_.size();
        for (const Signature& launch : launches_) facts_.warp_instructions += launch.warp_instructions;
        std::vector<std::uint64_t> simulated(strata_.size());
        std::vector<StratumSample> waves = samples([](const Part&) { return 0.0; });
        for (StratumSample& stratum : waves) stratum.values.clear();
        for (const Simulated& launch : simulated_) {
            const LongLaunch& parts = signatures_.parts[launch.launch];
            facts_.simulated_instructions += parts.any() ? launch.warp_instructions : launches_[launch.launch].warp_instructions;
            facts_.simulated_waves += launch.waves;
            const std::uint64_t all = parts.any() ? divide_up(launches_[launch.launch].ctas(), parts.wave) : launch.waves;
            waves[stratum_of_[launch.launch]].values.push_back(static_cast<double>(all));
            if (!parts.any()) continue;
            ++facts_.launches_in_parts;
            facts_.stretches += parts.between();
            facts_.simulated_stretches += launch.stretches.size();
        }
        for (std::size_t s = 0; s < strata_.size(); ++s) {
            facts_.strata.push_back({launches_[strata_[s].front()].kernel, strata_[s].size(), waves[s].values.size(), instructions(s),
                                     strata_[s].front() + 1ull});
        }
        facts_.waves = static_cast<std::uint64_t>(std::llround(Estimator(waves).total().value));
    }

    void estimate_all(RunResult& result) {
        const auto span = [](const Part& part) { return part.span; };
        const auto cycles = [](const Part& part) { return part.cycles; };
        covariates_ = covariates();
        facts_.cycles = estimate(span, allowances_.cycles);
        // The run begins with a launch latency and ends with its last CTA.
        facts_.cycles.value += static_cast<double>(spec_.dispatch.launch_latency) - static_cast<double>(simulated_.back().gap);
        facts_.kernel_cycles = estimate(cycles, allowances_.cycles);
        const auto counter = [&](std::size_t index) { return [index](const Part& part) { return part.count(index); }; };
        for (std::size_t i = 0; i < result.stats.size(); ++i) {
            const bool memory = result.stats[i].name.starts_with("l2.") || result.stats[i].name.starts_with("dram.");
            facts_.stats.push_back(estimate(counter(i), memory ? allowances_.memory_counts : allowances_.counts));
            result.stats[i].value = static_cast<std::uint64_t>(std::llround(facts_.stats.back().value));
        }
        const auto place = [&](std::string_view name) {
            const auto at =
                std::find_if(result.stats.begin(), result.stats.end(), [&](const StatValue& stat) { return stat.name == name; });
            return static_cast<std::size_t>(at - result.stats.begin());
        };
        if (!stratified()) return;
        const auto add_ratio = [&](std::string_view name, const auto& above, const auto& below) {
            const double whole = estimate(below, {}).value;
            const double value = whole > 0 ? estimate(above, {}).value / whole : 0;
            const auto residual = [&](const Part& part) { return above(part) - value * below(part); };
            const Quotient made = quotient(value, whole, explained(samples(residual), covariates_), options_.seed);
            facts_.ratios.push_back({std::string(name), made.analytic, made.low, made.high});
        };
        add_ratio("IPC", counter(place("sm.warp_instructions")), span);
        for (const RatioName& ratio : kRatios) {
            if (result.has_stat(ratio.above) && result.has_stat(ratio.below))
                add_ratio(ratio.name, counter(place(ratio.above)), counter(place(ratio.below)));
        }
    }

    /// A launch that was simulated in pieces with what is estimated of the others.
    KernelResult whole(Simulated& launch) const {
        if (launch.stretches.empty()) return std::move(launch.result);
        const auto rounded = [](double value) { return static_cast<std::uint64_t>(std::max<long long>(std::llround(value), 0)); };
        KernelResult made = launch.result;
        made.ctas = launches_[launch.launch].ctas();
        made.warp_instructions = launches_[launch.launch].warp_instructions;
        made.cycles += rounded(between(launch, [](const Part& part) { return part.cycles; }).value);
        for (std::size_t i = 0; i < made.values.size(); ++i)
            made.values[i] += rounded(between(launch, [i](const Part& part) { return part.count(i); }).value);
        return made;
    }

    RunResult finish() {
        RunResult result = std::move(sum_);
        describe();
        estimate_all(result);
        result.cycles = static_cast<std::uint64_t>(std::llround(facts_.cycles.value));
        result.warp_instructions = result.stat("sm.warp_instructions");
        result.kernels.clear();
        for (Simulated& launch : simulated_) result.kernels.push_back(whole(launch));
        for (const Estimate& one : facts_.stats) hasher_.add(static_cast<std::uint64_t>(std::llround(one.high())));
        result.sample = std::move(facts_);
        result.metrics = metrics_of(spec_, result);
        result.digest = hasher_.hex();
        return result;
    }

    const MachineSpec& spec_;
    const Options& options_;

    Signatures signatures_;
    const std::vector<Signature>& launches_ = signatures_.launches;
    const std::vector<L2Traffic>& traffic_ = signatures_.traffic;
    std::map<std::uint32_t, std::vector<Covariate>> stretch_covariates_;  ///< by launch that was simulated in pieces
    std::vector<std::uint32_t> stratum_of_;
    std::vector<Covariate> covariates_;
    Allowances allowances_ = kRoomy;
    Strata strata_;
    std::vector<bool> chosen_;
    std::vector<Simulated> simulated_;
    std::optional<KeptRun> kept_;
    RunResult partial_;           ///< of the segment that was interrupted
    RunResult sum_;               ///< of all segments
    std::uint64_t segments_ = 0;  ///< simulated, of all passes
    SampleFacts facts_;
    Hasher hasher_;
};

}  // namespace

RunResult run(const MachineSpec& spec, const Options& options) {
    return SampledRun(spec, options).run();
}

}  // namespace mergelane::sampling
