// SPDX-License-Identifier: MIT
#include "launch/child.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <csignal>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>

#include "config/config.hpp"
#include "core/model_version.hpp"
#include "profile/profile.hpp"
#include "runs/sample_choice.hpp"
#include "sampling/kept_run.hpp"
#include "sim/simulation.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/record/recording_file.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane::study {

namespace {

using Json = nlohmann::ordered_json;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitMemory = false;  // sanitizers reserve terabytes
#else
constexpr bool kLimitMemory = true;
#endif

void limit(decltype(RLIMIT_AS) resource, std::uint64_t value) {
    rlimit limits{};
    if (getrlimit(resource, &limits) != 0) return;
    if (limits.rlim_max == RLIM_INFINITY || value < limits.rlim_max) limits.rlim_max = value;
    limits.rlim_cur = limits.rlim_max;
    setrlimit(resource, &limits);
}

void stay_within(const ChildOrder& order) {
    limit(RLIMIT_CORE, 0);
    if (kLimitMemory && order.memory != 0) limit(RLIMIT_AS, order.memory);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (order.parent != 0 && getppid() != order.parent) std::_Exit(1);  // it ended before we could ask to be told
}

/// `use(name, member)` for all members of an order, paths as texts.
template <typename Order, typename Use>
void each_member(Order& order, const Use& use) {
    use("gpu", order.spec.gpu);
    use("overrides", order.spec.overrides);
    use("workload", order.spec.workload);
    use("size", order.spec.size);
    use("seed", order.spec.seed);
    use("kernels", order.spec.kernels);
    use("sample", order.spec.sample);
    use("key", order.key);
    use("cache", order.cache);
    use("prepare", order.prepare);
    use("memory", order.memory);
    use("parent", order.parent);
    use("config_hash", order.config_hash);
    use("recording", order.recording);
    use("local", order.local);
    use("keep", order.keep);
}

ChildOrder parse(std::string_view text) {
    const Json json = Json::parse(text);
    ChildOrder order;
    each_member(order, [&](const char* name, auto& member) { json.at(name).get_to(member); });
    return order;
}

}  // namespace

std::string to_text(const ChildOrder& order) {
    Json json = Json::object();
    each_member(order, [&](const char* name, const auto& member) { json[name] = member; });
    try {
        return json.dump();
    } catch (const Json::exception&) {
        throw InputError(
            "the name of a directory, GPU or workload is not valid UTF-8; rename what --cache, --local-cache, --gpu or --workload refer "
            "to");
    }
}

