// SPDX-License-Identifier: MIT
#include "own_programs.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/model_version.hpp"
#include "core/text.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "program_trace.hpp"
#include "sim/simulation.hpp"
#include "workload/file/workload_file.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

/// The program and its arguments are seen from there.
class WorkingFolder {
public:
    explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
    ~WorkingFolder() {
        std::error_code ignored;
        fs::current_path(before_, ignored);
    }
    WorkingFolder(const WorkingFolder&) = delete;
    WorkingFolder& operator=(const WorkingFolder&) = delete;

private:
    fs::path before_;
};

/// Of what a trace depends on, as far as the command names it: --input=FILE and FILE count, files with names in the program do not.
std::string key_of_command(const std::vector<std::string>& words) {
    Hasher hash;
    hash.add(fmt::format("{} {}\n", version(), kModelVersion));
    for (const std::string& word : words) {
        hash.add(word + "\n");
        for (const std::string& name : {word, word.substr(word.find('=') + 1)}) {  // the same without '='
            std::error_code ignored;
            if (fs::is_regular_file(name, ignored)) add_file(hash, name);
        }
    }
    return hash.hex();
}

}  // namespace

std::string trace_if_program(const std::string& workload, const fs::path& folder, const std::string& store, bool quiet) {
    if (!is_program_command(workload)) return workload;
    std::error_code problem;
    const fs::path programs = fs::absolute(fs::path(store) / "programs");
    const WorkingFolder here(folder);
    if (is_workload_file(workload) && fs::exists(workload, problem)) return workload;
    const std::vector<std::string> words = command_words(workload);
    if (!is_program(words.front())) {
        if (is_workload_file(workload)) return workload;  // which is missing
        throw InputError(
            fmt::format("'{}' is neither a program nor a workload file (.mlt, .toml, .g, .traceg, .traceg.xz, .tracez); check the path",
                        printable(words.front(), 200)));
    }
    const std::string name = fs::path(words.front()).filename().string();
    const fs::path trace = programs / fmt::format("{}-{}.mlt", name, key_of_command(words).substr(0, 16));
    if (fs::exists(trace, problem)) return trace.string();
    fs::create_directories(programs, problem);  // what went wrong shows when the trace is written
    if (!quiet) tell(fmt::format("recording {}", workload));
    const ProgramEnd end = record_program(words, {}, trace, true);
    if (end.interrupted) throw Interrupted{};
    if (!end.problem.empty()) throw InputError(end.problem);
    if (end.exit_code != 0) {
        fs::remove(trace, problem);
        throw InputError(fmt::format("'{}' failed with exit code {}; a workload must succeed", printable(workload, 200), end.exit_code));
    }
    return trace.string();
}

void trace_programs(study::StudySpec& study, const fs::path& folder, const std::string& store, bool quiet) {
    for (study::StudyWorkload& workload : study.workloads) workload.program = trace_if_program(workload.program, folder, store, quiet);
}

}  // namespace mergelane
