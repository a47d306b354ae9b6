// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "costing/energy_of_run.hpp"
#include "exit_codes.hpp"
#include "history.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/report.hpp"
#include "runs/sample_choice.hpp"
#include "sampling/sampled_run.hpp"
#include "sampling/waves.hpp"
#include "sim/simulation.hpp"
#include "workload/suite/cache.hpp"
#include "workload/suite/listing.hpp"
#include "workload/synthetic.hpp"
#include "workload/tracefile/trace_file.hpp"
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
    std::string interval_file;
    std::string timeline_file;
    std::string html_file;
    bool quiet = false;
    bool sample = false;
    sampling::Options sampling;

    /// A sampled run reads the workload several times.
    WorkloadArguments work() const {
        WorkloadArguments arguments = workload;
        arguments.keep_long = sample;
        arguments.ahead = sample && options.threads > 1;
        return arguments;
    }
};

void check_intervals(const RunArguments& arguments) {
    const bool asked_for = arguments.options.interval_cycles != 0;
    if (!arguments.interval_file.empty() && !asked_for)
        throw InputError("--interval-csv requires the length of intervals; add --interval 1000 or another number of core cycles");
    if (asked_for && arguments.interval_file.empty() && arguments.json_file.empty() && arguments.timeline_file.empty() &&
        arguments.html_file.empty())
        throw InputError("--interval has no output; add --interval-csv, --json, --html or --timeline with a file name");
}

void check_sampling(const RunArguments& arguments) {
    if (!arguments.sample) return;
    const RunOptions& options = arguments.options;
    const auto refuse = [](std::string_view option, std::string_view why) {
        throw InputError(fmt::format("{} does not apply to a sampled run, {}; leave out {} or --sample", option, why, option));
    };
    if (options.interval_cycles != 0) refuse("--interval", "which leaves out most of the time");
    if (!arguments.timeline_file.empty()) refuse("--timeline", "which leaves out most of the time");
    if (options.max_cycles != 0) refuse("--max-cycles", "whose launches are not simulated in a row");
    if (options.by_instruction) refuse("--by-instruction", "which has no estimates by instruction");
    const std::uint64_t waves = arguments.sampling.waves;
    if (waves != 0 && waves < sampling::kFewestWaves)
        throw InputError(fmt::format(
            "--waves {} is too few for the first and the last waves of a launch and three stretches in between; give at least {}", waves,
            sampling::kFewestWaves));
    if (waves != 0 && arguments.sampling.selection != sampling::Selection::stratified)
        throw InputError("--waves applies to --sample-by stratified only; leave out one of them");
}

/// The whole workload, or some launches of it.
RunResult simulate(const RunArguments& arguments, const LoadedConfig& config, const RunOptions& options,
                   const std::vector<EnergyData>& tables, std::unique_ptr<Workload> workload, ProgressLine& progress) {
    for (const EnergyData& table : tables) check_energy(config.spec, Simulation(config.spec, options).totals(), table);
    if (!arguments.sample) return Simulation(config.spec, options).run(*workload);
    sampling::Options sampled = arguments.sampling;
    sampled.run = options;
    if (!sampled.keep.empty()) sampled.identity = workload_identity(arguments.workload, *workload);
    sampled.open = [&]() { return workload != nullptr ? std::move(workload) : open_workload(arguments.work(), progress, true); };
    return sampling::run(config.spec, sampled);
}

/// Where recordings are kept, and what earlier runs took.
std::filesystem::path cache_of(const WorkloadArguments& workload) {
    if (workload.no_cache) return {};
    return workload.cache.empty() ? suite::default_cache_dir() : std::filesystem::path(workload.cache);
}

std::string work_name(const WorkloadArguments& arguments, const Workload& workload) {
    const std::string input = arguments.program.empty() ? "" : " " + arguments.size;
    return workload.name() + input + (arguments.kernels.empty() ? "" : " kernels " + arguments.kernels);
}

void say_expected_run(const RunArguments& arguments, const std::filesystem::path& cache, const std::string& name, const std::string& gpu) {
    double instructions = 0;
    if (arguments.workload.file.ends_with(".mlt") && arguments.workload.kernels.empty()) {
        const tracefile::TraceFile trace(arguments.workload.file);
        for (const tracefile::KernelEntry& kernel : trace.index().kernels) instructions += static_cast<double>(kernel.warp_instructions);
    }
    std::optional<Expectation> expectation = expected_run(past_runs(cache), name, gpu, instructions);
    if (!expectation || arguments.options.max_cycles != 0) return;
    expectation->seconds /= arguments.options.threads;
    tell(expectation_text(*expectation));
}

