// SPDX-License-Identifier: MIT
// Each command registers itself; its callback sets `exit_code`.
#pragma once

#include <CLI/CLI.hpp>

namespace mergelane {

void add_run_command(CLI::App& app, int& exit_code);
void add_cuda_command(CLI::App& app, int& exit_code);
void add_trace_command(CLI::App& app, int& exit_code);
void add_profile_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);

}  // namespace mergelane
