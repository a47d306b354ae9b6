// SPDX-License-Identifier: MIT
#include "shard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "campaign/estimate.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "history.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "study/summary.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

/// Twice what there is for each, but enough for the large programs.
std::uint64_t default_memory(std::uint32_t jobs) {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return 0;
    constexpr std::uint64_t kLeast = std::uint64_t{8} << 30;
    return std::max(kLeast, 2 * static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / jobs);
}

}  // namespace

void add_run_options(CLI::App& command, ShardArguments& a) {
    command.add_option("-j,--jobs", a.jobs, "simulations to run in parallel (default: number of host cores)")->check(CLI::Range(1, 4096));
    command.add_option("--cache", a.cache,
                       "directory of benchmark recordings (default: $MERGELANE_CACHE, otherwise $XDG_CACHE_HOME/mergelane, otherwise "
                       "~/.cache/mergelane, otherwise recordings/ in the store)");
    command
        .add_option("--cache-limit", a.cache_gib,
                    "size limit of the recording cache in GiB; the least recently used recordings are removed first (default: no limit)")
        ->check(numbers(1e-9, 1e9));
    command.add_option("--local-cache", a.local_cache, "host-local directory to copy recordings to before use, if reading --cache is slow");
    add_number_option(command, "--timeout", a.timeout, 0.001, 1e8,
                      "wall-clock time limit of a run in seconds; a run that exceeds it is retried once");
    command
        .add_option("--memory", a.memory_mib,
                    "address-space limit of a run in MiB (default: twice the host's memory divided by --jobs, at least 8 GiB)")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40));
    command.add_flag("--retry-failed", a.retry_failed, "also retry runs that failed earlier");
    command.add_flag("-q,--quiet", a.quiet, "suppress the report and the progress line");
}

study::StoreIndex read_index_for(const std::string& store, const study::StoreScope& scope, bool quiet) {
    ProgressLine progress(quiet);
    study::StoreIndex index = study::read_index(store, scope, [&](std::uint64_t done, std::uint64_t total) {
        progress.update_share("reading the store", static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(1, total)));
    });
    progress.clear();
    for (const std::string& sentence : index.damaged.kept()) tell(fmt::format("warning: {}", sentence));
    if (const std::size_t more = index.damaged.size() - index.damaged.kept().size()) tell(fmt::format("warning: {} more lines", more));
    return index;
}

void refuse_conflicts(const std::vector<std::string>& conflicts) {
    if (conflicts.empty()) return;
    throw SimulationError(fmt::format("{} runs have conflicting results, which indicates a bug or a modified store: {}", conflicts.size(),
                                      conflicts.front()));
}

study::StoreIndex sound_index_for(const std::string& store, const study::StoreScope& scope, bool quiet) {
    study::StoreIndex index = read_index_for(store, scope, quiet);
    refuse_conflicts(index.conflicts);
    return index;
}

namespace {

constexpr const char* kManyRuns = "runs of studies and campaigns";

/// From what the store has of these workloads, or the results that come with Mergelane: of the papers' benchmarks at size paper.
study::CampaignCount expected_cost(const study::Plan& plan, const study::StoreIndex& index) {
    const study::CampaignCount count = study::count_runs(plan, index);
    const auto shipped = [](const study::PlannedWorkload& w) { return w.size == "paper"; };
    const std::vector<fs::path> folders = study::default_result_dirs();
    const bool of_papers = std::any_of(plan.workloads().begin(), plan.workloads().end(), shipped);
    if (count.unknown + count.guessed == 0 || folders.empty() || !of_papers) return count;
    const study::StoreIndex other = study::read_index(folders.front());
    return study::count_runs(plan, index, &other);
}

/// Before long work.
void say_expected(const study::Plan& plan, std::size_t wanted, const study::StoreIndex& index, const study::RunnerOptions& options) {
    const study::CampaignCount count = expected_cost(plan, index);
    if (count.missing == 0 || count.unknown == count.missing) return;
    const double share = std::min(1.0, static_cast<double>(wanted) / static_cast<double>(count.missing));
    Expectation expectation;
    expectation.seconds = share * count.left / std::min<double>(options.jobs, static_cast<double>(std::max<std::size_t>(1, wanted)));
    for (const PastRun& run : past_runs(options.cache)) {
        if (run.workload == kManyRuns) expectation.mib = std::max(expectation.mib, run.mib * options.jobs);
    }
    expectation.from = count.elsewhere == 0 ? fmt::format("{} finished runs", grouped(count.done))
                                            : fmt::format("{} finished runs and {} shipped with Mergelane, measured on another host",
                                                          grouped(count.done), grouped(count.elsewhere));
    std::string text = expectation_text(expectation);
    if (text.empty()) return;
    text.pop_back();
    tell(fmt::format("{} runs, {} at a time: {}{}", grouped(wanted), options.jobs, text,
                     count.unknown == 0 ? "" : fmt::format("; no estimate for {} runs", grouped(count.unknown))));
}

}  // namespace

study::RunnerOutcome run_shard(const study::CampaignPlan& plan, std::uint32_t shard, std::uint32_t shards, const ShardArguments& a) {
    study::RunnerOptions options;
    options.executable = fs::read_symlink("/proc/self/exe");
    options.jobs = a.jobs != 0 ? a.jobs : std::max(1u, std::thread::hardware_concurrency());
    options.timeout_seconds = a.timeout;
    options.memory = a.memory_mib != 0 ? a.memory_mib << 20 : default_memory(options.jobs);
    options.cache = a.cache.empty() ? suite::default_cache_dir() : fs::path(a.cache);
    if (options.cache.empty()) options.cache = fs::path(a.store) / "recordings";
    options.local = a.local_cache;
    options.keep = fs::path(a.store) / study::kUnfinishedName;
    options.cache_limit = static_cast<std::uint64_t>(a.cache_gib * (std::uint64_t{1} << 30));
    options.retry_failed = a.retry_failed;
    options.interrupt = &interrupted();

    catch_interrupts();
    const study::StoreScope scope = plan.scope(shard, shards);
    study::Store store(a.store, fmt::format("{}.s{}of{}.", scope.plan, shard, shards));
    const study::StoreIndex index = sound_index_for(a.store, scope, a.quiet);
    ProgressLine progress(a.quiet);
    options.progress = [&](const study::RunnerProgress& p) { progress.update_runs(p.finished, p.total, p.failed, p.seconds_left); };
    std::vector<std::uint32_t> wanted = plan.shard(shard, shards);
    const auto gave_up = [&](std::uint32_t run) {
        const study::KnownRun* since = index.find(plan.plan.key(run));
        return !a.retry_failed && plan.known[run] == study::RunState::failed && (since == nullptr || !since->done);
    };
    const std::size_t failed = std::erase_if(wanted, gave_up);
    if (!a.quiet) say_expected(plan.plan, wanted.size(), index, options);
    const auto start = std::chrono::steady_clock::now();
    study::RunnerOutcome outcome = study::run_missing(plan.plan, wanted, store, index, options);
    outcome.failed += failed;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    note_run(options.cache, {kManyRuns, "any", 0, seconds, most_memory_mib(true)});
    store.sync();
    return outcome;
}

}  // namespace mergelane
