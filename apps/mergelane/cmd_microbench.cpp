// SPDX-License-Identifier: MIT
// Latencies and bandwidths of a machine by level, beside published measurements of silicon.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "exit_codes.hpp"
#include "interrupt.hpp"
#include "microbench/microbench.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/html_report.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

namespace {

using namespace microbench;

struct MicrobenchArguments {
    std::string gpu;
    std::vector<std::string> overrides;
    std::vector<std::string> only;
    std::uint32_t threads = 1;
    std::string json_file;
    std::string html_file;
    bool quiet = false;
};

/// Those that begin with one of the given words, or all.
std::vector<Benchmark> chosen(const MachineSpec& spec, const std::vector<std::string>& only) {
    std::vector<Benchmark> list = benchmarks_of(spec);
    for (const std::string& word : only) {
        if (std::any_of(list.begin(), list.end(), [&](const Benchmark& b) { return b.name.starts_with(word); })) continue;
        const std::vector<std::string_view> names = names_of<std::string_view>(list, &Benchmark::name);
        throw InputError("--only: " + unknown_word("microbenchmark", word, names));
    }
    if (only.empty()) return list;
    std::erase_if(list, [&](const Benchmark& b) {
        return std::none_of(only.begin(), only.end(), [&](const std::string& word) { return b.name.starts_with(word); });
    });
    return list;
}

std::vector<Silicon> of(const std::vector<Silicon>& all, const std::string& gpu, const Benchmark& benchmark) {
    std::vector<Silicon> list;
    std::copy_if(all.begin(), all.end(), std::back_inserter(list),
                 [&](const Silicon& s) { return s.gpu == gpu && s.benchmark == benchmark.name; });
    // The first one counts; further sources are for readers to judge.
    std::stable_partition(list.begin(), list.end(), [](const Silicon& s) { return s.role != "other"; });
    return list;
}

std::string summary_text(const Summary& summary) {
    if (summary.calibrated + summary.validated == 0) return "no published measurements of these microbenchmarks on this GPU";
    std::string text;
    if (summary.calibrated != 0)
        text += fmt::format("{} of {} calibrated values within their band (3 % for latencies, 5 % for bandwidths), mean error {:.1f} %",
                            summary.within_band, summary.calibrated, summary.calibration_error);
    if (summary.validated != 0)
        text += fmt::format("{}{} values held out: mean error {:.1f} %, largest {:.1f} % ({})", text.empty() ? "" : "; ", summary.validated,
                            summary.validation_error, summary.worst_validation_error, summary.worst);
    return text;
}

nlohmann::ordered_json to_json(const std::vector<Comparison>& rows, const MachineSpec& spec) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    json["schema"] = 1;  // docs/schema/microbench.json
    json["version"] = version();
    json["gpu"] = spec.name;
    json["config_hash"] = config_hash(spec);
    json["summary"] = summary_text(summary_of(rows));
    json["benchmarks"] = nlohmann::ordered_json::array();
    for (const Comparison& row : rows) {
        nlohmann::ordered_json one = {{"name", row.benchmark->name},
                                      {"meaning", row.benchmark->meaning},
                                      {"unit", row.benchmark->unit},
                                      {"measured", row.measured},
                                      {"published", nlohmann::ordered_json::array()}};
        if (!row.published.empty()) one["error_percent"] = row.error();
        for (const Silicon& s : row.published) one["published"].push_back({{"value", s.value}, {"role", s.role}, {"source", s.source}});
        json["benchmarks"].push_back(std::move(one));
    }
    return json;
}