int run(const RunArguments& arguments, const Registry& registry) {
    check_intervals(arguments);
    check_sampling(arguments);
    std::vector<std::string> inputs = arguments.energy_tables;
    inputs.insert(inputs.end(), {arguments.gpu, arguments.workload.file});
    keep_apart({arguments.json_file, arguments.csv_file, arguments.html_file, arguments.interval_file, arguments.timeline_file}, inputs);
    const LoadedConfig config = load_config(arguments.gpu, arguments.overrides, default_preset_dirs(), registry);
    std::vector<EnergyData> tables;
    for (const std::string& name : arguments.energy_tables) tables.push_back(load_energy_table(name, default_energy_dirs()));
    ProgressLine progress(arguments.quiet);
    std::unique_ptr<Workload> workload = open_workload(arguments.work(), progress, true);

    const bool stdout_taken = takes_stdout({{"--json", arguments.json_file},
                                            {"--csv", arguments.csv_file},
                                            {"--html", arguments.html_file},
                                            {"--interval-csv", arguments.interval_file},
                                            {"--timeline", arguments.timeline_file}});
    Output json(arguments.json_file);
    Output csv(arguments.csv_file);
    Output html(arguments.html_file);
    Output intervals(arguments.interval_file);
    Output timeline_output(arguments.timeline_file);

    RunOptions options = arguments.options;
    options.sleep = !arguments.no_sleep;
    options.interrupt = &interrupted();
    options.progress = [&](const Progress& p) { progress.update(p); };
    Timeline timeline;
    if (!arguments.timeline_file.empty()) options.timeline = &timeline;
    catch_interrupts();
    const std::filesystem::path cache = cache_of(arguments.workload);
    const std::string name = work_name(arguments.workload, *workload);
    if (!arguments.quiet && !arguments.sample) say_expected_run(arguments, cache, name, config.spec.name);
    RunResult result = simulate(arguments, config, options, tables, std::move(workload), progress);
    progress.clear();
    for (const EnergyData& table : tables) add_energy(result, config.spec, table);

    if (result.partial.empty() && !arguments.sample)
        note_run(cache,
                 {name, config.spec.name, static_cast<double>(result.warp_instructions), result.cpu_seconds, most_memory_mib(false)});

    if (json.wanted()) json.write(to_json(result));
    if (csv.wanted()) csv.write(to_csv(result));
    if (html.wanted()) html.write(to_html(result));
    if (!arguments.interval_file.empty()) intervals.write(intervals_to_csv(result));
    if (!arguments.timeline_file.empty()) {
        const TimelineFile file = to_perfetto(result, timeline);
        timeline_output.write(file.bytes);
        if (!file.left_out.empty()) tell(fmt::format("note: {}: {}", arguments.timeline_file, file.left_out));
    }
    if (!arguments.quiet && !stdout_taken) fmt::print("{}", summary(result));
    return result.partial == "interrupted" ? kInterrupted : kDone;
}

void add_output_options(CLI::App& command, RunArguments& a) {
    command.add_option("--json", a.json_file, "write the full result as JSON to this file (- for standard output)");
    command.add_option("--csv", a.csv_file, "write all counters as CSV to this file (- for standard output)");
    command.add_option("--html", a.html_file, "write the result as an HTML page that starts with the bottleneck (- for standard output)");
    command
        .add_option("--interval", a.options.interval_cycles,
                    fmt::format("also report all counters per interval of this many core cycles (at most {} intervals), in --interval-csv, "
                                "--json, --html and --timeline",
                                grouped(Sampler::kMost)))
        ->type_name("CYCLES")
        ->check(CLI::Range(std::uint64_t{1}, kMostCycles));
    command.add_option("--interval-csv", a.interval_file,
                       "write one row per interval and one column per counter as CSV to this file (- for standard output)");
    command.add_option(
        "--timeline", a.timeline_file,
        "write kernels, CTAs, sampled loads and counters over time to this file (at most 64 MiB), for https://ui.perfetto.dev");
}