namespace {

RunRecord done(const ChildOrder& order) {
    RunRecord record;
    record.key = order.key;
    record.spec = order.spec;
    record.done = true;
    record.version = version();
    record.model = kModelVersion;
    return record;
}

RunRecord profiled(const ChildOrder& order, Workload& workload) {
    const Profile profile = profile_workload(workload, {});
    const std::uint64_t counts[] = {profile.total.intra_cta_reuses, profile.total.inter_cta_reuses, profile.total.footprint_lines};
    RunRecord record = done(order);
    record.warp_instructions = profile.total.warp_instructions;
    for (std::size_t i = 0; i < std::size(kProfileCounts); ++i) {
        const std::string name(kProfileCounts[i]);
        record.stats[name] = record.highest[name] = counts[i];
    }
    record.seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return record;
}

void check_unchanged(std::string_view what, const std::string& planned, const std::string& now) {
    if (!planned.empty() && planned != now)
        throw ProgramChanged(
            fmt::format("{} changed after the campaign was planned (another version of mergelane, or a modified file); no result was kept; "
                        "create a new plan with 'mergelane campaign plan'",
                        what));
}

std::unique_ptr<Workload> workload_of(const ChildOrder& order, const std::string& key) {
    if (is_workload_file(order.spec.workload)) {
        WorkloadFileOptions options;
        options.kernels = order.spec.kernels;
        options.timed = order.spec.gpu != kNoMachine;
        options.only_read = !options.timed;
        return open_workload_file(order.spec.workload, options);
    }
    const suite::Size size = suite::parse_size(order.spec.size);
    const std::filesystem::path recording = suite::cache_file(order.spec.workload, size, key, order.cache);
    const bool copies = !order.local.empty() && !order.prepare;
    const std::filesystem::path cache = copies ? suite::local_copy(recording, order.local).parent_path() : order.cache;
    // A sampled run reads its workload several times.
    const std::uint64_t most = order.spec.sample.empty() ? suite::kMostRecordingBytes : suite::kMostLongRecordingBytes;
    return suite::make_cached_suite_workload(order.spec.workload, size, order.spec.seed, launches(order.spec.kernels), cache,
                                             suite::default_kernel_dirs(), most);
}

/// Rounded: how far an estimate can be off is not known to more digits, and shorter texts make shorter records.
double six_digits(double value) {
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

SampleRecord sample_record(const RunResult& result) {
    const SampleFacts& facts = result.sample;
    SampleRecord record;
    record.facts = {{"launches", facts.launches},
                    {"simulated_launches", facts.simulated},
                    {"warp_instructions", facts.warp_instructions},
                    {"simulated_warp_instructions", facts.simulated_instructions},
                    {"waves", facts.waves},
                    {"simulated_waves", facts.simulated_waves},
                    {"passes", facts.passes},
                    {"strata", facts.strata.size()},
                    {"kernel_cycles", result.kernel_cycles()}};
    if (!(facts.requested_error > 0)) return record;  // the method states no error
    record.half_widths["cycles"] = six_digits(facts.cycles.half_width);
    record.half_widths["sample.kernel_cycles"] = six_digits(facts.kernel_cycles.half_width);
    for (std::size_t i = 0; i < facts.stats.size(); ++i) record.half_widths[result.stats[i].name] = six_digits(facts.stats[i].half_width);
    return record;
}

/// Some launches of the workload, of which earlier processes may have simulated a part.
RunResult sampled(const ChildOrder& order, const std::string& key, const MachineSpec& machine, const RunOptions& run) {
    const SampleChoice choice = parse_sample(order.spec.sample);
    sampling::Options options;
    options.error = choice.error;
    options.seed = choice.seed;
    options.selection = choice.by;
    options.segment_instructions = choice.segment;
    options.keep = order.keep.string();
    options.identity = fmt::format("{} kernels {}", key, order.spec.kernels.empty() ? "all" : order.spec.kernels);
    options.run = run;
    options.open = [&] { return workload_of(order, key); };
    try {
        return sampling::run(machine, options);
    } catch (const sampling::CannotContinue&) {
        std::filesystem::remove_all(order.keep);  // and begin again
        return sampling::run(machine, options);
    }
}

/// CPU time, which may be that of several processes.
double seconds_of(const RunResult& result) {
    const SampleFacts& facts = result.sample;
    return facts.any() ? facts.signature_seconds + facts.simulation_seconds + facts.warming_seconds : result.cpu_seconds;
}

std::string carry_out(const ChildOrder& order, const Registry& registry) {
    const std::string key = recording_key(order.spec);
    check_unchanged(fmt::format("workload '{}'", order.spec.workload), order.recording, key);
    if (!order.config_hash.empty())
        check_unchanged("mergelane itself", order.key, run_key(order.config_hash, order.spec, key, kModelVersion, registry.edition()));
    const bool samples = !order.spec.sample.empty() && !order.prepare;
    const std::unique_ptr<Workload> workload = samples ? nullptr : workload_of(order, key);
    if (order.prepare) {
        while (workload->next_kernel() != nullptr) {
        }
        return "";
    }
    if (order.spec.gpu == kNoMachine) return to_line(profiled(order, *workload));
    const LoadedConfig config = load_config(order.spec.gpu, order.spec.overrides, default_preset_dirs(), registry);
    check_unchanged(fmt::format("machine '{}'", order.spec.gpu), order.config_hash, config_hash(config.spec));
    RunOptions options;
    options.watchdog_cycles *= 10;  // CTAs of some programs run long, and a run that hangs ends by --timeout
    const RunResult result = samples ? sampled(order, key, config.spec, options) : Simulation(config.spec, options).run(*workload);
    RunRecord record = done(order);
    record.config_hash = result.config_hash;
    record.digest = result.digest;
    record.cycles = result.cycles;
    record.warp_instructions = result.warp_instructions;
    for (const StatValue& stat : result.stats) {
        record.stats[stat.name] = stat.value;
        record.highest[stat.name] = stat.highest;
    }
    if (samples) record.sample = sample_record(result);
    for (const KernelResult& kernel : result.kernels) {
        if (!samples) record.kernels.push_back({kernel.name, kernel.cycles, kernel.warp_instructions});
    }
    record.seconds = seconds_of(result);
    return to_line(record);
}

void remove_recordings(const ChildOrder& order) {
    for (const std::filesystem::path& directory : {order.cache, order.local}) {
        if (directory.empty()) continue;
        std::error_code ignored;
        std::filesystem::remove(suite::cache_file(order.spec.workload, suite::parse_size(order.spec.size), order.spec.seed,
                                                  launches(order.spec.kernels), directory),
                                ignored);
    }
}

}  // namespace

std::string run_child(std::string_view order_text, const Registry& registry, const std::function<void(const ChildOrder&)>& before) {
    const ChildOrder order = parse(order_text);
    stay_within(order);
    try {
        if (before) before(order);
        try {
            return carry_out(order, registry);
        } catch (const record::DamagedRecording&) {
            remove_recordings(order);  // and execute instead
            return carry_out(order, registry);
        }
    } catch (const std::bad_alloc&) {
        throw SimulationError(fmt::format("exceeded the limit of {} MiB of address space; raise it with --memory", order.memory >> 20));
    }
}

}  // namespace mergelane::study
