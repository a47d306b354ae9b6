// SPDX-License-Identifier: MIT
// Cache of recordings: benchmarks are executed once and replayed on other machines.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workload/suite/ptx_executor.hpp"

namespace mergelane::suite {

/// $MERGELANE_CACHE if set, otherwise mergelane/ in $XDG_CACHE_HOME or ~/.cache; empty if there is no home.
std::filesystem::path default_cache_dir();

/// Hash of the workload's own source file, without comments and white space. tests/golden/recordings.txt guards the code that workloads
/// share.
std::string_view source_hash(const SuiteWorkload& workload);

/// All PTX that it may execute.
std::string ptx_of(const SuiteWorkload& workload, const KernelFiles& files);

/// Hash of everything a recording depends on: the recording version, the workload with its options, source and PTX.
std::string recording_key(const SuiteWorkload& workload, Size size, std::uint64_t seed, const ExecutorOptions& options,
                          std::string_view source, std::string_view ptx);
std::string recording_key(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                          const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

/// The cache file of this workload: the recording's key is part of its name.
std::filesystem::path cache_file(std::string_view name, Size size, const std::string& key, const std::filesystem::path& cache_dir);
std::filesystem::path cache_file(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                                 const std::filesystem::path& cache_dir,
                                 const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

inline constexpr std::uint64_t kMostRecordingBytes = std::uint64_t{1} << 30;
/// For runs that read their workload several times.
inline constexpr std::uint64_t kMostLongRecordingBytes = std::uint64_t{256} << 30;

/// Like make_suite_workload. Replays a cached recording, or executes and stores one once the results have been verified; neither if it is
/// longer than `most_bytes`.
std::unique_ptr<Workload> make_cached_suite_workload(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                                                     const std::filesystem::path& cache_dir,
                                                     const std::vector<std::filesystem::path>& dirs = default_kernel_dirs(),
                                                     std::uint64_t most_bytes = kMostRecordingBytes);

/// Deletes the least recently used recordings until the rest take at most this many bytes, but none that was used within the last hour: a
/// process may be about to read it. Also deletes temporary files of killed processes after a day. Several hosts may do so concurrently.
void limit_cache(const std::filesystem::path& cache_dir, std::uint64_t bytes);

/// A copy of a recording in a directory of this host, created if necessary; the recording itself if that fails. For shared directories that
/// are slow to read. A copy of the same size is taken as it is: the reader verifies key and contents at every use.
std::filesystem::path local_copy(const std::filesystem::path& recording, const std::filesystem::path& local_dir);

}  // namespace mergelane::suite
