// SPDX-License-Identifier: MIT
// What the rest of a campaign will cost, from what was run of it.
#pragma once

#include "runs/plan.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

struct CampaignCount {
    std::size_t runs = 0, done = 0, failed = 0, missing = 0;
    double spent = 0;           ///< CPU seconds of what is done
    double left = 0;            ///< of what is missing and can be estimated
    std::size_t unknown = 0;    ///< missing runs that cannot be
    std::size_t guessed = 0;    ///< those whose workload has not run at all
    std::size_t elsewhere = 0;  ///< missing ones that another store has
};

/// A missing run costs what runs of its workload cost, at its size, sampled in the same way, with any seed on any machine; else what
/// threads of its size cost. `other`: a store whose runs count for the costs alone.
CampaignCount count_runs(const Plan& plan, const StoreIndex& index, const StoreIndex* other = nullptr);

}  // namespace mergelane::study
