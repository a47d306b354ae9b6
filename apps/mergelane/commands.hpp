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

/// Repeatable; consumes one word each time.
template <class T>
CLI::Option* add_list_option(CLI::App& command, const std::string& name, std::vector<T>& list, const std::string& meaning) {
    return command.add_option(name, list, meaning)->expected(1)->take_all()->allow_extra_args(false);
}
/// `--set key=value`, repeatable.
inline void add_set_option(CLI::App& command, std::vector<std::string>& overrides) {
    add_list_option(command, "--set", overrides, "override a configuration value, for example --set l1.size_kib=32; repeatable")
        ->type_name("KEY=VALUE");
}
/// "icc60 l1.size_kib=96 l1.ways=6": a GPU and changes of it. Names of files may have blanks.
struct ChangedGpu {
    explicit ChangedGpu(std::string text) : gpu(std::move(text)) {
        for (std::size_t blank = gpu.rfind(' '); blank != std::string::npos && gpu.find('=', blank) != std::string::npos;
             blank = gpu.rfind(' ')) {
            overrides.insert(overrides.begin(), gpu.substr(blank + 1));
            gpu.erase(gpu.find_last_not_of(' ', blank) + 1);
        }
    }
    std::string gpu;
    std::vector<std::string> overrides;
};
/// Numbers from `least` to `most`: CLI::Range lets nan pass.
template <class Bound>
CLI::Validator numbers(Bound least, Bound most) {
    const auto is_number = [](const std::string& word) { return word.find_first_of("nN") == std::string::npos ? "" : "not a number"; };
    return CLI::Range(least, most) & CLI::Validator(is_number, "");
}
/// `--by-instruction`
inline void add_by_instruction_option(CLI::App& command, bool& on) {
    command.add_flag("--by-instruction", on,
                     "count per instruction, and show which lines wait longest for memory: of the source if it was compiled with nvcc "
                     "-lineinfo, otherwise of the PTX; takes up to 15 % more time and does not affect the result");
}
/// A number from `least` to `most` whose help shows the default.
template <class T, class Bound>
CLI::Option* add_number_option(CLI::App& command, const std::string& name, T& value, Bound least, Bound most, const std::string& meaning) {
    return command.add_option(name, value, meaning)->check(numbers(least, most))->capture_default_str();
}

/// Of `--error`. Throws InputError.
double error_argument(const std::string& text);

void add_run_command(CLI::App& app, int& exit_code, const Registry& registry);
/// What differs in two results of `run --json`.
void add_diff_command(CLI::App& app);
void add_cuda_command(CLI::App& app, int& exit_code);
/// `ptx check`.
void add_ptx_command(CLI::App& app, int& exit_code);
void add_trace_command(CLI::App& app, int& exit_code, const Registry& registry);
/// Executes the command of the Python package.
void add_search_command(CLI::App& app);
/// Latencies and bandwidths beside published ones.
void add_microbench_command(CLI::App& app, int& exit_code, const Registry& registry);
void add_explain_command(CLI::App& app, int& exit_code, const Registry& registry, const ProgramWords& program);
void add_profile_command(CLI::App& app, int& exit_code, const Registry& registry);
/// `program` is filled before the callback is called.
void add_advise_command(CLI::App& app, int& exit_code, const Registry& registry, const ProgramWords& program);
/// `config show`, `diff` and `check`, `describe`, and further choices of `list`, which must exist.
void add_config_commands(CLI::App& app, int& exit_code, const Registry& registry);
/// `list energy` and `list costs`.
void add_energy_commands(CLI::App& app, const Registry& registry);
/// `part`: "energy" for what is counted, "energy.TABLE" for the numbers of one table.
void describe_energy(const std::string& part);
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
/// (--), which the parser does not know, but not the program's own. For `advise` and `explain` also removes what follows the program,
/// because the parser would look for options there.
ProgramWords take_program_words(const CLI::App& app, std::vector<std::string>& words);

}  // namespace mergelane
