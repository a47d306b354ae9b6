// SPDX-License-Identifier: MIT
#include "study/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "files/toml_text.hpp"
#include "sim/declared.hpp"
#include "sim/simulation.hpp"
#include "study/study_judge.hpp"

namespace mergelane::study {

namespace {

bool is_experiment(const ExperimentSpec& e, std::string_view text) {
    return e.id == text || (text.find('-') == std::string_view::npos && e.id.ends_with(fmt::format("-{}", text)));
}

bool is_figure(const ExperimentSpec& e, std::string_view text) {
    return e.figure == text || e.figure == fmt::format("Fig {}", text) || e.figure == fmt::format("Sec {}", text);
}

/// Characteristics of a workload, from the baseline run.
Properties properties_of(const RunRecord& r, const MachineSpec& m) {
    const auto s = [&](const char* name) { return static_cast<double>(r.stat(name)); };
    const auto percent = [](double part, double whole) {
        return whole == 0 ? std::string("-") : fmt::format("{:.1f} %", 100 * part / whole);
    };
    const double ports = std::min(m.gpu.clusters, m.slices());
    const double slots = ports * static_cast<double>(r.cycles) * m.gpu.noc_mhz / m.gpu.core_mhz;
    const double reads = s("l1.sector_accesses") - s("l1.sector_write_accesses");
    const std::string icl = r.has_stat("locality.reads")  // where it is measured
                                ? percent(s("locality.line_sharing_2000") + s("locality.data_sharing_2000"), s("locality.reads"))
                                : "-";
    return {{"cycles", fmt::format("{}", r.cycles)},
            {"warp instructions", fmt::format("{}", r.warp_instructions)},
            {"ICL (W=2000)", icl},
            {"active lanes",
             s("sm.warp_instructions") == 0 ? "-" : fmt::format("{:.1f}", s("sm.thread_instructions") / s("sm.warp_instructions"))},
            {"read share of network requests", percent(s("noc.request.read_packets"), s("noc.request.packets"))},
            {"L1 load hit rate", percent(s("l1.sector_hits"), reads)},
            {"L2 hit rate", percent(s("l2.sector_hits"), s("l2.sector_accesses"))},
            {"NoC utilisation, requests", percent(s("noc.request.flits"), slots)},
            {"NoC utilisation, replies", percent(s("noc.reply.flits"), slots)}};
}

/// Adds what another seed gave to the spread of each criterion.
void widen(Criterion& c, const Criterion& other) {
    if (!c.seeds) c.seeds = Criterion::Spread{};
    c.seeds->verdict_varies = c.seeds->verdict_varies || other.verdict != c.verdict;
    const double* first = std::get_if<double>(&c.measured);
    const double* more = std::get_if<double>(&other.measured);
    if (first == nullptr || more == nullptr) return;
    if (is_missing(c.seeds->least)) c.seeds->least = c.seeds->most = *first;
    c.seeds->least = std::min(c.seeds->least, *more);
    c.seeds->most = std::max(c.seeds->most, *more);
}

}  // namespace

std::vector<const ExperimentSpec*> choose(const StudySpec& study, const Choice& choice) {
    const std::vector<ExperimentSpec>& list = study.experiments;
    const auto check = [&](const std::string& word, std::string_view kind, auto member, const auto& matches) {
        if (std::none_of(list.begin(), list.end(), [&](const ExperimentSpec& e) { return matches(e, word); })) {
            auto names = names_of(list, member);  // figures without a number have one name
            std::set<std::string> seen;
            std::erase_if(names, [&](const auto& name) { return !seen.insert(name).second; });
            throw InputError(unknown_name(kind, word, names));
        }
    };
    for (const std::string& word : choice.experiments) check(word, "experiment", &ExperimentSpec::id, is_experiment);
    for (const std::string& word : choice.figures) check(word, "figure", &ExperimentSpec::figure, is_figure);
    const bool all = choice.experiments.empty() && choice.figures.empty();
    std::vector<const ExperimentSpec*> chosen;
    for (const ExperimentSpec& e : list) {
        const bool named =
            std::any_of(choice.experiments.begin(), choice.experiments.end(), [&](const auto& w) { return is_experiment(e, w); }) ||
            std::any_of(choice.figures.begin(), choice.figures.end(), [&](const auto& w) { return is_figure(e, w); });
        if (named && choice.baseline_only && !e.baseline)
            throw InputError(fmt::format("{} is not a baseline experiment; omit --baseline-only", e.id));
        if ((all || named) && (!choice.baseline_only || e.baseline)) chosen.push_back(&e);
    }
    return chosen;
}

std::size_t StudyResult::count(Verdict verdict) const {
    return static_cast<std::size_t>(
        std::count_if(experiments.begin(), experiments.end(), [&](const Experiment& e) { return e.verdict() == verdict; }));
}

Study::Study(const StudySpec& spec, std::vector<const ExperimentSpec*> experiments, std::string size, std::uint64_t seed,
             std::uint32_t seeds)
    : spec_(spec), experiments_(std::move(experiments)), size_(std::move(size)), plan_(*spec.registry) {
    for (std::uint32_t i = 0; i < seeds; ++i) seeds_.push_back(seed + i);
    for (const ExperimentSpec* experiment : experiments_) {
        for (const std::string& name : experiment->configurations) {
            const Configuration& configuration = *spec_.find(name);
            for (const StudyWorkload& workload : spec_.seen_by(*experiment).workloads) {
                for (const std::uint64_t s : seeds_) {
                    if (s != seed && (!workload.seeded || workload.seed != 0)) continue;
                    run_of_.emplace(run_name(configuration, workload, s),
                                    plan_.add({spec_.machine_of(configuration), overrides_of(configuration, workload), workload.program,
                                               size_of(workload), seed_of(workload, s), workload.kernels}));
                }
            }
        }
    }
}

std::string Study::run_name(const Configuration& configuration, const StudyWorkload& workload, std::uint64_t seed) const {
    return fmt::format("{}\n{}\n{} {} {}\n{}", spec_.machine_of(configuration), fmt::join(overrides_of(configuration, workload), "\n"),
                       workload.program, size_of(workload), workload.kernels, seed_of(workload, seed));
}

std::vector<std::size_t> Study::runs_of(const ExperimentSpec& experiment) const {
    std::vector<std::size_t> list;
    for (const std::string& name : experiment.configurations) {
        for (const StudyWorkload& workload : spec_.seen_by(experiment).workloads) {
            for (const std::uint64_t seed : seeds_) list.push_back(run_of_.at(run_name(*spec_.find(name), workload, seed)));
        }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

std::vector<Experiment> Study::judge_seed(std::uint64_t seed, const StoreContents& contents, const Published& published) const {
    Sources sources = installed_sources(spec_);
    sources.run = [&](const Configuration& c, const StudyWorkload& w) -> const RunRecord* {
        const auto at = run_of_.find(run_name(c, w, seed));
        return at == run_of_.end() ? nullptr : contents.finished(plan_.run(at->second).key);
    };
    std::vector<Experiment> list;
    for (const ExperimentSpec* experiment : experiments_) {
        const StudySpec seen = spec_.seen_by(*experiment);
        list.push_back(study::judge(*experiment, Measurements(seen, sources), published));
        // Grids smaller than the machine are not evaluated; criteria without runs are the same at any size.
        if (size_ == "tiny" && !experiment->configurations.empty()) list.back().do_not_judge();
    }
    return list;
}

StudyResult Study::judge(const StoreContents& contents, const Published& published) const {
    const LoadedConfig machine = load_config(spec_.machine, {}, default_preset_dirs(), *spec_.registry);
    StudyResult result;
    result.paper = spec_.paper;
    result.title = spec_.title;
    result.version = version();
    result.size = size_;
    result.machine = spec_.machine;
    result.machine_hash = config_hash(machine.spec);
    result.machine_facts = machine_description(machine.spec);
    result.network_to_dram = network_to_dram_bandwidth(machine.spec);
    const auto record_of = [&](std::size_t run) -> const RunRecord* {
        const auto at = contents.runs.find(plan_.run(run).key);
        return at == contents.runs.end() ? nullptr : &at->second;
    };
    result.seeds = seeds_;
    result.experiments = judge_seed(seeds_.front(), contents, published);
    for (std::size_t i = 1; i < seeds_.size(); ++i) {
        const std::vector<Experiment> others = judge_seed(seeds_[i], contents, published);
        for (std::size_t e = 0; e < others.size(); ++e) {
            for (std::size_t c = 0; c < others[e].criteria.size(); ++c) widen(result.experiments[e].criteria[c], others[e].criteria[c]);
        }
    }
    for (const StudyWorkload& workload : spec_.workloads) {
        if (workload.seeded) result.seeded.push_back(workload.name);
        const auto run = run_of_.find(run_name(*spec_.find(spec_.reference), workload, seeds_.front()));
        const RunRecord* base = run == run_of_.end() ? nullptr : contents.finished(plan_.run(run->second).key);
        if (base != nullptr) result.workloads.emplace_back(workload.name, properties_of(*base, machine.spec));
    }
    for (std::size_t i = 0; i < plan_.size(); ++i) result.runs.push_back({plan_.run(i), record_of(i)});
    return result;
}

}  // namespace mergelane::study
