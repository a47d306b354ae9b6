// SPDX-License-Identifier: MIT
// Evaluates an experiment: from its file and the measurements to its charts and verdicts.
#pragma once

#include "study/judge.hpp"
#include "study/measurements.hpp"

namespace mergelane::study {

/// Throws InputError for a mistake in the file.
Experiment judge(const ExperimentSpec& experiment, const Measurements& measurements, const Published& published);

/// Checks the files of a study without any run: unknown names, invalid machines, unknown published numbers.
void check(const StudySpec& study, const Published& published);
/// A study that has been checked. `machine`: instead of its own, unless empty.
StudySpec read_and_check(const std::filesystem::path& folder, const Published& published, const Registry& registry,
                         const std::string& machine = "");

}  // namespace mergelane::study
