// SPDX-License-Identifier: MIT
#include "workload_args.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "workload/accelsim/kernel_list.hpp"
#include "workload/ptx/manifest.hpp"
#include "workload/synthetic.hpp"
#include "workload/tracefile/trace_file.hpp"

namespace mergelane {

void add_workload_options(CLI::App& command, WorkloadArguments& a) {
    command.add_option("workload", a.file,
                       "launch manifest of PTX kernels (.toml), a trace in Accel-Sim's format (kernelslist.g, or one .traceg or "
                       ".traceg.xz), or a trace file of ours (.mlt)");
    command.add_option("--kernels", a.kernels, "which kernels of a trace, counted from 1: 3, 2-5 or 4- (to the end)");
    command.add_option("--synthetic", a.synthetic, "built-in workload: compute, stream, tiled, divergent, ... (mergelane list synthetic)");
    command.add_option("--param", a.params, "parameter of the synthetic workload, name=value; may be repeated")
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
}

namespace {

std::unique_ptr<Workload> open_file(const WorkloadArguments& arguments, ProgressLine& progress) {
    if (!arguments.params.empty()) throw InputError("--param belongs to --synthetic; a file has no parameters");
    const auto warn = [&progress](const std::string& text) {
        progress.clear();
        fmt::print(stderr, "warning: {}\n", text);
    };
    if (arguments.file.ends_with(".toml")) {
        if (!arguments.kernels.empty()) throw InputError("--kernels chooses from a trace; a manifest names its launches");
        return ptx::load_manifest(arguments.file, warn);
    }
    accelsim::ReplayOptions options;
    if (!arguments.kernels.empty()) accelsim::parse_kernel_range(arguments.kernels, options);
    if (arguments.file.ends_with(".mlt")) return tracefile::open_trace_file(arguments.file, options.first_kernel, options.last_kernel);
    options.warn = warn;
    options.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.update_reading(done, total); };
    return accelsim::open_trace(arguments.file, options);
}

}  // namespace

std::unique_ptr<Workload> open_workload(const WorkloadArguments& arguments, ProgressLine& progress) {
    if (!arguments.file.empty() && !arguments.synthetic.empty())
        throw InputError(fmt::format("'{}' and --synthetic {} are two workloads; give one", arguments.file, arguments.synthetic));
    if (!arguments.kernels.empty() && arguments.file.empty()) throw InputError("--kernels chooses from a trace; name its kernelslist.g");
    if (!arguments.file.empty()) return open_file(arguments, progress);
    if (arguments.synthetic.empty())
        throw InputError(
            "no workload is named; give a launch manifest (my_kernel.toml), a trace (kernelslist.g, my_trace.mlt) or a built-in one, for "
            "example --synthetic stream (mergelane list synthetic shows all)");
    SyntheticParams params = synthetic_defaults(arguments.synthetic);
    for (const std::string& assignment : arguments.params) apply_synthetic_param(params, assignment);
    return make_synthetic(arguments.synthetic, params);
}

}  // namespace mergelane
