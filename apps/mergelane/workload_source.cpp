// SPDX-License-Identifier: MIT
#include "workload_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/error.hpp"
#include "core/skippable_workload.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "program_trace.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/suite/cache.hpp"
#include "workload/synthetic.hpp"
#include "workload/tracefile/trace_file.hpp"

namespace mergelane {

void add_workload_options(CLI::App& command, WorkloadArguments& a, const Registry& registry, bool or_program) {
    a.registry = &registry;
    command.add_option(
        "workload", a.file,
        fmt::format(
            "{}launch manifest of PTX kernels (.toml), Accel-Sim trace (kernelslist.g, .traceg, .traceg.xz, .tracez), or Mergelane trace "
            "(.mlt); or use --workload or --synthetic",
            or_program ? "CUDA program followed by its arguments, " : ""));
    command.add_option("--kernels", a.kernels,
                       "range of kernel launches of a trace or benchmark, counted from 1: 3, 2-5 or 4- (to the end); default: all");
    command.add_option("--synthetic", a.synthetic,
                       "synthetic workload: compute, stream, tiled, divergent, ... (see 'mergelane list synthetic')");
    CLI::Option* program =
        command.add_option("--workload", a.program, "benchmark: hotspot, bfs, gemm, ... (see 'mergelane list workloads')");
    command.add_option("--size", a.size, "problem size of the benchmark: tiny, paper, large")->needs(program)->capture_default_str();
    command.add_option("--seed", a.seed, "seed of the benchmark's inputs")->needs(program)->capture_default_str();
    add_number_option(command, "--repeat", a.repeat, 1, 1000000,
                      "times that the benchmark runs on the machine, one after the other, with seeds counted up from --seed")
        ->needs(program);
    CLI::Option* cache = command
                             .add_option("--cache", a.cache,
                                         "directory of benchmark recordings, replayed by later runs (default: $MERGELANE_CACHE, otherwise "
                                         "$XDG_CACHE_HOME/mergelane, otherwise ~/.cache/mergelane)")
                             ->needs(program);
    command.add_flag("--no-cache", a.no_cache, "execute the benchmark without reading or writing recordings")
        ->needs(program)
        ->excludes(cache);
    command
        .add_option("--max-instructions", a.max_instructions,
                    "limit on the warp instructions of a launch of a manifest, to stop infinite loops; 0: no limit")
        ->capture_default_str();
    add_list_option(command, "--param", a.params, "parameter of the synthetic workload, NAME=VALUE; repeatable");
}

namespace {

std::function<void(const std::string&)> warnings_beside(ProgressLine& progress) {
    return [&progress](const std::string& text) {
        progress.clear();
        tell(fmt::format("warning: {}", text));
    };
}

accelsim::ReplayOptions chosen_kernels(const WorkloadArguments& arguments) {
    accelsim::ReplayOptions options;
    if (!arguments.kernels.empty()) accelsim::parse_kernel_range(arguments.kernels, options);
    return options;
}

[[noreturn]] void refuse_program(const std::string& file) {
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    throw InputError(fmt::format(
        "'{}' is a program; it is run only where a program is expected: record its launches with 'mergelane cuda --trace NAME.mlt "
        "{}', or write 'mergelane advise ... -- {}'",
        file, path, path));
}

std::unique_ptr<Workload> open_file(const WorkloadArguments& arguments, ProgressLine& progress, bool timed) {
    if (arguments.recording >= 0) {
        const accelsim::ReplayOptions chosen = chosen_kernels(arguments);
        return tracefile::open_trace_file(dup(arguments.recording), arguments.file, chosen.first_kernel, chosen.last_kernel);
    }
    if (is_program(arguments.file)) refuse_program(arguments.file);
    WorkloadFileOptions options;
    options.kernels = arguments.kernels;
    options.max_instructions = arguments.max_instructions;
    options.timed = timed;
    options.only_read = arguments.only_read;
    options.stop = &interrupted();
    options.warn = warnings_beside(progress);
    options.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.update_reading(done, total); };
    return open_workload_file(arguments.file, options);
}

/// A registered workload; nullptr: there is none of this name.
std::unique_ptr<Workload> open_registered(const WorkloadArguments& arguments) {
    const std::vector<std::string_view> names = arguments.registry->names<NamedWorkload>();
    const bool of_suite = std::any_of(suite::workloads().begin(), suite::workloads().end(),
                                      [&](const suite::SuiteWorkload& workload) { return workload.name == arguments.program; });
    if (std::find(names.begin(), names.end(), arguments.program) == names.end()) {
        if (of_suite || names.empty()) return nullptr;
        std::vector<std::string_view> known = names;
        for (const suite::SuiteWorkload& workload : suite::workloads()) known.push_back(workload.name);
        throw InputError(unknown_word("workload", arguments.program, known));
    }
    if (of_suite)
        throw InputError(fmt::format("'{}' is the name of a benchmark; register the workload under another name", arguments.program));
    if (!arguments.kernels.empty())
        throw InputError("--kernels requires a trace or a benchmark; it does not apply to a registered workload");
    return arguments.registry->find<NamedWorkload>(arguments.program)({arguments.size, arguments.seed});
}

std::unique_ptr<Workload> open_program(const WorkloadArguments& arguments);

/// A benchmark several times in a row. The inputs differ by their seeds.
class RepeatedProgram final : public SkippableWorkload {
public:
    using Open = std::function<std::unique_ptr<Workload>(std::uint64_t seed)>;
    RepeatedProgram(std::uint64_t seed, std::uint32_t times, Open open)
        : seed_(seed), left_(times), open_(std::move(open)), now_(open_(seed_)), name_(fmt::format("{} x {}", now_->name(), times)) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override {
        while (left_ != 0) {
            if (const KernelSource* kernel = now_->next_kernel()) return kernel;
            next_time();
        }
        return nullptr;
    }
    bool skip_kernel() override {
        while (left_ != 0) {
            if (mergelane::skip_kernel(*now_)) return true;
            next_time();
        }
        return false;
    }

private:
    void next_time() {
        now_.reset();
        if (--left_ != 0) now_ = open_(++seed_);
    }

