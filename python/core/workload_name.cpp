// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>

#include "core/error.hpp"
#include "core/text.hpp"
#include "running.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/suite/cache.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::python {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSynthetic = "synthetic:";

std::unique_ptr<Workload> open_synthetic(const WorkloadName& workload) {
    if (!workload.kernels.empty())
        throw InputError("kernels requires a trace or a benchmark; for a synthetic workload use params={'kernels': N}");
    const std::string kind = workload.name.substr(kSynthetic.size());
    SyntheticParams params = synthetic_defaults(kind);
    for (const std::string& assignment : workload.params) apply_synthetic_param(params, assignment);
    return make_synthetic(kind, params);
}

std::unique_ptr<Workload> open_file(const WorkloadName& workload, const std::atomic<bool>& stop) {
    std::error_code ignored;
    // The folder that Accel-Sim's tracer writes.
    const bool folder = fs::is_directory(workload.name, ignored);
    WorkloadFileOptions options;
    options.kernels = workload.kernels;
    options.timed = true;
    options.stop = &stop;
    options.progress = [&stop](std::uint64_t, std::uint64_t) {
        if (stop.load(std::memory_order_relaxed)) throw Interrupted{};
    };
    return open_workload_file(folder ? (fs::path(workload.name) / "kernelslist.g").string() : workload.name, options);
}

std::unique_ptr<Workload> open_benchmark(const WorkloadName& workload, const std::atomic<bool>& stop) {
    suite::ExecutorOptions options;
    if (!workload.kernels.empty()) {
        accelsim::ReplayOptions chosen;
        accelsim::parse_kernel_range(workload.kernels, chosen);
        options.first_launch = chosen.first_kernel;
        options.last_launch = chosen.last_kernel;
    }
    options.stop = &stop;
    const suite::Size size = suite::parse_size(workload.size.empty() ? "paper" : workload.size);
    const fs::path cache = suite::default_cache_dir();
    if (cache.empty()) return suite::make_suite_workload(workload.name, size, workload.seed, options);
    return suite::make_cached_suite_workload(workload.name, size, workload.seed, options, cache);
}

}  // namespace

std::unique_ptr<Workload> open_workload(const WorkloadName& workload, const std::atomic<bool>& stop) {
    const std::string& name = workload.name;
    const bool synthetic = name.starts_with(kSynthetic);
    const bool file = !synthetic && (is_workload_file(name) || name.find('/') != std::string::npos);
    if (!workload.params.empty() && !synthetic)
        throw InputError(fmt::format("params requires a synthetic workload, such as 'synthetic:stream'; {}",
                                     file ? "a file has no parameters" : "use size and seed with a benchmark"));
    if ((!workload.size.empty() || workload.seed != 1) && (synthetic || file))
        throw InputError("size and seed require a benchmark; see mergelane.workloads()");
    if (synthetic) return open_synthetic(workload);
    std::error_code ignored;
    if (file || fs::is_directory(name, ignored)) return open_file(workload, stop);
    return open_benchmark(workload, stop);
}

}  // namespace mergelane::python