void add_sampling_options(CLI::App& command, RunArguments& a) {
    CLI::Option* sample =
        command.add_flag("--sample", a.sample,
                         "simulate only some launches of the workload, and estimate every statistic with its 95 % interval "
                         "(docs/sampling.md)");
    command
        .add_option_function<std::string>(
            "--error", [&a](const std::string& text) { a.sampling.error = error_argument(text); },
            "half-width of the interval of cycles for which launches are simulated: 0.05% to 50% (default: 2%)")
        ->type_name("PERCENT")
        ->needs(sample);
    add_number_option(command, "--sample-seed", a.sampling.seed, std::uint64_t{0}, std::uint64_t{1} << 32, "seed of the choice of launches")
        ->needs(sample);
    add_number_option(
        command, "--waves", a.sampling.waves, std::uint64_t{0}, std::uint64_t{1} << 32,
        fmt::format("of launches of more than N waves of CTAs, simulate about N waves; at least {}; 0: simulate launches whole",
                    sampling::kFewestWaves))
        ->needs(sample);
    std::vector<std::pair<std::string, sampling::Selection>> names;
    for (std::size_t i = 0; i < sampling::kSelectionNames.size(); ++i)
        names.emplace_back(sampling::kSelectionNames[i], static_cast<sampling::Selection>(i));
    command
        .add_option("--sample-by", a.sampling.selection,
                    "how launches are chosen: stratified (default); pka, sieve: one representative per cluster, for comparison, without "
                    "intervals")
        ->transform(CLI::CheckedTransformer(names).description(""))
        ->type_name("METHOD")
        ->needs(sample);
    command
        .add_option(
            "--resume", a.sampling.keep,
            "keep what is finished in this folder, which may be new: a run that was killed continues from there with the same options, "
            "and ends with the same result")
        ->type_name("FOLDER")
        ->needs(sample);
    add_number_option(command, "--segment", a.sampling.segment_instructions, std::uint64_t{0}, std::uint64_t{1} << 48,
                      "simulated warp instructions after which a pass continues on an idle machine, so that --resume can keep what is "
                      "finished; 0: never")
        ->needs(sample);
    command
        .add_flag_callback(
            "--no-warming", [&a] { a.sampling.warm = false; },
            "leave the L2 as the last simulated launch left it, instead of updating it with the launches in between")
        ->needs(sample);
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

double error_argument(const std::string& text) {
    const std::optional<double> error = study::relative_error(text);
    if (!error)
        throw InputError(fmt::format("--error {} is no error from 0.05% to 50%; write for example --error 2%", printable(text, 40)));
    return *error;
}

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
    add_by_instruction_option(*command, a.options.by_instruction);
    add_list_option(*command, "--energy", a.energy_tables, "estimate energy with this table (see 'mergelane list energy'); repeatable");
    add_sampling_options(*command, a);
    add_output_options(*command, a);
    command->add_flag("-q,--quiet", a.quiet, "suppress the summary and the progress line");
    command->footer(
        "Examples:\n"
        "  mergelane run --gpu icc60 --synthetic stream\n"
        "  mergelane run --gpu icc60 --workload hotspot --size paper\n"
        "  mergelane run --gpu icc60 --set l1.size_kib=96 --synthetic tiled --param ctas=480 --param reuse=4\n"
        "  mergelane run --gpu icc60 my_kernel.toml\n"
        "  mergelane run --gpu v100 traces/vecadd/kernelslist.g --kernels 1-2\n"
        "  mergelane run --gpu v100 vecadd.mlt\n"
        "  mergelane run --gpu v100 --workload transpose --by-instruction\n"
        "  mergelane run --gpu v100 --synthetic divergent --param iterations=1 --threads 2 --json result.json --csv result.csv\n"
        "  mergelane run --gpu icc60 --workload hotspot --size tiny --interval 1000 --interval-csv over_time.csv\n"
        "  mergelane run --gpu icc60 --workload hotspot --size tiny --timeline run.pftrace\n"
        "  mergelane run --gpu icc60 --workload hotspot --size tiny --html hotspot.html\n"
        "  mergelane run --gpu v100 --workload lud --sample --error 2%\n"
        "  mergelane run --gpu v100 --workload bfs --size tiny --repeat 40 --sample\n"
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
