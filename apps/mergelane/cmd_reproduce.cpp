// SPDX-License-Identifier: MIT
// `mergelane reproduce`: a paper's experiments, measured beside published. `mergelane compare`: machines on the same workloads.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "exit_codes.hpp"
#include "output.hpp"
#include "own_programs.hpp"
#include "report/html_report.hpp"
#include "runs/sample_choice.hpp"
#include "shard.hpp"
#include "study/study.hpp"
#include "study/study_judge.hpp"
#include "study/study_report.hpp"
#include "study/summary.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

/// What both commands say about how to run.
struct StudyArguments : ShardArguments {
    std::string size = "paper";
    std::uint64_t seed = 1;
    std::string json_file, csv_file, html_file;
};

void add_study_options(CLI::App& command, StudyArguments& a, const std::string& store) {
    command.add_option("--size", a.size, "problem size of the benchmarks: tiny, paper, large")->capture_default_str();
    command.add_option("--seed", a.seed, "seed of the benchmark inputs")->capture_default_str();
    command.add_option("--store", a.store, "directory of finished runs, which are reused")->default_str(store);
    add_run_options(command, a);
    command.add_option("--json", a.json_file, "write the full result as JSON to this file (- for standard output)");
    command.add_option("--csv", a.csv_file, "write the results as CSV to this file (- for standard output)");
    command.add_option("--html", a.html_file, "write the results as an HTML page to this file (- for standard output)");
}

struct Finished {
    study::StoreContents contents;
    study::RunnerOutcome outcome;
};

/// A campaign of one shard: runs what the store lacks and returns all of it.
Finished carry_out(const study::Plan& plan, const StudyArguments& a) {
    study::CampaignPlan campaign;
    campaign.plan = plan;
    campaign.known.resize(plan.size());
    Finished finished;
    finished.outcome = run_shard(campaign, 0, 1, a);
    if (!finished.outcome.interrupted) finished.contents = study::read_store(a.store);
    refuse_conflicts(finished.contents.conflicts);
    return finished;
}

/// What the store has; what it lacks stays missing.
Finished stored(const std::string& store) {
    Finished finished;
    finished.contents = study::read_store(store);
    refuse_conflicts(finished.contents.conflicts);
    return finished;
}

int interrupted_with(const study::RunnerOutcome& outcome, const std::string& store) {
    tell(fmt::format("interrupted; {} finished runs are kept in '{}'; repeat the command to resume", outcome.reused + outcome.done, store));
    return kInterrupted;
}

bool stdout_taken(const StudyArguments& a) {
    keep_apart({a.json_file, a.csv_file, a.html_file});
    return takes_stdout({{"--json", a.json_file}, {"--csv", a.csv_file}, {"--html", a.html_file}});
}

struct ReproduceArguments : StudyArguments {
    std::string paper;
    study::Choice choice;
    std::string gpu;
    std::uint32_t seeds = 1;
    std::string svg_dir;
    bool list = false;
    bool summary = false;
    bool no_run = false;
};

void list_experiments(const study::Study& selected) {
    std::size_t figure = 9, title = 44;
    for (const study::ExperimentSpec* e : selected.experiments()) {
        figure = std::max(figure, e->figure.size() + 1);
        title = std::max(title, e->title.size() + 1);
    }
    for (const study::ExperimentSpec* e : selected.experiments())
        fmt::print("{:<8}{:<{}}{:<{}}{:>5} runs\n", e->id, e->figure, figure, e->title, title, selected.runs_of(*e).size());
    const std::size_t experiments = selected.experiments().size();
    fmt::print("{} experiment{}, {} runs without duplicates\n", experiments, experiments == 1 ? "" : "s", selected.plan().size());
}

/// All papers and their experiments.
int list_papers(const ReproduceArguments& a, const Registry& registry) {
    const std::vector<study::StudyInfo> papers = study::list_studies(study::default_study_dirs());
    if (papers.empty()) throw InputError("no studies found; set MERGELANE_STUDIES to the directory that contains them");
    const study::Published published = study::Published::read(study::default_published_file());
    for (const study::StudyInfo& paper : papers) {
        study::StudySpec spec = study::read_and_check(paper.folder, published, registry);
        trace_programs(spec, paper.folder, "out/reproduce-" + spec.paper, a.quiet);
        if (&paper != &papers.front()) fmt::print("\n");
        fmt::print("{}: {}\n", spec.paper, spec.title);
        list_experiments(study::Study(spec, study::choose(spec, a.choice), a.size, a.seed, a.seeds));
    }
    return 0;
}

