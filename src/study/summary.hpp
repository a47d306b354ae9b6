// SPDX-License-Identifier: MIT
// Summary of all papers from the packed results of their paper-size runs; nothing is simulated.
#pragma once

#include <string>
#include <vector>

#include "study/study.hpp"

namespace mergelane::study {

/// Folders that may have packed results, as in the tree or where the product is installed.
std::vector<std::filesystem::path> default_result_dirs();

struct Summary {
    std::vector<StudyResult> papers;
    /// Of one verdict, in all papers.
    std::size_t count(Verdict verdict) const;
};

/// One line for each experiment, and the counts of each paper.
std::string to_text(const Summary& summary);
/// The same for a program: paper, experiment, figure, title, verdict, criteria met and asked for, at each level.
std::string to_csv(const Summary& summary);
/// A picture: a square for each experiment, by paper.
std::string to_svg(const Summary& summary);

}  // namespace mergelane::study
