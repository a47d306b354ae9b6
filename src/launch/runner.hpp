// SPDX-License-Identifier: MIT
// Executes a plan with a pool of child processes, one simulation each, so that a crash costs only one run.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "runs/plan.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

/// Folder of a store where sampled runs keep what is finished, in folders named after their keys (RunnerOptions::keep).
inline constexpr const char* kUnfinishedName = "unfinished";

struct RunnerProgress {
    std::size_t total = 0;     ///< runs this call has to do
    std::size_t finished = 0;  ///< of them, failed ones included
    std::size_t failed = 0;
    std::size_t running = 0;
    double seconds_left = -1;  ///< negative: no estimate yet
};

struct RunnerOptions {
    std::filesystem::path executable;  ///< understands kChildArgument
    std::uint32_t jobs = 1;
    double timeout_seconds = 3600;  ///< of one child
    std::uint64_t memory = 0;       ///< address space of one child in bytes, 0: no limit
    std::filesystem::path cache;    ///< of recordings
    std::filesystem::path local;    ///< where children copy recordings to before they read them; empty: nowhere
    std::filesystem::path keep;     ///< where sampled runs keep what is finished until their record is written; empty: nowhere
    std::uint64_t cache_limit = 0;  ///< bytes of recordings to keep, 0: all
    bool retry_failed = false;      ///< runs that failed before as well
    const std::atomic<bool>* interrupt = nullptr;
    std::function<void(const RunnerProgress&)> progress;  ///< several times a second
};

struct RunnerOutcome {
    std::size_t reused = 0;  ///< had finished before
    std::size_t done = 0;
    std::size_t failed = 0;  ///< now or before
    bool interrupted = false;
};

/// Runs those of `wanted` (indices into the plan) that `index` lacks; each result is stored as soon as it is available. A workload is
/// recorded once, before its first simulation. Expensive runs start first. A child that is killed or times out is retried once; one that
/// exits with an error would fail again and is recorded as failed. A sampled run continues from what was kept of it. Throws InputError if
/// the program or a machine file has changed since the plan was made.
RunnerOutcome run_missing(const Plan& plan, const std::vector<std::uint32_t>& wanted, Store& store, const StoreIndex& index,
                          const RunnerOptions& options);

}  // namespace mergelane::study