/// All papers from their packed results; nothing runs.
int summarise(const ReproduceArguments& a, const Registry& registry) {
    const std::vector<fs::path> folders = study::default_result_dirs();
    if (folders.empty()) throw InputError("packed results were not found; set MERGELANE_RESULTS to the folder with the *.jsonl.zst files");
    const study::StoreContents contents = study::read_store(folders.front());
    const study::Published published = study::Published::read(study::default_published_file());
    const bool silent = stdout_taken(a) || a.quiet;
    study::Summary summary;
    for (const study::StudyInfo& paper : study::list_studies(study::default_study_dirs())) {
        const study::StudySpec spec = study::read_and_check(paper.folder, published, registry);
        study::StudyResult result = study::Study(spec, study::choose(spec, {}), "paper", 1, 1).judge(contents, published);
        // A study that was never run has no verdicts, not even "reported".
        const bool any =
            std::any_of(result.runs.begin(), result.runs.end(), [](const study::StudyRun& run) { return run.record != nullptr; });
        if (any) summary.papers.push_back(std::move(result));
    }
    Output(a.csv_file).write(study::to_csv(summary));
    if (!a.svg_dir.empty()) {
        fs::create_directories(a.svg_dir);
        Output((fs::path(a.svg_dir) / "summary.svg").string()).write(study::to_svg(summary));
    }
    if (!silent) fmt::print("{}", study::to_text(summary));
    return 0;
}

/// Every chart as a file of its own: ICC-5-1.svg and so on.
void write_charts(const std::string& directory, const nlohmann::json& document) {
    std::error_code problem;
    std::filesystem::create_directories(directory, problem);  // what went wrong shows when the first file is opened
    for (const nlohmann::json& experiment : document.at("experiments")) {
        std::size_t number = 0;
        for (const nlohmann::json& chart : experiment.value("charts", nlohmann::json::array())) {
            Output file(
                (std::filesystem::path(directory) / fmt::format("{}-{}.svg", experiment.at("id").get<std::string>(), ++number)).string());
            file.write(svg_chart(chart));
        }
    }
}

int reproduce(ReproduceArguments a, const Registry& registry) {
    if (a.summary) return summarise(a, registry);
    if (a.paper.empty() && a.list) return list_papers(a, registry);
    if (a.paper.empty()) throw InputError("no paper was given; write for example 'mergelane reproduce icc' (--list shows all papers)");
    const fs::path folder = study::find_study(a.paper, study::default_study_dirs());
    const study::Published published = study::Published::read(study::default_published_file());
    study::StudySpec spec = study::read_and_check(folder, published, registry, a.gpu);
    if (a.store.empty()) a.store = "out/reproduce-" + spec.paper;
    trace_programs(spec, folder, a.store, a.quiet);
    const study::Study selected{spec, study::choose(spec, a.choice), a.size, a.seed, a.seeds};
    if (a.list) {
        list_experiments(selected);
        return 0;
    }
    const bool silent = stdout_taken(a) || a.quiet;
    Output json(a.json_file);
    Output csv(a.csv_file);
    Output html(a.html_file);
    const Finished finished = a.no_run ? stored(a.store) : carry_out(selected.plan(), a);
    if (finished.outcome.interrupted) return interrupted_with(finished.outcome, a.store);
    const study::StudyResult result = selected.judge(finished.contents, published);
    const nlohmann::json document = study::to_json(result);
    json.write(json_text(document, 1) + "\n");
    csv.write(csv_of(document));
    if (html.wanted()) html.write(html_report(document));
    if (!a.svg_dir.empty()) write_charts(a.svg_dir, document);
    if (!silent) fmt::print("{}", study::to_text(result));
    return finished.outcome.failed != 0 ? kRunFailed : kDone;
}

struct CompareArguments : StudyArguments {
    std::vector<std::string> machines, more_machines;
    std::vector<std::string> overrides, overrides_a, overrides_b;
    std::vector<std::string> workloads, more_workloads;
    std::vector<std::string> energy_tables;
    std::string svg_dir;
    bool sample = false;
    study::SampleChoice sampling;
};

study::ComparedMachine machine_in(const std::string& text) {
    ChangedGpu changed(text);
    study::ComparedMachine machine;
    machine.gpu = std::move(changed.gpu);
    machine.overrides = std::move(changed.overrides);
    return machine;
}

