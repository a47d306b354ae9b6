// SPDX-License-Identifier: MIT
// The mergelane command. Exit codes: 0 done, 1 internal error, 2 wrong input, 3 the simulated machine failed,
// 130 interrupted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cmd_config.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "interrupt.hpp"
#include "sim/simulation.hpp"

namespace {

/// The parser only says that a command is missing; we say which one was probably meant.
std::string unknown_command(CLI::App& app, int argc, char** argv) {
    CLI::App* at = &app;
    for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
        std::vector<std::string_view> known;
        CLI::App* next = nullptr;
        for (CLI::App* command : at->get_subcommands([](CLI::App*) { return true; })) {
            known.push_back(command->get_name());
            if (command->get_name() == argv[i]) next = command;
        }
        if (known.empty()) return "";
        if (next == nullptr) return mergelane::unknown_word("command", argv[i], known);
        at = next;
    }
    return "";
}

}  // namespace

int main(int argc, char** argv) {
    using namespace mergelane;
    CLI::App app{"Mergelane: a cycle-level simulator of the road a GPU memory request travels.", "mergelane"};
    app.set_version_flag("--version", fmt::format("mergelane {}", version()));
    app.footer(
        "First steps:\n"
        "  mergelane list gpus                              what machines there are\n"
        "  mergelane run --gpu icc60 --synthetic stream     a first result\n"
        "  mergelane describe l1                            what can be configured\n"
        "Every command has --help with an example.");
    app.require_subcommand(1);
    int exit_code = 0;
    add_run_command(app, exit_code);
    add_trace_command(app, exit_code);
    add_profile_command(app, exit_code);
    add_config_commands(app, exit_code);
    add_bench_command(app, exit_code);
    try {
        if (const std::string problem = unknown_command(app, argc, argv); !problem.empty()) throw InputError(problem);
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // CLI11 prints help and version requests itself (code 0); everything else is wrong input.
        return app.exit(error) == 0 ? 0 : 2;
    } catch (const Interrupted&) {
        fmt::print(stderr, "interrupted; nothing was kept\n");
        return 130;
    } catch (const InputError& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 2;
    } catch (const SimulationError& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 3;
    } catch (const std::exception& error) {
        fmt::print(stderr, "internal error: {}\nPlease report this with the command line.\n", error.what());
        return 1;
    }
    return exit_code;
}
