// SPDX-License-Identifier: MIT
#include "workload_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "workload/accelsim/kernel_list.hpp"
#include "workload/ptx/manifest.hpp"
#include "workload/suite/cache.hpp"
#include "workload/synthetic.hpp"

namespace mergelane {

namespace {

accelsim::ReplayOptions chosen_kernels(const WorkloadArguments& arguments) {
    accelsim::ReplayOptions options;
    if (!arguments.kernels.empty()) accelsim::parse_kernel_range(arguments.kernels, options);
    return options;
}

std::unique_ptr<Workload> open_manifest(const WorkloadArguments& arguments, const WorkloadListeners& listeners) {
    if (!arguments.kernels.empty())
        throw InputError("--kernels chooses from a trace or a benchmark program; a manifest lists its launches itself");
    return ptx::load_manifest(arguments.file, listeners.warn);
}

std::unique_ptr<Workload> open_trace(const WorkloadArguments& arguments, const WorkloadListeners& listeners) {
    accelsim::ReplayOptions options = chosen_kernels(arguments);
    options.warn = listeners.warn;
    options.progress = listeners.reading;
    return accelsim::open_trace(arguments.file, options);
}

bool is_trace(std::string_view file) {
    const std::string_view name = file.substr(file.rfind('/') + 1);
    return name.starts_with("kernelslist") || name.ends_with(".g") || name.ends_with(".traceg") || name.ends_with(".traceg.xz");
}

std::unique_ptr<Workload> open_file(const WorkloadArguments& arguments, const WorkloadListeners& listeners) {
    if (arguments.file.ends_with(".toml")) return open_manifest(arguments, listeners);
    if (is_trace(arguments.file)) return open_trace(arguments, listeners);
    throw InputError(fmt::format(
        "'{}' cannot be run; give a launch manifest (.toml) or a trace (kernelslist.g, .traceg, .traceg.xz), or --workload or --synthetic "
        "before a name",
        arguments.file));
}

std::unique_ptr<Workload> open_program(const WorkloadArguments& arguments) {
    const accelsim::ReplayOptions chosen = chosen_kernels(arguments);
    suite::ExecutorOptions options;
    options.first_launch = chosen.first_kernel;
    options.last_launch = chosen.last_kernel;
    const suite::Size size = suite::parse_size(arguments.size);
    const std::filesystem::path cache = arguments.cache.empty() ? suite::default_cache_dir() : std::filesystem::path(arguments.cache);
    if (arguments.no_cache || cache.empty()) return suite::make_suite_workload(arguments.program, size, arguments.seed, options);
    return suite::make_cached_suite_workload(arguments.program, size, arguments.seed, options, cache);
}

std::unique_ptr<Workload> open_synthetic(const WorkloadArguments& arguments) {
    if (!arguments.kernels.empty())
        throw InputError("--kernels chooses from a trace or a benchmark program; a synthetic workload has --param kernels=N");
    SyntheticParams params = synthetic_defaults(arguments.synthetic);
    for (const std::string& assignment : arguments.params) apply_synthetic_param(params, assignment);
    return make_synthetic(arguments.synthetic, params);
}

/// Exactly one, or a sentence that says what to do.
void check_one_source(const WorkloadArguments& arguments) {
    std::vector<std::string> given;
    if (!arguments.file.empty()) given.push_back(fmt::format("'{}'", arguments.file));
    if (!arguments.program.empty()) given.push_back(fmt::format("--workload {}", arguments.program));
    if (!arguments.synthetic.empty()) given.push_back(fmt::format("--synthetic {}", arguments.synthetic));
    if (given.empty())
        throw InputError(
            "nothing to run; name a launch manifest (my_kernel.toml) or a trace (kernelslist.g), a benchmark program, for example "
            "--workload hotspot (mergelane list workloads shows all), or --synthetic stream (mergelane list synthetic)");
    if (given.size() > 1) throw InputError(fmt::format("{} are {} workloads; give one", fmt::join(given, " and "), given.size()));
    if (!arguments.params.empty() && arguments.synthetic.empty())
        throw InputError(fmt::format("--param belongs to --synthetic; {}",
                                     arguments.program.empty() ? "a file has no parameters" : "use --size and --seed with --workload"));
}

}  // namespace

std::unique_ptr<Workload> open_workload(const WorkloadArguments& arguments, const WorkloadListeners& listeners) {
    check_one_source(arguments);
    if (!arguments.file.empty()) return open_file(arguments, listeners);
    if (!arguments.program.empty()) return open_program(arguments);
    return open_synthetic(arguments);
}

}  // namespace mergelane