std::vector<study::ComparedMachine> compared_machines(const CompareArguments& a) {
    std::vector<study::ComparedMachine> machines;
    for (const std::string& text : a.machines) machines.push_back(machine_in(text));
    for (const std::string& text : a.more_machines) machines.push_back(machine_in(text));
    if (machines.size() < 2)
        throw InputError(
            "a comparison needs at least two GPUs; write for example 'mergelane compare icc60 v100 --workloads hotspot'; for two workloads "
            "on one GPU, write 'mergelane run --json' for each and compare the files with 'mergelane diff'");
    for (std::size_t i = 0; i < machines.size(); ++i) {
        std::vector<std::string>& overrides = machines[i].overrides;
        overrides.insert(overrides.begin(), a.overrides.begin(), a.overrides.end());
        if (i > 1) continue;
        const std::vector<std::string>& own = i == 0 ? a.overrides_a : a.overrides_b;
        overrides.insert(overrides.end(), own.begin(), own.end());
    }
    return machines;
}

std::vector<study::ComparedWorkload> compared_workloads(const CompareArguments& a) {
    std::vector<std::string> names = a.workloads;
    names.insert(names.end(), a.more_workloads.begin(), a.more_workloads.end());
    if (names.empty()) throw InputError("no workload was given; write for example --workloads hotspot,bfs or --workload my_trace.mlt");
    std::vector<study::ComparedWorkload> workloads;
    for (const std::string& name : names) workloads.push_back({name, trace_if_program(name, fs::current_path(), a.store, a.quiet)});
    return workloads;
}

/// kernel-time.svg and so on.
void write_comparison_charts(const std::string& directory, const nlohmann::json& document) {
    std::error_code problem;
    fs::create_directories(directory, problem);  // what went wrong shows when the first file is opened
    for (const nlohmann::ordered_json& chart : comparison_charts(document)) {
        std::string name = chart.at("title").get<std::string>();
        name.resize(std::min(name.find(','), name.size()));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '-'; });
        Output((fs::path(directory) / (name + ".svg")).string()).write(svg_chart(chart));
    }
}

int compare(const CompareArguments& arguments, const Registry& registry) {
    const std::vector<study::ComparedMachine> machines = compared_machines(arguments);
    const study::CompareStudy comparison(machines, compared_workloads(arguments), arguments.size, arguments.seed, registry,
                                         arguments.sample ? study::sample_text(arguments.sampling) : "");
    const bool silent = stdout_taken(arguments) || arguments.quiet;
    Output json(arguments.json_file);
    Output csv(arguments.csv_file);
    Output html(arguments.html_file);
    const Finished finished = carry_out(comparison.plan(), arguments);
    if (finished.outcome.interrupted) return interrupted_with(finished.outcome, arguments.store);
    const study::Comparison result = comparison.compare(finished.contents, arguments.energy_tables);
    const nlohmann::json document = study::to_json(result);
    json.write(json_text(document, 1) + "\n");
    csv.write(study::to_csv(result));
    if (html.wanted()) html.write(compare_page(document));
    if (!arguments.svg_dir.empty()) write_comparison_charts(arguments.svg_dir, document);
    if (!silent) fmt::print("{}", study::to_text(result));
    return finished.outcome.failed != 0 ? kRunFailed : kDone;
}

void add_sample_options(CLI::App& command, CompareArguments& c) {
    CLI::Option* sample =
        command.add_flag("--sample", c.sample,
                         "simulate only some launches of each workload; values and ratios are estimates with 95 % intervals "
                         "(docs/sampling.md)");
    command
        .add_option_function<std::string>(
            "--error", [&c](const std::string& text) { c.sampling.error = error_argument(text); },
            "half-width of the interval of cycles for which launches are simulated: 0.05% to 50% (default: 2%)")
        ->type_name("PERCENT")
        ->needs(sample);
    add_number_option(command, "--sample-seed", c.sampling.seed, std::uint64_t{0}, study::kMostSampleSeed, "seed of the choice of launches")
        ->needs(sample);
}

