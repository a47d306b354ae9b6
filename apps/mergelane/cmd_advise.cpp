// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "advise/advice.hpp"
#include "advise/cache_study.hpp"
#include "advise/mechanism_rule.hpp"
#include "commands.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "program_trace.hpp"
#include "workload_source.hpp"

namespace mergelane {

namespace {

struct AdviseArguments {
    std::string gpu;
    std::vector<std::string> overrides;
    WorkloadArguments workload;
    std::string json_file;
    std::string html_file;
    std::uint32_t simulations = 6;
    std::uint32_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    bool by_instruction = false;
    bool mechanisms = false;
    bool quiet = false;
};

void refuse_what_does_not_apply(const AdviseArguments& a) {
    if (!a.mechanisms && a.gpu.empty()) throw CLI::RequiredError("--gpu");
    if (!a.mechanisms) return;
    if (!a.gpu.empty() || !a.overrides.empty())
        throw InputError("--mechanisms predicts for the machine its rule was learnt on, and no other; leave --gpu and --set out");
    if (!a.html_file.empty() || a.by_instruction)
        throw InputError("--mechanisms simulates nothing and has no page; leave --html and --by-instruction out");
}

/// From the profile alone, by the rule that the head-to-head study gave.
int advise_mechanisms(const AdviseArguments& arguments, const ProgramWords& program, const Registry& registry) {
    const MechanismRule rule = read_mechanism_rule(default_mechanism_rule());
    ProgressLine progress(arguments.quiet);
    Output json(arguments.json_file);
    WorkloadArguments workload = arguments.workload;
    TemporaryTrace trace;
    trace.replace_program(workload, program, rule.machine, {});
    catch_interrupts();
    const auto open = [&] { return open_workload(workload, progress); };
    const MachineSpec spec = load_config(rule.machine, {}, default_preset_dirs(), registry).spec;
    ProfileOptions options;
    options.sms = spec.sms();
    options.progress = [&](std::uint64_t kernel, std::uint64_t done, std::uint64_t total) {
        if (interrupted()) throw Interrupted{};
        progress.update_ctas("reading", kernel, done, total);
    };
    Profile profile = profile_workload(*open(), options);
    profile.more = study_caches(spec, open, [&](double share) {
        if (interrupted()) throw Interrupted{};
        progress.update_share("replaying", share);
    });
    const MechanismAdvice advice = apply(rule, profile.workload, all_metrics(profile));
    progress.clear();
    json.write(mechanism_json(rule, advice));
    if (!arguments.quiet && arguments.json_file != "-") fmt::print("{}", mechanism_text(rule, advice));
    return 0;
}

int run_advise(const AdviseArguments& arguments, const ProgramWords& program, const Registry& registry) {
    refuse_what_does_not_apply(arguments);
    keep_apart({arguments.json_file, arguments.html_file}, {arguments.gpu, arguments.workload.file});
    if (arguments.mechanisms) return advise_mechanisms(arguments, program, registry);
    ProgressLine progress(arguments.quiet);
    Output json(arguments.json_file);
    Output html(arguments.html_file);
    WorkloadArguments workload = arguments.workload;
    TemporaryTrace trace;
    trace.replace_program(workload, program, arguments.gpu, arguments.overrides);
    AdviseOptions options;
    options.simulations = arguments.simulations;
    options.threads = arguments.threads;
    options.run.interrupt = &interrupted();
    options.run.by_instruction = arguments.by_instruction;
    options.progress = [&](std::string_view what, double share) {
        if (interrupted()) throw Interrupted{};
        progress.update_share(what, share);
    };
    catch_interrupts();
    const auto configure = [&](const std::vector<std::string>& more) {
        std::vector<std::string> overrides = arguments.overrides;
        overrides.insert(overrides.end(), more.begin(), more.end());
        return load_config(arguments.gpu, overrides, default_preset_dirs(), registry).spec;
    };
    const Advice advice = mergelane::advise(
        configure, [&] { return open_workload(workload, progress); }, options);
    progress.clear();
    json.write(advice_json(advice));
    html.write(advice_html(advice));
    if (!arguments.quiet && arguments.json_file != "-") fmt::print("{}", advice_text(advice));
    return 0;
}

}  // namespace

void add_advise_command(CLI::App& app, int& exit_code, const Registry& registry, const ProgramWords& program) {
    auto arguments = std::make_shared<AdviseArguments>();
    AdviseArguments& a = *arguments;
    CLI::App* command =
        app.add_subcommand("advise", "Recommend a CTA order for the kernels of a workload and report the simulated speedup");
    command->add_option("-g,--gpu", a.gpu, "GPU to simulate: preset name (see 'mergelane list gpus') or .toml file");
    command->add_flag("--mechanisms", a.mechanisms,
                      "predict which of the mechanisms of the study headtohead helps most, from the profile alone: nothing is "
                      "simulated, no --gpu");
    add_set_option(*command, a.overrides);
    add_workload_options(*command, a.workload, registry, true);
    add_number_option(*command, "--simulations", a.simulations, 0, 40,
                      "maximum number of candidates to simulate in addition to the unchanged program; the others are only predicted");
    command
        ->add_option("-t,--threads", a.threads,
                     "number of candidates to evaluate in parallel; does not affect the result (default: number of host cores, at most 8)")
        ->check(CLI::Range(1, 256));
    add_by_instruction_option(*command, a.by_instruction);
    command->add_option("--json", a.json_file, "write the full result as JSON to this file (- for standard output)");
    command->add_option("--html", a.html_file, "write an HTML page with charts to this file");
    command->add_flag("-q,--quiet", a.quiet, "suppress the report and the progress line");
    command->footer(
        "Examples:\n"
        "  mergelane advise --gpu gtx980 --workload matrixmul\n"
        "  mergelane advise --gpu v100 ./app 1000                 CUDA program and its arguments, after all options\n"
        "  mergelane advise --gpu v100 my_kernel.toml --json advice.json --html advice.html\n"
        "  mergelane advise --gpu v100 --by-instruction ./app     also show which lines of the unchanged program wait for memory\n"
        "  mergelane advise --mechanisms --workload hotspot       which mechanism would help, by a rule learnt from simulations\n"
        "The traffic of every candidate is predicted without timing. Candidates are simulated in order of predicted speed, skipping those\n"
        "predicted to behave like one already chosen; --simulations 40 simulates all.");
    command->callback([arguments, &program, &exit_code, &registry] { exit_code = run_advise(*arguments, program, registry); });
}

}  // namespace mergelane
