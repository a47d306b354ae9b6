// SPDX-License-Identifier: MIT
// What the commands of `mergelane campaign` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "campaign/estimate.hpp"
#include "campaign/plan_file.hpp"
#include "core/registry.hpp"
#include "shard.hpp"

namespace mergelane {

struct CampaignArguments : ShardArguments {
    std::vector<std::string> what;
    std::string size = "paper";
    std::uint64_t seed = 1;
    std::uint32_t seeds = 1;
    std::string shard = "0/1";
    bool list = false, json = false, remove_parts = false, highest = false;
    std::string sqlite_file, csv_file;
};

/// With the options that say which campaign it is.
CLI::App* add_campaign_subcommand(CLI::App& campaign, const char* name, const char* meaning, CampaignArguments& a);
void add_campaign_submit(CLI::App& campaign, int& exit_code, const Registry& registry);

/// What the words stand for: a store that has a plan, or files and studies. Sets the store.
study::CampaignPlan plan_of(CampaignArguments& a, const Registry& registry);
/// Writes it in place of the one that is there, and says so when that was of other runs.
void replace_plan(const study::CampaignPlan& plan, const std::string& store, const Registry& registry);
void print_count(const study::CampaignCount& count, const study::CampaignPlan& plan, const std::string& store);

}  // namespace mergelane
