// SPDX-License-Identifier: MIT
// What schedulers are told: the shards of a campaign as array jobs of Slurm, an Indexed Job of Kubernetes, or a plain shell script.
// Nothing here runs anything; the command does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mergelane::study {

struct JobOptions {
    std::string title;
    std::filesystem::path program;  ///< mergelane; absolute, and on every node
    std::filesystem::path store;    ///< absolute, on a file system that all nodes share
    std::filesystem::path cache;    ///< of recordings
    std::string local_cache;        ///< of a node; variables of the shell are put in there
    double cache_gib = 0;
    std::uint32_t shards = 1;
    std::uint32_t jobs = 1;         ///< simulations at a time within a shard, so many cores it gets
    double timeout_seconds = 7200;  ///< of one run
    std::uint64_t memory_mib = 0;   ///< of one run, 0: not asked for
    bool retry_failed = false;
    // Slurm:
    std::uint32_t largest_array = 1001;  ///< MaxArraySize: indices are below it
    std::uint64_t minutes = 0;           ///< of one task, 0: the partition's
    std::vector<std::string> options;    ///< for sbatch, as given: "--partition=short"
    // Kubernetes:
    std::string image, claim;
    std::uint32_t slots = 1;  ///< shards at a time
};

/// Shards for so many slots: several each, so that slow ones do not keep others waiting and one that is lost costs little; not so many
/// that a shard would be less than half a minute of work, since a scheduler takes a second to start it.
std::uint32_t shards_for(std::size_t missing, std::uint32_t slots, std::uint32_t jobs, double cpu_seconds);

struct SlurmArray {
    std::uint32_t first = 0, count = 0;  ///< shards
};
std::vector<SlurmArray> arrays_of(std::uint32_t shards, std::uint32_t largest_array);

/// A task of an array: shard FIRST + its index. Told to end or killed, it asks to be started again (exit 99), five times at most.
std::string slurm_shard_script(const JobOptions& options);
std::string slurm_merge_script(const JobOptions& options);
/// Words of the sbatch command for one array; for the merge job, after jobs with these numbers.
std::vector<std::string> sbatch_array(const JobOptions& options, const SlurmArray& array, const std::filesystem::path& script);
std::vector<std::string> sbatch_merge(const JobOptions& options, const std::vector<std::string>& after,
                                      const std::filesystem::path& script);

std::string kubernetes_job(const JobOptions& options);
/// `campaign.sh I`: one shard, for any scheduler that can count; without I all of them, one after the other.
std::string shell_script(const JobOptions& options);

/// A word as the shell takes it.
std::string shell_word(const std::string& text);

}  // namespace mergelane::study
