// SPDX-License-Identifier: MIT
// How fast is this machine at simulating? The same three characters on the full model and on the bare loop, which has
// the same data flow with everything fixed at compile time: the physical limit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>

#include "bench/bare_loop.hpp"
#include "commands.hpp"
#include "config/config.hpp"
#include "sim/simulation.hpp"
#include "workload/synthetic.hpp"

namespace mergelane {

namespace {

struct BenchArguments {
    std::string gpu = "icc60";
    std::uint32_t threads = 1;
    std::uint32_t repeat = 3;
};

struct BenchCase {
    std::string_view kind;
    std::vector<std::string> params;
    bool bare;  ///< the bare loop has this one too
};

/// One thread is timed by what it used, so that other work on the host does not count; several by the clock on the wall.
double now(bool wall) {
    if (wall) return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

int bench(const BenchArguments& arguments) {
    const LoadedConfig config = load_config(arguments.gpu, {}, default_preset_dirs());
    const std::vector<BenchCase> cases = {
        {"compute", {"iterations=12"}, true}, {"stream", {}, true}, {"divergent", {"iterations=1"}, true}, {"tiled", {}, false},
        {"atomic", {"iterations=1"}, false},
    };
    fmt::print("{} on {} host thread{}, best of {}\n", arguments.gpu, arguments.threads, arguments.threads == 1 ? "" : "s",
               arguments.repeat);
    fmt::print("{:<12}{:>14}{:>18}{:>14}{:>16}{:>16}{:>10}\n", "workload", "cycles/s", "warp instr/s", "lines/s", "ns/warp instr",
               "bare loop", "ratio");
    fmt::print("{:<12}{:>14}{:>18}{:>14}{:>16}{:>16}{:>10}\n", "", "(k)", "(M)", "(M)", "(ns)", "(M instr/s)", "");
    for (const BenchCase& bench_case : cases) {
        double best = 0;
        std::uint64_t cycles = 0;
        std::uint64_t instructions = 0;
        std::uint64_t lines = 0;
        for (std::uint32_t k = 0; k < arguments.repeat; ++k) {
            SyntheticParams params = synthetic_defaults(bench_case.kind);
            for (const std::string& assignment : bench_case.params) apply_synthetic_param(params, assignment);
            const std::unique_ptr<Workload> workload = make_synthetic(bench_case.kind, params);
            RunOptions options;
            options.threads = arguments.threads;
            Simulation simulation(config.spec, options);
            const double start = now(arguments.threads > 1);
            const RunResult result = simulation.run(*workload);
            const double seconds = now(arguments.threads > 1) - start;
            best = k == 0 ? seconds : std::min(best, seconds);
            cycles = result.cycles;
            instructions = result.warp_instructions;
            lines = std::max(result.stat("l1.line_requests"), result.stat("sm.requests_sent"));  // atomics bypass the L1
        }
        std::string bare = "-";
        std::string ratio = "-";
        const double rate = static_cast<double>(instructions) / best;
        if (bench_case.bare) {
            double bare_rate = 0;
            for (std::uint32_t k = 0; k < arguments.repeat; ++k) {
                const BareResult r = run_bare_loop(bench_case.kind, 200'000);
                bare_rate = std::max(bare_rate, static_cast<double>(r.warp_instructions) / r.seconds);
            }
            bare = fmt::format("{:.2f}", bare_rate / 1e6);
            ratio = fmt::format("{:.1f}", bare_rate / rate);
        }
        fmt::print("{:<12}{:>14.0f}{:>18.2f}{:>14.2f}{:>16.1f}{:>16}{:>10}\n", bench_case.kind, static_cast<double>(cycles) / best / 1e3,
                   rate / 1e6, static_cast<double>(lines) / best / 1e6, best * 1e9 / static_cast<double>(instructions), bare, ratio);
    }
    fmt::print("ratio: how many times faster the bare loop issues warp instructions of the same character\n");
    return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
    auto arguments = std::make_shared<BenchArguments>();
    CLI::App* command = app.add_subcommand("bench", "Measure simulation speed on this host");
    command->add_option("-g,--gpu", arguments->gpu, "machine to simulate")->capture_default_str();
    command->add_option("-t,--threads", arguments->threads, "host threads")->check(CLI::Range(1, 256))->capture_default_str();
    command->add_option("--repeat", arguments->repeat, "runs of each, the best counts")->check(CLI::Range(1, 100))->capture_default_str();
    command->footer("Example:\n  mergelane bench --threads 2");
    command->callback([arguments, &exit_code] { exit_code = bench(*arguments); });
}

}  // namespace mergelane
