// SPDX-License-Identifier: MIT
// A study as data: studies/PAPER/study.toml defines the runs, and one file per experiment how it is presented and evaluated. The format
// is described in docs/reproduction/README.md.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "formula/expression.hpp"
#include "sim/built_in.hpp"
#include "study/judge.hpp"

namespace mergelane::study {

/// A machine under test: that of the study, or one of its own, with changes.
struct Configuration {
    std::string name;  ///< "DB+ICC"
    std::vector<std::string> overrides;
    std::string where;    ///< file and line
    std::string machine;  ///< empty: that of the study
    /// Those that are others for each workload, by its name.
    std::map<std::string, std::vector<std::string>, std::less<>> by_workload;
};

struct StudyWorkload {
    std::string name;                    ///< as in the paper
    std::string program;                 ///< benchmark, workload file, or program with its arguments (workload/file)
    std::string where;                   ///< file and line
    bool seeded = false;                 ///< its memory accesses depend on its input
    std::string kernels;                 ///< which of the program's, as `run --kernels` takes them; empty: all
    std::vector<std::string> overrides;  ///< of its own, after those of the configuration
    bool apart = false;                  ///< only in experiments that name it
    std::string size;                    ///< instead of size paper; empty: as all others
    std::uint64_t seed = 0;              ///< of its input, whatever the study's seeds are; 0: as all others
};

/// What a workload runs with: changes that are the same for all, then the configuration's for this one, then its own.
std::vector<std::string> overrides_of(const Configuration& configuration, const StudyWorkload& workload);

struct CriterionSpec {
    std::string where;
    std::string kind;  ///< "S", "O", "M" or "exact"
    Level level = Level::headline;
    Formula text;
    Formula unit;
    std::optional<Formula> value;
    std::vector<Formula> rising;  ///< sweeps of numbers; instead of a value
    std::optional<Formula> step;  ///< the least rise from one to the next
    std::optional<Formula> published, low, high, above, equals;
};

struct TableSpec {
    std::string where;
    Formula title;
    std::string rows;    ///< a list; "workload" has rows for the workloads
    Formula row;         ///< what stands before a row of another list
    std::string corner;  ///< heading of the first column
    std::vector<Formula> columns;
    int digits = 3;
    bool mean = true, geometric = true;  ///< rows below those of the workloads
};

struct PublishedMark {
    std::string where, series, x, id;
};

struct ChartSpec {
    std::string where;
    std::string kind;  ///< "bars", "stacked" or "lines"
    Formula title, x_title, y_title;
    std::optional<double> baseline;
    std::vector<Formula> series;
    std::vector<PublishedMark> published;
};

struct NoteSpec {
    Formula text;
    std::optional<Formula> when;
};

struct ExperimentSpec {
    std::string file;
    std::string id, figure, title;
    bool baseline = false;  ///< without the paper's mechanisms
    std::vector<std::string> configurations;
    std::vector<std::string> workloads;  ///< empty: all of the study but those apart
    std::vector<Measure> measures;
    std::vector<CriterionSpec> criteria;
    std::vector<TableSpec> tables;
    std::vector<ChartSpec> charts;
    std::vector<NoteSpec> notes;
};

struct StudySpec {
    std::string paper;  ///< the folder's name
    std::string title;
    std::string machine;
    std::string machine_where;  ///< file and line; empty when it came from elsewhere
    std::string reference;      ///< the configuration whose runs describe the workloads
    std::vector<StudyWorkload> workloads;
    std::map<std::string, std::vector<Value>, std::less<>> lists;  ///< "workload" is one of them
    std::vector<Configuration> configurations;
    std::vector<Measure> measures;
    std::vector<ExperimentSpec> experiments;  ///< by id
    const Registry* registry = &built_in();   ///< what its machines are made of

    const Configuration* find(std::string_view configuration) const;
    const std::string& machine_of(const Configuration& configuration) const {
        return configuration.machine.empty() ? machine : configuration.machine;
    }
    const std::vector<Value>* list(std::string_view name) const;  ///< nullptr: there is none
    std::vector<std::string> workload_names() const { return names_of(workloads, &StudyWorkload::name); }
    std::vector<std::string> configuration_names() const { return names_of(configurations, &Configuration::name); }
    /// The study as one of its experiments sees it: with its workloads only.
    StudySpec seen_by(const ExperimentSpec& experiment) const;
};

struct StudyText {
    std::string name;  ///< stands for the file in messages
    std::string text;
};
/// From texts in memory. Throws InputError that names file, line, cause and remedy.
StudySpec parse_study(const std::string& paper, const StudyText& study, const std::vector<StudyText>& experiments);
/// One more for a study that was read.
ExperimentSpec parse_experiment(const StudySpec& study, const StudyText& file);
/// study.toml and every other .toml of the folder.
StudySpec read_study(const std::filesystem::path& folder);

struct StudyInfo {
    std::string paper;
    std::filesystem::path folder;
};
/// Folders with a study.toml, by name; the first directory that has one wins.
std::vector<StudyInfo> list_studies(const std::vector<std::filesystem::path>& dirs);
/// `name_or_path`: a study found in `dirs`, or a folder. Throws InputError.
std::filesystem::path find_study(const std::string& name_or_path, const std::vector<std::filesystem::path>& dirs);
/// $MERGELANE_STUDIES if set, the installed data directory next to the executable, studies/ of the source tree.
std::vector<std::filesystem::path> default_study_dirs();

}  // namespace mergelane::study
