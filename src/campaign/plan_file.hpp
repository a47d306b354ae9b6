// SPDX-License-Identifier: MIT
// A plan on disk: what all shards of a campaign agree on. It lists runs by number and which of them the store had when it was made, so
// that a shard reads this file and what came later, not the records of all others. It is written beside its name and then takes it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runs/plan.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

inline constexpr const char* kPlanName = "campaign.plan";

enum class RunState : std::uint8_t { missing, done, failed };

struct CampaignPlan {
    explicit CampaignPlan(const Registry& registry = built_in()) : plan(registry) {}

    Plan plan;
    std::string title;
    std::vector<RunState> known;  ///< by run, when the plan was made
    CoveredFiles read;            ///< what was read of the store for it

    /// What it was made of, without what the store had.
    std::string runs_id() const;
    /// How names of files begin that are written under exactly this plan.
    std::string label() const;
    /// Runs of one shard: one of each n that were not done, so that all shards have as many, and about as many of each kind.
    std::vector<std::uint32_t> shard(std::uint32_t index, std::uint32_t shards) const;
    StoreScope scope(std::uint32_t index, std::uint32_t shards) const { return {read, label(), index, shards}; }
    /// Takes over what the store has now.
    void note(const StoreIndex& index);
};

std::string to_text(const CampaignPlan& plan);
/// Throws InputError when it is damaged, or when this program would give its runs other keys. `name` stands for the file in messages.
CampaignPlan parse_plan(std::string_view text, const std::string& name, const Registry& registry = built_in());

CampaignPlan read_plan(const std::filesystem::path& directory, const Registry& registry = built_in());
/// `replace` false: keeps the one that is there. Throws InputError when it cannot be written.
void write_plan(const CampaignPlan& plan, const std::filesystem::path& directory, bool replace);

}  // namespace mergelane::study
