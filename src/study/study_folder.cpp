// SPDX-License-Identifier: MIT
// Where studies are found, and the files of one.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "files/data_paths.hpp"
#include "files/input_file.hpp"
#include "files/toml_text.hpp"
#include "study/study_spec.hpp"
#include "workload/file/workload_file.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxFiles = 200;
constexpr const char* kStudyFile = "study.toml";

StudyText read_file(const fs::path& path) {
    std::string problem;
    const std::string shown = shown_path(path.string());
    std::optional<std::string> text = read_input(path, kMaxConfigBytes, problem);
    if (!text) throw InputError(fmt::format("{}: {}", shown, problem));
    return {shown, std::move(*text)};
}

}  // namespace

StudySpec read_study(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    if (fs::is_regular_file(folder, error)) throw InputError(fmt::format("{}: is a file; give its directory", shown_path(folder.string())));
    for (const fs::path& path : entries_of(folder)) {
        if (path.extension() == ".toml" && path.filename() != kStudyFile) files.push_back(path);
    }
    if (files.size() > kMaxFiles)
        throw InputError(fmt::format("{}: more than {} files; check the directory", shown_path(folder.string()), kMaxFiles));
    std::sort(files.begin(), files.end());
    std::vector<StudyText> experiments;
    for (const fs::path& file : files) experiments.push_back(read_file(file));
    const fs::path name = fs::absolute(folder / "", error).lexically_normal().parent_path().filename();
    StudySpec study = parse_study(name.string(), read_file(folder / kStudyFile), experiments);
    for (StudyWorkload& workload : study.workloads) {
        const fs::path path = workload.program;
        if (is_workload_file(workload.program) && path.is_relative())
            workload.program = fs::absolute(folder / path).lexically_normal().string();
    }
    if (study.experiments.empty())
        throw InputError(
            fmt::format("{}: no experiments found; add one as a .toml file next to {}", shown_path(folder.string()), kStudyFile));
    return study;
}

std::vector<StudyInfo> list_studies(const std::vector<fs::path>& dirs) {
    std::vector<StudyInfo> studies;
    for (const fs::path& dir : dirs) {
        for (const fs::path& path : entries_of(dir)) {
            std::error_code ignored;
            const std::string name = path.filename().string();
            const bool known = std::any_of(studies.begin(), studies.end(), [&](const StudyInfo& s) { return s.paper == name; });
            if (!known && fs::is_regular_file(path / kStudyFile, ignored)) studies.push_back({name, path});
        }
    }
    std::sort(studies.begin(), studies.end(), [](const StudyInfo& a, const StudyInfo& b) { return a.paper < b.paper; });
    return studies;
}

fs::path find_study(const std::string& name_or_path, const std::vector<fs::path>& dirs) {
    if (name_or_path.find('/') != std::string::npos || name_or_path == ".") return name_or_path;
    const std::vector<StudyInfo> studies = list_studies(dirs);
    for (const StudyInfo& study : studies) {
        if (study.paper == name_or_path) return study.folder;
    }
    throw InputError(unknown_name("paper", name_or_path, names_of(studies, &StudyInfo::paper)) +
                     "; or give the path of a directory with study.toml, for example ./mine");
}

std::vector<fs::path> default_study_dirs() {
    return data_paths("MERGELANE_STUDIES", "studies", "studies");
}

}  // namespace mergelane::study
