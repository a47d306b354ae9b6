// SPDX-License-Identifier: MIT
// Runs that a store lacks, for every command that has a plan.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "campaign/plan_file.hpp"
#include "launch/runner.hpp"

namespace mergelane {

struct ShardArguments {
    std::uint32_t jobs = 0;
    std::string store;
    std::string cache, local_cache;
    double cache_gib = 0;
    double timeout = 7200;
    std::uint64_t memory_mib = 0;
    bool retry_failed = false;
    bool quiet = false;
};
/// All but --store.
void add_run_options(CLI::App& command, ShardArguments& a);

/// Throws SimulationError when there are any.
void refuse_conflicts(const std::vector<std::string>& conflicts);
/// Runs what the store lacks of one shard of the plan. Throws SimulationError when records contradict each other.
study::RunnerOutcome run_shard(const study::CampaignPlan& plan, std::uint32_t shard, std::uint32_t shards, const ShardArguments& a);

/// With a line about how far it is when a terminal looks and it takes long; warnings about lines that are no records.
study::StoreIndex read_index_for(const std::string& store, const study::StoreScope& scope, bool quiet);
/// The same for a store without conflicts.
study::StoreIndex sound_index_for(const std::string& store, const study::StoreScope& scope, bool quiet);

}  // namespace mergelane
