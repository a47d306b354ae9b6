// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "advise/cache_study.hpp"
#include "commands.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "profile/profile.hpp"
#include "report/html_report.hpp"
#include "workload_source.hpp"

namespace mergelane {

namespace {

struct ProfileArguments {
    WorkloadArguments workload;
    std::string gpu;
    std::vector<std::string> overrides;
    ProfileOptions options;
    std::string json_file;
    std::string csv_file;
    std::string html_file;
    bool quiet = false;
};

int profile(const ProfileArguments& arguments, const Registry& registry) {
    keep_apart({arguments.json_file, arguments.csv_file, arguments.html_file}, {arguments.workload.file, arguments.gpu});
    if (arguments.gpu.empty() && !arguments.overrides.empty())
        throw InputError("--set changes a GPU, and none is given; add --gpu, or leave --set out");
    ProgressLine progress(arguments.quiet);
    const std::unique_ptr<Workload> workload = open_workload(arguments.workload, progress);
    const bool stdout_taken =
        takes_stdout({{"--json", arguments.json_file}, {"--csv", arguments.csv_file}, {"--html", arguments.html_file}});
    Output json(arguments.json_file);
    Output csv(arguments.csv_file);
    Output html(arguments.html_file);
    ProfileOptions options = arguments.options;
    options.progress = [&](std::uint64_t kernel, std::uint64_t done, std::uint64_t total) {
        if (interrupted()) throw Interrupted{};
        progress.update_ctas("reading", kernel, done, total);
    };
    catch_interrupts();
    Profile result;
    if (arguments.gpu.empty()) {
        result = profile_workload(*workload, options);
    } else {
        const MachineSpec spec = load_config(arguments.gpu, arguments.overrides, default_preset_dirs(), registry).spec;
        options.sms = spec.sms();
        result = profile_workload(*workload, options);
        result.more = study_caches(
            spec, [&] { return open_workload(arguments.workload, progress); },
            [&](double share) {
                if (interrupted()) throw Interrupted{};
                progress.update_share("replaying", share);
            });
    }
    progress.clear();
    json.write(profile_json(result));
    csv.write(profile_csv(result));
    if (html.wanted()) html.write(profile_page(nlohmann::ordered_json::parse(profile_json(by_name(result)))));
    if (!arguments.quiet && !stdout_taken) fmt::print("{}", profile_summary(result));
    return 0;
}

}  // namespace

void add_profile_command(CLI::App& app, int& exit_code, const Registry& registry) {
    auto arguments = std::make_shared<ProfileArguments>();
    ProfileArguments& a = *arguments;
    CLI::App* command =
        app.add_subcommand("profile", "Profile a workload without simulating: instruction mix, coalescing, footprint, reuse");
    a.workload.only_read = true;
    add_workload_options(*command, a.workload, registry);
    command->add_option(
        "-g,--gpu", a.gpu,
        "also replay the accesses through the caches of this GPU, without timing: preset name (see 'mergelane list gpus') or "
        ".toml file; its SMs are those of the inter-warp window");
    add_set_option(*command, a.overrides);
    add_number_option(*command, "--sms", a.options.sms, 1, 1 << 20, "SMs assumed for the inter-warp window; CTAs are assigned round robin");
    add_number_option(*command, "--resident", a.options.resident, 0, 64,
                      "resident CTAs per SM for the inter-warp window; 0: as many as 48 warps allow, at least 1 and at most 8");
    command->add_option("--json", a.json_file, "write the full result as JSON to this file (- for standard output)");
    command->add_option("--csv", a.csv_file, "write the full result as CSV to this file (- for standard output)");
    command->add_option("--html", a.html_file, "write the result as an HTML page (- for standard output)");
    command->add_flag("-q,--quiet", a.quiet, "suppress the table and the progress line");
    command->footer(
        "Examples:\n"
        "  mergelane profile --synthetic tiled\n"
        "  mergelane profile my_kernel.toml --json profile.json\n"
        "  mergelane profile --synthetic divergent --html profile.html\n"
        "  mergelane profile my_trace.mlt --kernels 2-5 --csv profile.csv\n"
        "  mergelane profile --gpu h2h64 --workload hotspot       also which L1 misses SMs have in common\n"
        "Reuse is counted within each kernel launch, as if its CTAs ran one after the other. A line request is a reuse if its line was\n"
        "accessed earlier in the launch, and an inter-CTA reuse if the previous access was by another CTA.\n"
        "Inter-warp window of size N: a load request merges with a request for the same line among the last N unmerged requests of its\n"
        "SM. Resident warps issue round robin.");
    command->callback([arguments, &exit_code, &registry] { exit_code = profile(*arguments, registry); });
}

}  // namespace mergelane
