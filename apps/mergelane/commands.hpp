// SPDX-License-Identifier: MIT
// Each command registers itself; its callback sets `exit_code`. The registry holds the available choices and outlives the parser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/registry.hpp"

namespace mergelane {

/// Words of the command line that belong to a program.
struct ProgramWords {
    bool marked = false;                 ///< by --: what follows is a program, whatever it looks like
    std::vector<std::string> arguments;  ///< of the program
};

/// `--set key=value`, repeatable; consumes one word.
inline void add_set_option(CLI::App& command, std::vector<std::string>& overrides) {
    command.add_option("--set", overrides, "override a configuration value, for example --set l1.size_kib=32; repeatable")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
}

void add_run_command(CLI::App& app, int& exit_code, const Registry& registry);
void add_cuda_command(CLI::App& app, int& exit_code);
void add_trace_command(CLI::App& app, int& exit_code, const Registry& registry);
void add_profile_command(CLI::App& app, int& exit_code, const Registry& registry);
/// `program` is filled before the callback is called.
void add_advise_command(CLI::App& app, int& exit_code, const Registry& registry, const ProgramWords& program);
/// `reproduce` and `compare`.
void add_study_commands(CLI::App& app, int& exit_code, const Registry& registry);
/// Many runs on many hosts: `campaign plan`, `run`, `status`, `merge` and others.
void add_campaign_command(CLI::App& app, int& exit_code, const Registry& registry);
/// `store pack`, `unpack`, `convert` and `verify`.
void add_store_command(CLI::App& app, int& exit_code, const Registry& registry);
void add_bench_command(CLI::App& app, int& exit_code, const Registry& registry);
/// `bench network`.
void add_bench_network_command(CLI::App& bench, int& exit_code, const Registry& registry);

/// For commands that name a program: `mergelane cuda --gpu v100 -- ./app`, `mergelane advise --gpu v100 ./app 100`. Removes the separator
/// (--), which the parser does not know, but not the program's own. For `advise` also removes what follows the program, because the parser
/// would look for options there.
ProgramWords take_program_words(const CLI::App& app, std::vector<std::string>& words);

}  // namespace mergelane
