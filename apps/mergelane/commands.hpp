// SPDX-License-Identifier: MIT
// Each command registers itself; its callback sets `exit_code`. The registry says what there is to choose from, and outlives the parser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/registry.hpp"

namespace mergelane {

void add_run_command(CLI::App& app, int& exit_code, const Registry& registry);
void add_cuda_command(CLI::App& app, int& exit_code);
void add_trace_command(CLI::App& app, int& exit_code, const Registry& registry);
void add_profile_command(CLI::App& app, int& exit_code, const Registry& registry);
void add_advise_command(CLI::App& app, int& exit_code, const Registry& registry);
/// `reproduce` and `compare`.
void add_study_commands(CLI::App& app, int& exit_code, const Registry& registry);
/// Results of studies in one file.
void add_store_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code, const Registry& registry);
/// `bench network`.
void add_bench_network_command(CLI::App& bench, int& exit_code, const Registry& registry);

/// `mergelane cuda --gpu v100 -- ./app`: takes out the mark before the program, which the parser does not know; the program's own stay.
void drop_program_mark(const CLI::App& app, std::vector<std::string>& words);

}  // namespace mergelane
