// SPDX-License-Identifier: MIT
// `mergelane reproduce`: from selected experiments to a plan, and from finished runs to an evaluated study.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runs/plan.hpp"
#include "runs/store.hpp"
#include "study/judge.hpp"
#include "study/published.hpp"
#include "study/study_spec.hpp"

namespace mergelane::study {

/// Selected experiments of a paper; empty: all.
struct Choice {
    std::vector<std::string> experiments;  ///< "ICC-5" or "5"
    std::vector<std::string> figures;      ///< "10", "Fig 10" or "6.4"
    bool baseline_only = false;
};
/// In the order of the paper. Throws InputError for unknown experiments.
std::vector<const ExperimentSpec*> choose(const StudySpec& study, const Choice& choice);

using Properties = std::vector<std::pair<std::string, std::string>>;

struct StudyRun {
    PlannedRun run;
    const RunRecord* record = nullptr;  ///< finished or failed; none: not run
};

/// Everything a report needs.
struct StudyResult {
    std::string paper, title, version, size;
    std::vector<std::uint64_t> seeds;  ///< the first one's results are shown, the others' spread
    std::vector<std::string> seeded;   ///< workloads for which they matter
    std::string machine, machine_hash;
    Properties machine_facts;
    double network_to_dram = 0;  ///< bandwidth of the network's L2 side over that of DRAM
    std::vector<Experiment> experiments;
    std::vector<std::pair<std::string, Properties>> workloads;
    std::vector<StudyRun> runs;

    std::size_t count(Verdict verdict) const;
};

/// Some experiments of a study at one size. The study must outlive it.
class Study {
public:
    /// With `seeds` inputs from `seed` on; workloads that ask the same of memory for any input run with the first only.
    Study(const StudySpec& spec, std::vector<const ExperimentSpec*> experiments, std::string size, std::uint64_t seed,
          std::uint32_t seeds = 1);

    const Plan& plan() const { return plan_; }
    const std::vector<const ExperimentSpec*>& experiments() const { return experiments_; }
    /// Runs of one experiment, those it shares with others included.
    std::vector<std::size_t> runs_of(const ExperimentSpec& experiment) const;
    StudyResult judge(const StoreContents& contents, const Published& published) const;

private:
    const StudySpec& spec_;
    std::vector<const ExperimentSpec*> experiments_;
    std::string size_;
    std::vector<std::uint64_t> seeds_;
    Plan plan_;
    std::map<std::string, std::size_t> run_of_;  ///< by configuration, workload and seed

    /// Of a workload's runs that show the study's seed `seed`.
    std::uint64_t seed_of(const StudyWorkload& workload, std::uint64_t seed) const {
        if (workload.seed != 0) return workload.seed;
        return workload.seeded ? seed : seeds_.front();
    }
    const std::string& size_of(const StudyWorkload& workload) const {
        return workload.size.empty() || size_ != "paper" ? size_ : workload.size;
    }
    std::string run_name(const Configuration& configuration, const StudyWorkload& workload, std::uint64_t seed) const;
    std::vector<Experiment> judge_seed(std::uint64_t seed, const StoreContents& contents, const Published& published) const;
};

}  // namespace mergelane::study
