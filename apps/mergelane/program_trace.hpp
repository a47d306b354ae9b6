// SPDX-License-Identifier: MIT
// Runs a CUDA program and records what it launches: into a file, or into a trace that exists only as long as it is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "commands.hpp"
#include "cuda_program.hpp"
#include "workload_source.hpp"

namespace mergelane {

/// Whether the file is one that the operating system starts (ELF), not a workload we read.
bool is_program(const std::string& file);

struct ProgramEnd {
    int exit_code = 0;           ///< 128 and the signal's number if one ended it
    std::string problem;         ///< why there is no trace; empty: there is one
    std::uint64_t launches = 0;  ///< in the trace
    bool interrupted = false;    ///< by Ctrl-C, whatever the program made of it
};

/// Runs words[0] with the others as its arguments. The trace appears at `file` when it is whole: all launches of a program that returned
/// from main or called exit, whatever its exit code. Throws InputError before the program starts if it cannot start or the file cannot be
/// written.
ProgramEnd record_program(const std::vector<std::string>& words, CudaSettings settings, const std::filesystem::path& file,
                          bool output_to_stderr);

/// A program's launches for one command. The file has no name any more, so it goes with this process, however that ends.
class TemporaryTrace {
public:
    TemporaryTrace() = default;
    ~TemporaryTrace();
    TemporaryTrace(const TemporaryTrace&) = delete;
    TemporaryTrace& operator=(const TemporaryTrace&) = delete;

    /// If the workload is a program, runs it as the machine's and makes the workload its trace; its standard output goes to standard
    /// error. Throws InputError if the program fails, Interrupted upon Ctrl-C.
    void replace_program(WorkloadArguments& workload, const ProgramWords& program, const std::string& gpu,
                         const std::vector<std::string>& overrides);

private:
    int descriptor_ = -1;
};

}  // namespace mergelane
