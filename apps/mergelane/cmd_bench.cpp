// SPDX-License-Identifier: MIT
// Simulation speed of this host. Three workloads run on the full model and on the bare loop, which has the same data flow with everything
// fixed at compile time: the practical limit. Both are timed alternately in one run, so that host load affects both.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bare_loop.hpp"
#include "bench_threads.hpp"
#include "commands.hpp"
#include "config/config.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"
#include "output.hpp"
#include "sim/simulation.hpp"
#include "workload_source.hpp"

namespace mergelane {

namespace {

struct BenchArguments {
    std::string gpu = "icc60";
    std::vector<std::string> settings;
    std::vector<std::string> files;
    std::uint32_t threads = 1;
    std::uint32_t repeat = 3;
    bool domains = false;
    bool loop = false;
    std::string json_file;
};

constexpr std::uint64_t kBareCycles = 200'000;
constexpr std::array<std::string_view, 3> kBareKinds = {"compute", "stream", "divergent"};

struct BenchCase {
    std::string name;
    WorkloadArguments workload;
    bool bare = false;  ///< the bare loop has this one too
};

struct Figures {
    double seconds = 0;
    double one_seconds = 0;  ///< wall clock of one thread, if there are several
    double bare_rate = 0;    ///< warp instructions per second
    std::uint64_t cycles = 0;
    std::uint64_t instructions = 0;
    std::uint64_t lines = 0;
    std::optional<ThreadFigures> threads;

