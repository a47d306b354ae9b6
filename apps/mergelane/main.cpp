// SPDX-License-Identifier: MIT
// The mergelane command. Exit codes: 0 done, 1 internal error, 2 wrong input, 3 the simulated machine failed,
// 130 interrupted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cmd_config.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "sim/simulation.hpp"

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
    add_config_commands(app, exit_code);
    add_bench_command(app, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // CLI11 prints help and version requests itself (code 0); everything else is wrong input.
        return app.exit(error) == 0 ? 0 : 2;
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
