// SPDX-License-Identifier: MIT
// From an experiment's file and what was measured to its figure and verdicts.
#pragma once

#include "study/judge.hpp"
#include "study/measurements.hpp"

namespace mergelane::study {

/// Throws InputError for a mistake in the file.
Experiment judge(const ExperimentSpec& experiment, const Measurements& measurements, const Published& published);

/// Finds mistakes in the files of a study without any run: unknown names, what is no machine, what is not published.
void check(const StudySpec& study, const Published& published);

}  // namespace mergelane::study