    double rate() const { return static_cast<double>(instructions) / seconds; }
};

/// One thread is timed by its CPU time, so that other load on the host does not count; several threads by wall clock.
double now(bool wall) {
    return seconds_of(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID);
}

std::vector<BenchCase> cases_of(const BenchArguments& arguments, const Registry& registry) {
    const auto synthetic = [&](std::string kind, std::vector<std::string> params, bool bare) {
        BenchCase made{kind, {}, bare};
        made.workload.synthetic = std::move(kind);
        made.workload.params = std::move(params);
        return made;
    };
    std::vector<BenchCase> cases;
    for (const std::string& file : arguments.files) {
        // A list of kernels is named by its folder.
        const std::filesystem::path path(file);
        const bool list = path.filename() == "kernelslist.g" && path.has_parent_path();
        cases.push_back({(list ? path.parent_path().filename() : path.filename()).string(), {}, false});
        cases.back().workload.file = file;
    }
    if (cases.empty())
        cases = {synthetic("compute", {"iterations=12"}, true), synthetic("stream", {}, true),
                 synthetic("divergent", {"iterations=1"}, true), synthetic("tiled", {}, false),
                 synthetic("atomic", {"iterations=1"}, false)};
    for (BenchCase& bench_case : cases) bench_case.workload.registry = &registry;
    return cases;
}

double time_run(const MachineSpec& spec, const BenchCase& bench_case, const RunOptions& options, bool wall, Figures& figures) {
    ProgressLine progress(true);
    const std::unique_ptr<Workload> workload = open_workload(bench_case.workload, progress, true);
    Simulation simulation(spec, options);
    const double start = now(wall);
    const RunResult result = simulation.run(*workload);
    const double seconds = now(wall) - start;
    figures.cycles = result.cycles;
    figures.instructions = result.warp_instructions;
    figures.lines = std::max(result.stat("l1.line_requests"), result.stat("sm.requests_sent"));  // atomics bypass the L1
    return seconds;
}

Figures measure(const MachineSpec& spec, const BenchCase& bench_case, const BenchArguments& arguments) {
    const bool several = arguments.threads > 1;
    Figures figures;
    const auto keep_least = [](double& least, double seconds) { least = least == 0 ? seconds : std::min(least, seconds); };
    for (std::uint32_t k = 0; k < arguments.repeat; ++k) {
        RunOptions options;
        if (several) keep_least(figures.one_seconds, time_run(spec, bench_case, options, true, figures));
        options.threads = arguments.threads;
        keep_least(figures.seconds, time_run(spec, bench_case, options, several, figures));
        if (!bench_case.bare) continue;
        const BareResult bare = run_bare_loop(bench_case.name, kBareCycles);
        figures.bare_rate = std::max(figures.bare_rate, static_cast<double>(bare.warp_instructions) / bare.seconds);
    }
    if (several || arguments.domains) {
        CostCollector collector(arguments.threads);
        RunOptions options;
        collector.attach(options);
        Figures ignored;
        time_run(spec, bench_case, options, several, ignored);
        const double one = several ? figures.one_seconds : figures.seconds;
        figures.threads = thread_figures(bench_case.name, collector, arguments.threads, one, figures.seconds);
    }
    return figures;
}

nlohmann::ordered_json case_json(const BenchCase& bench_case, const Figures& figures) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    json["workload"] = bench_case.name;
    json["seconds"] = figures.seconds;
    json["cycles"] = figures.cycles;
    json["warp_instructions"] = figures.instructions;
    json["lines"] = figures.lines;
    if (bench_case.bare) {
        json["bare_loop_warp_instructions_per_second"] = figures.bare_rate;
        json["ratio"] = figures.bare_rate / figures.rate();
    }
    if (figures.threads) json["threads"] = thread_json(*figures.threads);
    return json;
}

int bench(const BenchArguments& arguments, const Registry& registry) {
    const LoadedConfig config = load_config(arguments.gpu, arguments.settings, default_preset_dirs(), registry);
    const bool print = arguments.json_file != "-";
    Output file(arguments.json_file);
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    json["schema"] = 1;  // docs/schema/bench.json
    json["gpu"] = arguments.gpu;
    json["threads"] = arguments.threads;
    json["repeat"] = arguments.repeat;
    if (print) {
        fmt::print("{} on {} host thread{}, best of {}\n", arguments.gpu, arguments.threads, arguments.threads == 1 ? "" : "s",
                   arguments.repeat);
        fmt::print("{:<14}{:>12}{:>18}{:>14}{:>16}{:>16}{:>10}\n", "workload", "cycles/s", "warp instr/s", "lines/s", "ns/warp instr",
                   "bare loop", "ratio");
        fmt::print("{:<14}{:>12}{:>18}{:>14}{:>16}{:>16}{:>10}\n", "", "(k)", "(M)", "(M)", "(ns)", "(M instr/s)", "");
    }
    std::vector<ThreadFigures> threads;
    for (const BenchCase& bench_case : cases_of(arguments, registry)) {
        const Figures figures = measure(config.spec, bench_case, arguments);
        if (figures.threads) threads.push_back(*figures.threads);
        json["workloads"].push_back(case_json(bench_case, figures));
        if (!print) continue;
        const std::string bare = bench_case.bare ? fmt::format("{:.2f}", figures.bare_rate / 1e6) : "-";
        const std::string ratio = bench_case.bare ? fmt::format("{:.1f}", figures.bare_rate / figures.rate()) : "-";
        fmt::print("{:<14}{:>12.0f}{:>18.2f}{:>14.2f}{:>16.1f}{:>16}{:>10}\n", printable(bench_case.name),
                   static_cast<double>(figures.cycles) / figures.seconds / 1e3, figures.rate() / 1e6,
                   static_cast<double>(figures.lines) / figures.seconds / 1e6, 1e9 / figures.rate(), bare, ratio);
    }
    if (print) {
        fmt::print(
            "ratio: speed of the bare loop over that of the full model on the same instruction mix; the two are timed alternately\n");
        if (!threads.empty()) fmt::print("{}", thread_table(threads));
    }
    file.write(json_text(json, 2) + "\n");
    return 0;
}

/// Only the bare loop: a fixed amount of work to relate seconds of different hosts, or of a busy and an idle one.
int time_loop(const BenchArguments& arguments) {
    Output file(arguments.json_file);
    nlohmann::ordered_json json = {{"schema", 1}, {"kinds", nlohmann::ordered_json::object()}};
    double sum = 0;
    for (const std::string_view kind : kBareKinds) {
        double best = 0;
        for (std::uint32_t k = 0; k < arguments.repeat; ++k) {
            const double seconds = run_bare_loop(kind, kBareCycles).seconds;
            best = k == 0 ? seconds : std::min(best, seconds);
        }
        json["kinds"][std::string(kind)] = best;
        sum += best;
    }
    json["cycles"] = kBareCycles;
    json["repeat"] = arguments.repeat;
    json["loop_seconds"] = sum;
    if (arguments.json_file != "-")
        fmt::print("bare loop, compute, stream and divergent, {} cycles each: {:.3f} CPU seconds, best of {}\n", kBareCycles, sum,
                   arguments.repeat);
    file.write(json_text(json, 2) + "\n");
    return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code, const Registry& registry) {
    auto arguments = std::make_shared<BenchArguments>();
    CLI::App* command = app.add_subcommand("bench", "Measure simulation speed on this host");
    command->add_option("FILES", arguments->files, "traces or launch manifests to time instead of the synthetic workloads");
    command->add_option("-g,--gpu", arguments->gpu, "GPU to simulate: preset name (see 'mergelane list gpus') or .toml file")
        ->capture_default_str();
    add_set_option(*command, arguments->settings);
    add_number_option(*command, "-t,--threads", arguments->threads, 1, 256,
                      "number of host threads; if greater than 1, a single-threaded run is also measured for comparison");
    add_number_option(*command, "--repeat", arguments->repeat, 1, 100, "repetitions of each measurement; the fastest is reported");
    command->add_flag("--domains", arguments->domains,
                      "measure the host time of each domain (the unit of parallel simulation) and predict the speedup with more threads; "
                      "implied by --threads greater than 1");
    command->add_flag(
        "--loop", arguments->loop,
        "time only the bare loop (a minimal simulation loop with everything fixed at compile time, used as a reference), to compare hosts");
    command->add_option("--json", arguments->json_file, "write the measurements as JSON to this file (- for standard output)");
    command->footer(
        "Examples:\n"
        "  mergelane bench --threads 2\n"
        "  mergelane bench --gpu v100 --set dispatch.launch_latency=0 --domains traces/gather/kernelslist.g");
    command->callback([arguments, command, &exit_code, &registry] {
        if (!command->get_subcommands().empty()) return;  // it has done what was asked for
        exit_code = arguments->loop ? time_loop(*arguments) : bench(*arguments, registry);
    });
    add_bench_network_command(*command, exit_code, registry);
}

}  // namespace mergelane