    std::uint64_t seed_;
    std::uint32_t left_;
    Open open_;
    std::unique_ptr<Workload> now_;
    std::string name_;
};

std::unique_ptr<Workload> open_program(const WorkloadArguments& arguments) {
    if (arguments.repeat > 1) {
        if (!arguments.kernels.empty()) throw InputError("--kernels selects launches of one run of the benchmark; leave out --repeat");
        WorkloadArguments once = arguments;
        once.repeat = 1;
        return std::make_unique<RepeatedProgram>(arguments.seed, arguments.repeat, [once](std::uint64_t seed) mutable {
            once.seed = seed;
            return open_program(once);
        });
    }
    if (std::unique_ptr<Workload> registered = open_registered(arguments)) return registered;
    const accelsim::ReplayOptions chosen = chosen_kernels(arguments);
    suite::ExecutorOptions options;
    options.first_launch = chosen.first_kernel;
    options.last_launch = chosen.last_kernel;
    options.stop = &interrupted();
    constexpr std::uint32_t kAhead = 3;  // launches of very different length follow each other
    options.ahead = arguments.ahead ? kAhead : 0;
    const suite::Size size = suite::parse_size(arguments.size);
    const std::filesystem::path cache = arguments.cache.empty() ? suite::default_cache_dir() : std::filesystem::path(arguments.cache);
    if (arguments.no_cache || cache.empty()) return suite::make_suite_workload(arguments.program, size, arguments.seed, options);
    return suite::make_cached_suite_workload(arguments.program, size, arguments.seed, options, cache, suite::default_kernel_dirs(),
                                             arguments.keep_long ? suite::kMostLongRecordingBytes : suite::kMostRecordingBytes);
}

std::unique_ptr<Workload> open_synthetic(const WorkloadArguments& arguments) {
    if (!arguments.kernels.empty())
        throw InputError("--kernels requires a trace or a benchmark; for a synthetic workload use --param kernels=N");
    SyntheticParams params = synthetic_defaults(arguments.synthetic);
    for (const std::string& assignment : arguments.params) apply_synthetic_param(params, assignment);
    return make_synthetic(arguments.synthetic, params);
}

/// Exactly one, or an error that says what to do.
void check_one_source(const WorkloadArguments& arguments) {
    std::vector<std::string> given;
    if (!arguments.file.empty()) given.push_back(fmt::format("'{}'", arguments.file));
    if (!arguments.program.empty()) given.push_back(fmt::format("--workload {}", arguments.program));
    if (!arguments.synthetic.empty()) given.push_back(fmt::format("--synthetic {}", arguments.synthetic));
    if (given.empty())
        throw InputError(
            "no workload was given; give a launch manifest (my_kernel.toml) or a trace (kernelslist.g, my_trace.mlt), a benchmark "
            "(--workload hotspot, see 'mergelane list workloads') or a synthetic workload (--synthetic stream, see 'mergelane list "
            "synthetic')");
    if (given.size() > 1) throw InputError(fmt::format("{} are {} workloads; give only one", fmt::join(given, " and "), given.size()));
    if (!arguments.params.empty() && arguments.synthetic.empty())
        throw InputError(fmt::format("--param requires --synthetic; {}",
                                     arguments.program.empty() ? "a file has no parameters" : "use --size and --seed with --workload"));
}

}  // namespace

std::string workload_identity(const WorkloadArguments& arguments, const Workload& workload) {
    std::string identity = workload.name();
    if (!arguments.kernels.empty()) identity += " kernels " + arguments.kernels;
    if (!arguments.file.empty() && arguments.recording < 0)
        identity += fmt::format(" ({} bytes)", std::filesystem::file_size(arguments.file));
    for (const std::string& param : arguments.params) identity += " " + param;
    const bool of_suite = std::any_of(suite::workloads().begin(), suite::workloads().end(),
                                      [&](const suite::SuiteWorkload& known) { return known.name == arguments.program; });
    if (of_suite) {
        const std::string key = suite::recording_key(arguments.program, suite::parse_size(arguments.size), arguments.seed, {});
        identity += fmt::format(" ({})", key.substr(0, 16));
    }
    return identity;
}

std::unique_ptr<Workload> open_workload(const WorkloadArguments& arguments, ProgressLine& progress, bool timed) {
    check_one_source(arguments);
    if (!arguments.file.empty()) return open_file(arguments, progress, timed);
    if (!arguments.program.empty()) return open_program(arguments);
    return open_synthetic(arguments);
}

}  // namespace mergelane
