// SPDX-License-Identifier: MIT
// The files of a store as one, each run once.
#pragma once

#include <filesystem>
#include <functional>

#include "runs/plan.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

/// Writes merged.HASH.jsonl.zst into the store: the runs of the plan in its order, then all others. The files it was made of stay and are
/// read no more, except what is appended to them later. Returns its path; nothing when there is no record. `progress`: runs of all.
std::filesystem::path merge_store(const Plan& plan, const StoreIndex& index, const std::filesystem::path& directory,
                                  const std::function<void(std::size_t, std::size_t)>& progress = {});

/// Removes files that a merged one holds to their end: all, or only previous merged ones. Returns how many. Before any is removed the
/// merged file is read back; throws InputError unless it has every run of the index and every record of these files.
std::size_t remove_merged_parts(const std::filesystem::path& directory, const StoreIndex& index, const std::filesystem::path& merged,
                                bool all);
/// Removes what sampled runs kept that have finished since, and with `all` also the folder they kept it in, unless there is more.
void remove_finished_work(const std::filesystem::path& directory, const StoreIndex& index, bool all);
/// Gives parts their names back that a killed process was about to remove.
void restore_parts(const std::filesystem::path& directory);

}  // namespace mergelane::study
