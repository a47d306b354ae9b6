// SPDX-License-Identifier: MIT
// CUDA programs as workloads of comparisons, campaigns and studies: each is run once, and the trace of its launches takes its place.
#pragma once

#include <filesystem>
#include <string>

#include "study/study_spec.hpp"

namespace mergelane {

/// A program with its arguments ("./app 100") becomes the path of its trace in `store`/programs; everything else stays as it is. `folder`:
/// where the program runs and its path starts. A trace is reused while the program, its arguments and the files that they name are the
/// same. Throws InputError if the program cannot be run or fails.
std::string trace_if_program(const std::string& workload, const std::filesystem::path& folder, const std::string& store, bool quiet);

/// The same for all workloads of a study.
void trace_programs(study::StudySpec& study, const std::filesystem::path& folder, const std::string& store, bool quiet);

}  // namespace mergelane
