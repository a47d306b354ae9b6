// SPDX-License-Identifier: MIT
// Time and memory of earlier runs on this host, to estimate those of long work. Only estimates depend on it: damaged lines are skipped,
// and write errors are ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane {

struct PastRun {
    std::string workload;
    std::string gpu;
    double instructions = 0;  ///< of warps
    double seconds = 0;       ///< CPU time
    double mib = 0;           ///< most memory in use at a time; 0: unknown
};

/// The last of them, oldest first. `cache`: directory of recordings; empty: there are none.
std::vector<PastRun> past_runs(const std::filesystem::path& cache);
/// Keeps runs of at least a second.
void note_run(const std::filesystem::path& cache, const PastRun& run);

/// Most memory that this process, or its children, had in use at a time.
double most_memory_mib(bool of_children);

struct Expectation {
    double seconds = 0;
    double mib = 0;    ///< 0: unknown
    std::string from;  ///< what it is concluded from
};
/// From the last run of the workload, on this GPU if there was one; else from the number of instructions (0: unknown) and the speed of
/// earlier runs, or a usual speed.
std::optional<Expectation> expected_run(const std::vector<PastRun>& past, std::string_view workload, std::string_view gpu,
                                        double instructions);

/// "expecting about 2 min 05 s and 300 MiB, from ..."; empty for short work.
std::string expectation_text(const Expectation& expectation);

}  // namespace mergelane