void print_row(const Comparison& row) {
    std::string line = fmt::format("{:<24}{:>10.1f}", row.benchmark->name, row.measured);
    if (!row.published.empty()) {
        const Silicon& silicon = row.published.front();
        line += fmt::format("{:>12.1f}{:>+9.1f} %  {:<13}{:<12}", silicon.value, row.error(), row.benchmark->unit, silicon.role);
        for (std::size_t i = 1; i < row.published.size(); ++i)
            line += fmt::format("{}{:g} in {}", i == 1 ? "also " : ", ", row.published[i].value, row.published[i].source);
    } else {
        line += fmt::format("{:>12}{:>9}    {:<13}", "-", "", row.benchmark->unit);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

int run_microbenchmarks(const MicrobenchArguments& arguments, const Registry& registry) {
    const LoadedConfig config = load_config(arguments.gpu, arguments.overrides, default_preset_dirs(), registry);
    keep_apart({arguments.json_file, arguments.html_file}, {arguments.gpu});
    const bool print = !arguments.quiet && !takes_stdout({{"--json", arguments.json_file}, {"--html", arguments.html_file}});
    Output json_file(arguments.json_file);
    Output html_file(arguments.html_file);
    catch_interrupts();
    const std::vector<Benchmark> list = chosen(config.spec, arguments.only);
    const std::vector<Silicon> silicon = read_silicon(default_silicon_file());
    if (print) {
        fmt::print("{}, configuration {}, mergelane {}\n\n", config.spec.name, config_hash(config.spec), version());
        fmt::print("{:<24}{:>10}{:>12}{:>11}  {:<13}{}\n", "microbenchmark", "simulated", "published", "error", "unit", "role");
    }
    ProgressLine progress(arguments.quiet);
    std::vector<Comparison> rows;
    Bench bench(config.spec, [&](Workload& workload) {
        RunOptions options;
        options.threads = arguments.threads;
        options.watchdog_cycles = 0;  // a chase takes long
        options.interrupt = &interrupted();
        options.progress = [&](const Progress& p) { progress.update(p); };
        Simulation simulation(config.spec, options);
        return simulation.run(workload);
    });
    for (const Benchmark& benchmark : list) {
        Comparison row{&benchmark, 0, of(silicon, config.spec.name, benchmark)};
        row.measured = benchmark.measure(bench);
        progress.clear();
        if (interrupted()) return kInterrupted;
        if (print) print_row(row);
        rows.push_back(std::move(row));
    }
    const nlohmann::ordered_json json = to_json(rows, config.spec);
    if (print) fmt::print("\n{}\n", json["summary"].get<std::string>());
    json_file.write(json_text(json, 2) + "\n");
    if (html_file.wanted()) html_file.write(microbench_page(json));
    return kDone;
}

}  // namespace

void add_microbench_command(CLI::App& app, int& exit_code, const Registry& registry) {
    auto arguments = std::make_shared<MicrobenchArguments>();
    CLI::App* command =
        app.add_subcommand("microbench", "Measure latencies and bandwidths by level, beside published measurements of real GPUs");
    MicrobenchArguments& a = *arguments;
    command->add_option("-g,--gpu", a.gpu, "GPU to simulate: preset name (see 'mergelane list gpus') or .toml file")->required();
    add_set_option(*command, a.overrides);
    add_list_option(*command, "--only", a.only,
                    "only microbenchmarks whose name begins with this: latency, bandwidth, atomics, lrc, launch, stream, or more of a "
                    "name; repeatable. All take some minutes of CPU time, mostly stream");
    add_number_option(*command, "-t,--threads", a.threads, 1, 256, "number of host threads; does not affect the result");
    command->add_option("--json", a.json_file, "write the results as JSON to this file (- for standard output)");
    command->add_option("--html", a.html_file, "write the results as an HTML page to this file (- for standard output)");
    command->add_flag("-q,--quiet", a.quiet, "suppress the text and the progress line");
    command->footer(
        "Examples:\n"
        "  mergelane microbench --gpu a100\n"
        "  mergelane microbench --gpu a100 --only latency --only bandwidth.l2 --html a100.html\n"
        "  mergelane microbench --gpu h100 --set l2.lrc.max_merged=8 --only lrc");
    command->callback([arguments, &exit_code, &registry] { exit_code = run_microbenchmarks(*arguments, registry); });
}

}  // namespace mergelane
