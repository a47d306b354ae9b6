// SPDX-License-Identifier: MIT
// The exit codes of the command. `mergelane list exit-codes` prints this table, and a test compares the documentation with it.
#pragma once

#include <string_view>

#include "launch/child.hpp"

namespace mergelane {

inline constexpr int kDone = 0;
inline constexpr int kInternalError = 1;
inline constexpr int kWrongInput = 2;
inline constexpr int kRunFailed = 3;
inline constexpr int kIncomplete = 4;
inline constexpr int kProgramChanged = study::kProgramChanged;
inline constexpr int kInterrupted = 130;

struct ExitCode {
    int code;
    std::string_view meaning;
};

inline constexpr ExitCode kExitCodes[] = {
    {kDone, "success"},
    {kInternalError, "internal error: a bug in Mergelane"},
    {kWrongInput, "invalid input (command line, configuration, workload, trace), unwritable file, or out of memory"},
    {kRunFailed,
     "a simulation failed (deadlock, livelock, violated invariant, wrong benchmark result), or results of the same run conflict"},
    {kIncomplete, "campaign: runs are missing or failed; store convert: runs were refused; ptx check: kernels were refused"},
    {kProgramChanged, "worker process of a study or campaign: the program or a machine file changed after the run was planned"},
    {kInterrupted, "interrupted (Ctrl-C, SIGTERM)"},
};

}  // namespace mergelane
