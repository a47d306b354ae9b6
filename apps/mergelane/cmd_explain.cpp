// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "exit_codes.hpp"
#include "explain/finding.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "program_trace.hpp"
#include "progress.hpp"
#include "report/report.hpp"
#include "sim/simulation.hpp"
#include "workload_source.hpp"

namespace mergelane {

namespace {

struct ExplainArguments {
    std::string gpu;
    std::vector<std::string> overrides;
    WorkloadArguments workload;
    std::uint32_t threads = 1;
    bool what_if = false;
    std::string json_file, html_file;
    bool quiet = false;
};

class Explainer {
public:
    Explainer(const ExplainArguments& arguments, const Registry& registry)
        : arguments_(arguments), registry_(registry), progress_(arguments.quiet) {}

    int run() {
        keep_apart({arguments_.json_file, arguments_.html_file}, {arguments_.gpu, arguments_.workload.file});
        const bool stdout_taken = takes_stdout({{"--json", arguments_.json_file}, {"--html", arguments_.html_file}});
        Output json(arguments_.json_file);
        Output html(arguments_.html_file);
        catch_interrupts();
        auto watched = std::make_unique<explain::WatchedWorkload>(open_workload(arguments_.workload, progress_, true));
        const RunResult result = simulate({}, *watched, true);
        if (result.partial == "interrupted") return kInterrupted;
        explain::Explanation explanation = explain::explain(result, watched->facts());
        if (arguments_.what_if) explain::confirm(explanation, result, [this](const explain::WhatIf& w) { return simulate(w); });
        progress_.clear();
        if (interrupted()) return kInterrupted;
        json.write(to_json(explanation, result));
        if (html.wanted()) html.write(to_html(result, page_findings(explanation)));
        if (!arguments_.quiet && !stdout_taken) fmt::print("{}", to_text(explanation, result));
        return kDone;
    }

private:
    RunResult simulate(const std::vector<std::string>& further, Workload& workload, bool by_instruction = false) {
        std::vector<std::string> overrides = arguments_.overrides;
        overrides.insert(overrides.end(), further.begin(), further.end());
        const LoadedConfig config = load_config(arguments_.gpu, overrides, default_preset_dirs(), registry_);
        RunOptions options;
        options.threads = arguments_.threads;
        options.follow_one_of = 1;
        options.by_instruction = by_instruction;
        options.interrupt = &interrupted();
        options.progress = [this](const Progress& p) { progress_.update(p); };
        Simulation simulation(config.spec, options);
        return simulation.run(workload);
    }
    /// Returns nothing if the configuration is invalid or the machine cannot run the kernel.
    std::optional<RunResult> simulate(const explain::WhatIf& what_if) {
        if (interrupted()) return std::nullopt;
        try {
            explain::ChangedWorkload workload(open_workload(arguments_.workload, progress_, true), what_if.change);
            return simulate(what_if.overrides, workload);
        } catch (const InputError&) {
            return std::nullopt;
        }
    }

    const ExplainArguments& arguments_;
    const Registry& registry_;
    ProgressLine progress_;
};

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code, const Registry& registry, const ProgramWords& program) {
    auto arguments = std::make_shared<ExplainArguments>();
    CLI::App* command = app.add_subcommand("explain", "Report what limits a run: ranked findings and the speedup from lifting each limit");
    ExplainArguments& a = *arguments;
    command->add_option("-g,--gpu", a.gpu, "GPU to simulate: preset name (see 'mergelane list gpus') or .toml file")->required();
    add_set_option(*command, a.overrides);
    add_workload_options(*command, a.workload, registry, true);
    add_number_option(*command, "-t,--threads", a.threads, 1, 256, "number of host threads; does not affect the result");
    command->add_flag("--what-if", a.what_if, "simulate the run without each limit in turn, and rank the findings by speedup");
    command->add_option("--json", a.json_file, "write the findings as JSON to this file (- for standard output)");
    command->add_option("--html", a.html_file, "write the findings and the run as an HTML page to this file (- for standard output)");
    command->add_flag("-q,--quiet", a.quiet, "suppress the text and the progress line");
    command->footer(
        "Examples:\n"
        "  mergelane explain --gpu v100 --workload gemm --size tiny\n"
        "  mergelane explain --gpu v100 --workload gemm --size tiny --what-if\n"
        "  mergelane explain --gpu v100 ./app 1000                CUDA program and its arguments, after all options\n"
        "  mergelane explain --gpu gtx480 my_kernel.toml --json findings.json --html findings.html");
    command->callback([arguments, &program, &exit_code, &registry] {
        TemporaryTrace trace;
        trace.replace_program(arguments->workload, program, arguments->gpu, arguments->overrides);
        exit_code = Explainer(*arguments, registry).run();
    });
}

}  // namespace mergelane
