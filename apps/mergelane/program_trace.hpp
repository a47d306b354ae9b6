// SPDX-License-Identifier: MIT
// Runs a CUDA program and records its launches: into a file, or into a temporary trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "commands.hpp"
#include "cuda_program.hpp"
#include "workload_source.hpp"

namespace mergelane {

/// Whether the file is an executable (ELF), whatever its name.
bool is_program(const std::string& file);
/// Whether a word is a program to be run, as for `cuda`: an executable given by its path. A file that is named like a workload is data,
/// even if it is an executable, because who names data does not expect it to run.
bool names_program(const std::string& word);

struct ProgramEnd {
    int exit_code = 0;           ///< 128 plus the signal number if a signal ended it
    std::string problem;         ///< why there is no trace; empty: there is one
    std::uint64_t launches = 0;  ///< in the trace
    bool interrupted = false;    ///< by Ctrl-C, however the program handled it
};

/// Runs words[0] with the others as its arguments. The trace appears at `file` when it is complete: all launches of a program that returned
/// from main or called exit, with any exit code. Throws InputError before the program starts if it cannot start or the file cannot be
/// written.
ProgramEnd record_program(const std::vector<std::string>& words, CudaSettings settings, const std::filesystem::path& file,
                          bool output_to_stderr);

/// A program's launches for one command. The file is already unlinked, so it disappears with this process, however it ends.
class TemporaryTrace {
public:
    TemporaryTrace() = default;
    ~TemporaryTrace();
    TemporaryTrace(const TemporaryTrace&) = delete;
    TemporaryTrace& operator=(const TemporaryTrace&) = delete;

    /// If the workload is a program, runs it and replaces the workload with its trace; the program's standard output goes to standard
    /// error. Throws InputError if the program fails, Interrupted on Ctrl-C.
    void replace_program(WorkloadArguments& workload, const ProgramWords& program, const std::string& gpu,
                         const std::vector<std::string>& overrides);

private:
    int descriptor_ = -1;
};

}  // namespace mergelane