void add_compare_command(CLI::App& app, int& exit_code, const Registry& registry) {
    CLI::App* command = app.add_subcommand("compare", "Compare GPUs on the same workloads");
    auto compared = std::make_shared<CompareArguments>();
    CompareArguments& c = *compared;
    c.store = "out/compare";
    command->add_option("machines", c.machines,
                        "GPUs, ratios are to the first: preset name or .toml file, with changes as in 'icc60 l1.size_kib=96 l1.ways=6'");
    add_list_option(*command, "-g,--gpu", c.more_machines, "another GPU, written the same way; repeatable");
    add_list_option(*command, "--set", c.overrides, "override a configuration value of all GPUs, KEY=VALUE; repeatable");
    add_list_option(*command, "--set-a", c.overrides_a, "override a configuration value of the first GPU, KEY=VALUE; repeatable");
    add_list_option(*command, "--set-b", c.overrides_b, "override a configuration value of the second GPU, KEY=VALUE; repeatable");
    command
        ->add_option("--workloads", c.workloads,
                     "comma-separated list of benchmarks (see 'mergelane list workloads') and workloads of your own: launch manifests "
                     "(.toml), traces (.mlt, kernelslist.g, .traceg, .traceg.xz, .tracez), CUDA programs with arguments ('./app 100')")
        ->delimiter(',');
    add_list_option(*command, "--workload", c.more_workloads, "another workload, which may contain commas; repeatable");
    add_list_option(*command, "--energy", c.energy_tables,
                    "also compare energy, estimated with this table (see 'mergelane list energy'); repeatable");
    add_study_options(*command, c, c.store);
    add_sample_options(*command, c);
    command->add_option("--svg", c.svg_dir, "write every chart as an SVG file to this directory");
    command->footer(
        "Examples:\n"
        "  mergelane compare icc60 v100 --workloads hotspot,bfs --size tiny\n"
        "  mergelane compare icc60 icc60 --set-b l1.size_kib=96 --workloads hotspot,2dconv --energy gpuwattch_gtx480_40nm\n"
        "  mergelane compare --gpu icc60 --gpu 'icc60 l1.size_kib=96' --gpu v100 --workload app.mlt --html compare.html\n"
        "  mergelane compare icc60 v100 --workload './app 100'    run once, its launches are simulated on each GPU\n"
        "  mergelane compare v100 v100 --set-b l1.size_kib=16 --workloads lud --size tiny --sample --error 2%\n"
        "Finished runs are kept in the store and reused. A changed file is another workload: its content identifies its runs.");
    command->callback([compared, &exit_code, &registry] { exit_code = compare(*compared, registry); });
}

}  // namespace

void add_study_commands(CLI::App& app, int& exit_code, const Registry& registry) {
    CLI::App* repeat =
        app.add_subcommand("reproduce", "Reproduce the experiments of a paper and evaluate them against the published numbers");
    auto arguments = std::make_shared<ReproduceArguments>();
    ReproduceArguments& a = *arguments;
    repeat->add_option("paper", a.paper, "short name of the paper (--list shows all), or the directory of your own study");
    add_list_option(*repeat, "--experiment", a.choice.experiments, "run only this experiment, for example ICC-5; repeatable");
    add_list_option(*repeat, "--figure", a.choice.figures,
                    "run only the experiments of this figure, table or section of the paper, for example 10 or 6.2; repeatable");
    repeat->add_flag("--baseline-only", a.choice.baseline_only, "run only the experiments that do not use the paper's mechanisms");
    repeat->add_flag("--list", a.list,
                     "list the experiments of the paper, or of all papers if none is given, with their number of runs, and exit");
    repeat->add_flag("--summary", a.summary,
                     "print one table of all experiments of all papers from the results shipped with Mergelane; of the output options, "
                     "only --csv and --svg apply");
    repeat->add_flag("--no-run", a.no_run, "run nothing: print what the runs in the store give; values that need others are \"-\"");
    repeat->add_option("-g,--gpu", a.gpu, "GPU to use instead of the paper's: preset name or .toml file");
    add_number_option(*repeat, "--seeds", a.seeds, 1, 1000, "number of input seeds, starting at --seed, to show the sensitivity");
    add_study_options(*repeat, a, "out/reproduce-PAPER");
    repeat->add_option("--svg", a.svg_dir, "write every chart as an SVG file to this directory");
    repeat->footer(
        "Examples:\n"
        "  mergelane reproduce icc --size tiny                    quick check, half a minute\n"
        "  mergelane reproduce icc --html report.html             full reproduction, half an hour on two cores\n"
        "  mergelane reproduce icc --seeds 3                      variation across three input seeds\n"
        "  mergelane reproduce icc --figure 10 --size tiny\n"
        "  mergelane reproduce icc --no-run --store out/partial   what a store has so far; runs nothing\n"
        "  mergelane reproduce --summary                          stored results of all papers; runs nothing\n"
        "Finished runs are kept in the store. After Ctrl-C or a crash, repeat the command to resume.\n"
        "Verdicts are given at sizes paper (the default) and large; tiny is a smoke test.");
    repeat->callback([arguments, &exit_code, &registry] { exit_code = reproduce(*arguments, registry); });

    CLI::App* papers = app.get_subcommand("list")->add_subcommand("papers", "List papers for 'mergelane reproduce'");
    papers->footer("Example: mergelane list papers");
    papers->callback([] {
        fmt::print("{:<12}{}\n", "paper", "title");
        for (const study::StudyInfo& paper : study::list_studies(study::default_study_dirs()))
            fmt::print("{:<12}{}\n", paper.paper, study::read_study(paper.folder).title);
    });
    add_compare_command(app, exit_code, registry);
}

}  // namespace mergelane
