// SPDX-License-Identifier: MIT
// Which simulations a study needs: each of them once, under a key that says everything its result depends on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model_version.hpp"
#include "sim/built_in.hpp"
#include "workload/suite/ptx_executor.hpp"

namespace mergelane::study {

/// Of the form of keys and records; a new one makes old records unknown. A statistic that is added changes neither: who asks for one that
/// a record does not have is told so.
inline constexpr int kSchema = 2;

/// One simulation: a machine and a benchmark program.
struct RunSpec {
    std::string gpu;                     ///< preset or .toml file
    std::vector<std::string> overrides;  ///< "key=value", applied in this order
    std::string workload;
    std::string size;
    std::uint64_t seed = 1;
    std::string kernels = {};  ///< which of the workload's: "3", "2-5" or "4-"; empty: all
};

/// What the functional execution has to do for a choice of kernels. Throws InputError when it is none.
suite::ExecutorOptions launches(const std::string& kernels);

struct PlannedRun {
    RunSpec spec;
    std::string key;
    double threads = 0;  ///< launched by the workload: a first guess of what the run costs
};

/// Hash of whatever a result depends on: schema, model, the configuration that is used, the workload and what it does (the key of its
/// recording). The product's version and the sources are no part of it, so a changed comment or message reruns nothing.
/// `edition`: of what users have added to the model.
/// Instead of a machine: the workload is only profiled, and its reuse of lines is what its record counts.
inline constexpr std::string_view kNoMachine = "none";
inline constexpr std::string_view kProfileCounts[] = {"profile.intra_cta_reuses", "profile.inter_cta_reuses", "profile.lines"};

std::string run_key(std::string_view config_hash, const RunSpec& spec, std::string_view recording, std::uint32_t model = kModelVersion,
                    std::string_view edition = "");

/// Runs in the order they were first asked for. Nothing in it depends on host, time or a cache directory.
class Plan {
public:
    explicit Plan(const Registry& registry = built_in()) : registry_(&registry) {}

    /// The index of the run; asking twice for the same simulation, however it is written, gives the same one. Throws InputError for a
    /// machine or workload there is not.
    std::size_t add(const RunSpec& spec);
    const std::vector<PlannedRun>& runs() const { return runs_; }
    /// Of a machine that was asked for.
    const std::string& config_hash_of(const std::string& gpu, const std::vector<std::string>& overrides);

private:
    struct WorkloadFacts {
        std::string recording;  ///< its key
        double threads = 0;
    };
    const WorkloadFacts& facts_of(const RunSpec& spec);

    const Registry* registry_;
    std::vector<PlannedRun> runs_;
    std::map<std::string, std::size_t> by_key_;
    std::map<std::string, std::string> config_hashes_;
    std::map<std::string, WorkloadFacts> workloads_;
};

}  // namespace mergelane::study
