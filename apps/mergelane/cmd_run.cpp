// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "config/config.hpp"
#include "costing/energy_of_run.hpp"
#include "exit_codes.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/report.hpp"
#include "sim/simulation.hpp"
#include "workload/suite/listing.hpp"
#include "workload/synthetic.hpp"
#include "workload_source.hpp"

namespace mergelane {

namespace {

constexpr std::uint64_t kMostCycles = std::uint64_t{1} << 48;

struct RunArguments {
    std::string gpu;
    std::vector<std::string> overrides;
    WorkloadArguments workload;
    RunOptions options;
    bool no_sleep = false;
    std::vector<std::string> energy_tables;
    std::string json_file;
    std::string csv_file;
    bool quiet = false;
};

int run(const RunArguments& arguments, const Registry& registry) {
    keep_apart({arguments.json_file, arguments.csv_file}, {arguments.gpu, arguments.workload.file});
    keep_apart({arguments.json_file, arguments.csv_file}, arguments.energy_tables);
    const LoadedConfig config = load_config(arguments.gpu, arguments.overrides, default_preset_dirs(), registry);
    std::vector<EnergyData> tables;
    for (const std::string& name : arguments.energy_tables) tables.push_back(load_energy_table(name, default_energy_dirs()));
    ProgressLine progress(arguments.quiet);
    const std::unique_ptr<Workload> workload = open_workload(arguments.workload, progress, true);

    const bool stdout_taken = takes_stdout(arguments.json_file, arguments.csv_file);
    Output json(arguments.json_file);
    Output csv(arguments.csv_file);

    RunOptions options = arguments.options;
    options.sleep = !arguments.no_sleep;
    options.interrupt = &interrupted();
    options.progress = [&](const Progress& p) { progress.update(p); };
    catch_interrupts();
    Simulation simulation(config.spec, options);
    for (const EnergyData& table : tables) check_energy(config.spec, simulation.totals(), table);
    RunResult result = simulation.run(*workload);
    progress.clear();
    for (const EnergyData& table : tables) add_energy(result, config.spec, table);

    if (json.wanted()) json.write(to_json(result));
    if (csv.wanted()) csv.write(to_csv(result));
    if (!arguments.quiet && !stdout_taken) fmt::print("{}", summary(result));
    return result.partial == "interrupted" ? kInterrupted : kDone;
}

void list_synthetic() {
    fmt::print("{:<12}{}\n", "workload", "description");
    for (const SyntheticKind& kind : synthetic_kinds()) fmt::print("{:<12}{}\n", kind.name, kind.meaning);
    fmt::print("\n{:<16}{:>10}  {}\n", "parameter", "default", "meaning (--param name=value; defaults of stream, others may differ)");
    const SyntheticParams defaults = synthetic_defaults("stream");
    for (const SyntheticParamInfo& info : synthetic_params())
        fmt::print("{:<16}{:>10}  {}\n", info.name, defaults.*info.member, info.meaning);
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code, const Registry& registry) {
    auto arguments = std::make_shared<RunArguments>();
    CLI::App* command = app.add_subcommand("run", "Simulate a workload on a GPU and print a summary");
    RunArguments& a = *arguments;
    command->add_option("-g,--gpu", a.gpu, "GPU to simulate: preset name (see 'mergelane list gpus') or .toml file")->required();
    add_set_option(*command, a.overrides);
    add_workload_options(*command, a.workload, registry);
    add_number_option(*command, "-t,--threads", a.options.threads, 1, 256, "number of host threads; does not affect the result");
    command
        ->add_option(
            "--window", a.options.window_cycles,
            "maximum lookahead window in core cycles; 0: the longest that the machine allows (default); does not affect the result")
        ->check(CLI::Range(0, 1000000));
    command->add_flag("--no-sleep", a.no_sleep, "step every component in every cycle; slower, with the same result");
    command
        ->add_option("--max-cycles", a.options.max_cycles, "core cycles after which to stop with a partial result; 0: no limit (default)")
        ->check(CLI::Range(std::uint64_t{0}, kMostCycles));
    add_number_option(*command, "--watchdog", a.options.watchdog_cycles, std::uint64_t{0}, kMostCycles,
                      "core cycles without a finished CTA after which to report livelock; 0: never");
    add_list_option(*command, "--energy", a.energy_tables, "estimate energy with this table (see 'mergelane list energy'); repeatable");
    command->add_option("--json", a.json_file, "write the full result as JSON to this file (- for standard output)");
    command->add_option("--csv", a.csv_file, "write all counters as CSV to this file (- for standard output)");
    command->add_flag("-q,--quiet", a.quiet, "suppress the summary and the progress line");
    command->footer(
        "Examples:\n"
        "  mergelane run --gpu icc60 --synthetic stream\n"
        "  mergelane run --gpu icc60 --workload hotspot --size paper\n"
        "  mergelane run --gpu icc60 --set l1.size_kib=96 --synthetic tiled --param ctas=480 --param reuse=4\n"
        "  mergelane run --gpu icc60 my_kernel.toml\n"
        "  mergelane run --gpu v100 traces/vecadd/kernelslist.g --kernels 1-2\n"
        "  mergelane run --gpu v100 vecadd.mlt\n"
        "  mergelane run --gpu v100 --synthetic divergent --param iterations=1 --threads 2 --json result.json --csv result.csv\n"
        "Ctrl-C stops the run and reports the partial result, marked as such; a second Ctrl-C exits immediately.");
    command->callback([arguments, &exit_code, &registry] { exit_code = run(*arguments, registry); });

    CLI::App* list = app.add_subcommand("list", "List presets, workloads, papers and other choices");
    list->require_subcommand(1);
    list->footer("Example:\n  mergelane list gpus");
    CLI::App* synthetic = list->add_subcommand("synthetic", "List synthetic workloads and their parameters");
    synthetic->footer("Example:\n  mergelane list synthetic");
    synthetic->callback([] { list_synthetic(); });
    CLI::App* workloads = list->add_subcommand("workloads", "List benchmarks: suite, kernels, launches, and the papers that use them");
    auto size = std::make_shared<std::string>("paper");
    workloads->add_option("--size", *size, "problem size whose launches are shown: tiny, paper, large")->capture_default_str();
    workloads->footer("Example:\n  mergelane list workloads --size tiny");
    workloads->callback([size, &registry] {
        for (const auto& entry : registry.of<NamedWorkload>().entries()) fmt::print("{:<15}added: {}\n", entry.name, entry.meaning);
        fmt::print("{}", suite::list_workloads(suite::parse_size(*size)));
    });
}

}  // namespace mergelane
