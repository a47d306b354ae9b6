// SPDX-License-Identifier: MIT
// Benchmark programs executed once: what their kernels did is kept in a file and replayed for the next machine.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workload/suite/ptx_executor.hpp"

namespace mergelane::suite {

/// $MERGELANE_CACHE if set, else mergelane/ in $XDG_CACHE_HOME or ~/.cache; empty when there is no home.
std::filesystem::path default_cache_dir();

/// Of the workload's own source file, without its comments and white space. What it shares with others is held by
/// tests/golden/recordings.txt instead.
std::string_view source_hash(const SuiteWorkload& workload);

/// Hash of everything a recording depends on: what executes and records (its version), the workload with its options, source and PTX.
std::string recording_key(const SuiteWorkload& workload, Size size, std::uint64_t seed, const ExecutorOptions& options,
                          std::string_view source, std::string_view ptx);
std::string recording_key(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                          const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

/// Which file of the cache holds this workload: the recording's key is in its name.
std::filesystem::path cache_file(std::string_view name, Size size, const std::string& key, const std::filesystem::path& cache_dir);
std::filesystem::path cache_file(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                                 const std::filesystem::path& cache_dir,
                                 const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

/// Like make_suite_workload. Replays what is in the cache, or executes and puts it there once the results have proved right.
std::unique_ptr<Workload> make_cached_suite_workload(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                                                     const std::filesystem::path& cache_dir,
                                                     const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

/// Removes recordings that were not used for longest until the others take at most so many bytes, but none that was used within the last
/// hour: someone may be about to read it. Also what killed processes left half-made a day ago. Several hosts may do so at the same time.
void limit_cache(const std::filesystem::path& cache_dir, std::uint64_t bytes);

/// A copy of a recording in a directory of this host, made if it is not there; the recording itself when that does not work. For shared
/// directories that are slow to read.
std::filesystem::path local_copy(const std::filesystem::path& recording, const std::filesystem::path& local_dir);

}  // namespace mergelane::suite
