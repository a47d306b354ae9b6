// SPDX-License-Identifier: MIT
// Which simulations a study or a campaign needs: each of them once, under a key that says everything its result depends on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/hash.hpp"
#include "core/model_version.hpp"
#include "sim/built_in.hpp"
#include "workload/suite/ptx_executor.hpp"

namespace mergelane::study {

/// Of the form of keys and records; a new one makes old records unknown. A statistic that is added changes neither: who asks for one that
/// a record does not have is told so.
inline constexpr int kSchema = 3;

/// One simulation: a machine and a workload.
struct RunSpec {
    std::string gpu;                     ///< preset or .toml file
    std::vector<std::string> overrides;  ///< "key=value", applied in this order
    std::string workload;                ///< benchmark or workload file (workload/file)
    std::string size;                    ///< of a benchmark
    std::uint64_t seed = 1;              ///< of a benchmark
    std::string kernels = {};            ///< which of the workload's: "3", "2-5" or "4-"; empty: all
    std::string sample = {};             ///< a sampled run: its options (sample_choice.hpp); empty: all launches are simulated
};

/// Of what the workload does: the key of a benchmark's recording, or the content of a file. Throws InputError.
std::string recording_key(const RunSpec& spec);

/// What the functional execution has to do for a choice of kernels. Throws InputError when it is none.
suite::ExecutorOptions launches(const std::string& kernels);

struct PlannedRun {
    RunSpec spec;
    std::string key;
    double threads = 0;  ///< launched by the workload: a first guess of what the run costs
};

/// A key as numbers: a million of them are held at a time.
using RunKey = HashBits;
struct RunKeyHash {
    std::size_t operator()(const RunKey& key) const { return key.low; }
};
/// Of the 32 hex digits; other texts have one, too.
RunKey key_of(std::string_view text);

/// Hash of whatever a result depends on: schema, model, the configuration that is used, the workload and what it does (the key of its
/// recording). The product's version and the sources are no part of it, so a changed comment or message reruns nothing.
/// `edition`: of what users have added to the model.
/// Instead of a machine: the workload is only profiled, and its reuse of lines is what its record counts.
inline constexpr std::string_view kNoMachine = "none";
inline constexpr std::string_view kProfileCounts[] = {"profile.intra_cta_reuses", "profile.inter_cta_reuses", "profile.lines"};

std::string run_key(std::string_view config_hash, const RunSpec& spec, std::string_view recording, std::uint32_t model = kModelVersion,
                    std::string_view edition = "", int schema = kSchema);

struct PlannedMachine {
    std::string gpu;
    std::vector<std::string> overrides;
    std::string config_hash;
};

struct PlannedWorkload {
    std::string program, size;
    std::uint64_t seed = 1;
    std::string kernels;
    std::string recording;  ///< its key, or the hash of a file's content
    double threads = 0;
    std::string sample = {};
};

/// Runs in the order they were first asked for: pairs of a machine and a workload, 24 bytes each, so that there may be many. Nothing in it
/// depends on host, time or a cache directory.
class Plan {
public:
    explicit Plan(const Registry& registry = built_in()) : registry_(&registry) {}

    /// The index of the run; asking twice for the same simulation, however it is written, gives the same one. Throws InputError for a
    /// machine or workload there is not.
    std::size_t add(const RunSpec& spec);
    /// The same in parts, for who combines few machines with few workloads to many runs.
    std::uint32_t machine(const std::string& gpu, const std::vector<std::string>& overrides);
    std::uint32_t workload(const std::string& program, const std::string& size, std::uint64_t seed, const std::string& kernels,
                           const std::string& sample = "");
    std::size_t add(std::uint32_t machine, std::uint32_t workload);
    /// Of another plan all that this one lacks.
    void add(const Plan& other);

    const std::vector<PlannedMachine>& machines() const { return machines_; }
    const std::vector<PlannedWorkload>& workloads() const { return workloads_; }
    const PlannedMachine& machine_of(std::size_t run) const { return machines_[runs_[run].machine]; }
    const PlannedWorkload& workload_of(std::size_t run) const { return workloads_[runs_[run].workload]; }
    std::uint32_t machine_number(std::size_t run) const { return runs_[run].machine; }
    std::uint32_t workload_number(std::size_t run) const { return runs_[run].workload; }
    RunKey key(std::size_t run) const { return runs_[run].key; }
    std::size_t size() const { return runs_.size(); }
    PlannedRun run(std::size_t index) const;
    const Registry& registry() const { return *registry_; }

    /// As a plan file lists them (plan_file.hpp): nothing is looked up or checked.
    void restore(std::vector<PlannedMachine> machines, std::vector<PlannedWorkload> workloads);

private:
    struct Pair {
        std::uint32_t machine, workload;
        RunKey key;
    };

    std::uint32_t workload_file(const std::string& path, const std::string& kernels, const std::string& sample);

    const Registry* registry_;
    std::vector<PlannedMachine> machines_;
    std::vector<PlannedWorkload> workloads_;
    std::vector<Pair> runs_;
    std::unordered_map<RunKey, std::uint32_t, RunKeyHash> by_key_;
    std::map<std::string, std::uint32_t> machine_names_, workload_names_;
    std::map<std::string, std::string> ptx_;  ///< of modules of workloads; seeds share it
};

}  // namespace mergelane::study
