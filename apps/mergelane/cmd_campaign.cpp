// SPDX-License-Identifier: MIT
// `mergelane campaign`: sweeps and studies from a laptop to a cluster. docs/campaigns.md
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "campaign/campaign_file.hpp"
#include "campaign/merge.hpp"
#include "campaign/run_table.hpp"
#include "cmd_campaign.hpp"
#include "commands.hpp"
#include "config/config.hpp"
#include "config/statistics.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"
#include "exit_codes.hpp"
#include "files/toml_text.hpp"
#include "output.hpp"
#include "own_programs.hpp"
#include "progress.hpp"
#include "study/study.hpp"
#include "study/study_judge.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& what) {
    const fs::path path = fs::path(what) / "";
    const fs::path last = path.parent_path().filename();
    return last.extension() == ".toml" ? last.stem().string() : last.string();
}

/// "3 min 05 s of CPU time", "12.5 CPU hours"
std::string cpu_time(double seconds) {
    return seconds < 7200 ? friendly_seconds(seconds) + " of CPU time" : fmt::format("{:.1f} CPU hours", seconds / 3600);
}

bool has_plan(const fs::path& directory) {
    std::error_code unreadable;  // read_plan() says why
    return fs::status(directory / study::kPlanName, unreadable).type() != fs::file_type::not_found;
}

/// A study's folder by its name, with errors that know what else could have been meant.
fs::path study_folder(const std::string& name) {
    std::error_code ignored;
    if (fs::is_directory(name, ignored) && name.find('/') != std::string::npos && !fs::exists(fs::path(name) / "study.toml", ignored))
        throw InputError(fmt::format(
            "'{0}' is neither a store with a plan nor a study; create a plan with 'mergelane campaign plan sweep.toml --store {0}'", name));
    try {
        return study::find_study(name, study::default_study_dirs());
    } catch (const InputError& error) {
        throw InputError(fmt::format("{}, a campaign file (.toml), or a store that has a plan", error.what()));
    }
}

void add_study(study::CampaignPlan& plan, const std::string& name, const CampaignArguments& a, const Registry& registry) {
    const fs::path folder = study_folder(name);
    study::StudySpec spec = study::read_and_check(folder, study::Published::read(study::default_published_file()), registry);
    trace_programs(spec, folder, a.store, a.quiet);
    plan.plan.add(study::Study(spec, study::choose(spec, {}), a.size, a.seed, a.seeds).plan());
}

study::CampaignPlan expanded(const CampaignArguments& a, const Registry& registry) {
    study::CampaignPlan plan(registry);
    for (const std::string& what : a.what) {
        if (what.ends_with(".toml")) {
            study::CampaignSpec spec = study::read_campaign(what);
            const fs::path folder = fs::absolute(what).parent_path();
            for (study::CampaignSpec::Program& workload : spec.workloads) {
                const std::string trace = trace_if_program(workload.name, folder, a.store, a.quiet);
                if (trace != workload.name) workload.file = trace;
            }
            study::expand(spec, plan.plan);
            plan.title += (plan.title.empty() ? "" : ", ") + spec.title;
        } else {
            std::vector<std::string> papers{what};
            if (what == "all") papers = names_of(study::list_studies(study::default_study_dirs()), &study::StudyInfo::paper);
            for (const std::string& paper : papers) {
                add_study(plan, paper, a, registry);
                plan.title += (plan.title.empty() ? "" : ", ") + name_of(paper);
            }
        }
    }
    plan.known.resize(plan.plan.size());
    return plan;
}

/// The plan all shards share: the one in the store if it has the same runs, else this one.
study::CampaignPlan agreed_plan(CampaignArguments& a, const Registry& registry) {
    study::CampaignPlan plan = plan_of(a, registry);
    if (a.what.empty()) return plan;
    if (!has_plan(a.store)) write_plan(plan, a.store, false);
    study::CampaignPlan there = study::read_plan(a.store, registry);
    if (there.runs_id() == plan.runs_id()) return there;
    replace_plan(plan, a.store, registry);
    return plan;
}

void print_missing(const study::CampaignPlan& plan) {
    fmt::print("run,key,gpu,overrides,workload,size,seed,kernels,sample\n");
    for (std::size_t i = 0; i < plan.plan.size(); ++i) {
        if (plan.known[i] == study::RunState::done) continue;
        const study::PlannedRun run = plan.plan.run(i);
        const auto field = [](const std::string& text) { return csv_field(printable(text)); };  // plans come from others
        fmt::print("{},{},{},{},{},{},{},{},{}\n", i, run.key, field(run.spec.gpu),
                   field(fmt::format("{}", fmt::join(run.spec.overrides, " "))), field(run.spec.workload), field(run.spec.size),
                   run.spec.seed, field(run.spec.kernels), field(run.spec.sample));
    }
}

int make_plan(CampaignArguments a, const Registry& registry) {
    study::CampaignPlan plan = plan_of(a, registry);
    const study::StoreIndex index = sound_index_for(a.store, {}, a.quiet);
    plan.note(index);
    replace_plan(plan, a.store, registry);
    if (a.list)
        print_missing(plan);
    else if (!a.quiet)
        print_count(study::count_runs(plan.plan, index), plan, a.store);
    return 0;
}

/// "3/100"
std::pair<std::uint32_t, std::uint32_t> shard_of(const std::string& text) {
    std::uint32_t shard = 0, shards = 0;
    const char* const end = text.data() + text.size();
    const auto [slash, problem] = std::from_chars(text.data(), end, shard);
    const bool good = problem == std::errc{} && slash != end && *slash == '/' && std::from_chars(slash + 1, end, shards).ptr == end;
    if (!good || shard >= shards)
        throw InputError(fmt::format("'{}' is not a shard; write I/N with I from 0 to N-1, for example --shard 0/8", text));
    return {shard, shards};
}

int run_campaign(CampaignArguments a, const Registry& registry) {
    const auto [shard, shards] = shard_of(a.shard);
    const study::CampaignPlan plan = agreed_plan(a, registry);
    const study::RunnerOutcome outcome = run_shard(plan, shard, shards, a);
    if (!a.quiet)
        fmt::print("shard {}/{}: {} runs completed, {} found in the store, {} failed{}\n", shard, shards, outcome.done, outcome.reused,
                   outcome.failed, outcome.interrupted ? "; interrupted, repeat the command to resume" : "");
    if (outcome.interrupted) return kInterrupted;
    return outcome.failed != 0 ? kRunFailed : kDone;
}

nlohmann::ordered_json status_json(const study::CampaignCount& count, const study::StoreIndex& index) {
    return {{"schema", 1},  // docs/schema/campaign-status.json
            {"runs", count.runs},
            {"finished", count.done},
            {"failed", count.failed},
            {"missing", count.missing},
            {"cpu_seconds_spent", count.spent},
            {"cpu_seconds_left", count.left},
            {"runs_not_estimated", count.unknown},
            {"runs_estimated_by_others", count.guessed},
            {"files", index.files.size()},
            {"bytes", index.bytes},
            {"torn_lines", index.torn},
            {"damaged_lines", index.damaged.size()},
            {"duplicates", index.duplicates},
            {"conflicts", index.conflicts}};
}

void print_store(const study::CampaignCount& count, const study::StoreIndex& index) {
    fmt::print("Store: {} files, {:.1f} MiB, {} so far; not merged yet: {} duplicates, {} torn and {} damaged lines, {} conflicts\n",
               index.files.size(), static_cast<double>(index.bytes) / 1048576, cpu_time(count.spent), index.duplicates, index.torn,
               index.damaged.size(), index.conflicts.size());
}

void print_failures(const study::CampaignPlan& plan, const study::StoreIndex& index) {
    constexpr std::size_t kShown = 10;
    std::size_t failed = 0;
    study::LineReader reader(index);
    for (std::size_t i = 0; i < plan.plan.size(); ++i) {
        const study::KnownRun* known = index.find(plan.plan.key(i));
        if (known == nullptr || known->done || ++failed > kShown) continue;
        std::optional<study::RunRecord> record = study::from_line(reader.line(*known));
        if (!record) continue;
        std::replace(record->message.begin(), record->message.end(), '\n', ' ');
        fmt::print("  run {} ({} on {}) failed: {}\n", i, printable(record->spec.workload, kMaxConfigText), shown_path(record->spec.gpu),
                   printable(record->message, 2000));
    }
    if (failed > kShown) fmt::print("  and {} more\n", failed - kShown);
    if (failed != 0) fmt::print("Use --retry-failed to rerun them.\n");
}

int status(CampaignArguments a, const Registry& registry) {
    const study::CampaignPlan plan = plan_of(a, registry);
    const study::StoreIndex index = read_index_for(a.store, {}, a.quiet || a.json);
    const study::CampaignCount count = study::count_runs(plan.plan, index);
    if (a.json) {
        fmt::print("{}\n", json_text(status_json(count, index), 1));
    } else {
        print_count(count, plan, a.store);
        print_store(count, index);
        print_failures(plan, index);
        for (const std::string& conflict : index.conflicts) fmt::print("{}\n", conflict);
    }
    if (!index.conflicts.empty()) return kRunFailed;
    return count.done == count.runs ? 0 : kIncomplete;
}

int merge(CampaignArguments a, const Registry& registry) {
    const study::CampaignPlan plan = plan_of(a, registry);
    study::restore_parts(a.store);
    const study::StoreIndex index = read_index_for(a.store, {}, a.quiet);
    if (!index.conflicts.empty()) {
        for (const std::string& conflict : index.conflicts) tell(conflict);
        throw SimulationError(
            fmt::format("{} runs have conflicting results, which indicates a bug; nothing was merged", index.conflicts.size()));
    }
    ProgressLine progress(a.quiet);
    const fs::path merged = study::merge_store(plan.plan, index, a.store, [&](std::size_t done, std::size_t total) {
        progress.update_share("merging", static_cast<double>(done) / static_cast<double>(total));
    });
    progress.clear();
    const std::size_t removed = merged.empty() ? 0 : study::remove_merged_parts(a.store, index, merged, a.remove_parts);
    study::remove_finished_work(a.store, index, a.remove_parts);
    const study::CampaignCount count = study::count_runs(plan.plan, index);
    if (!a.quiet) {
        print_count(count, plan, a.store);
        print_store(count, index);
        if (!merged.empty())
            fmt::print("Merged into '{}', {:.1f} MiB{}\n", shown_path(merged.string()),
                       static_cast<double>(fs::file_size(merged)) / 1048576,
                       removed == 0 ? "" : fmt::format("; {} original files were removed", removed));
    }
    return count.done == count.runs ? 0 : kIncomplete;
}

int export_table(CampaignArguments a, const Registry& registry) {
    if (a.sqlite_file.empty() && a.csv_file.empty()) throw InputError("no output was given; add --sqlite FILE or --csv FILE");
    keep_apart({a.sqlite_file, a.csv_file, a.csv_file + ".columns.csv"}, a.what);
    const study::CampaignPlan plan = plan_of(a, registry);
    const study::StoreIndex index = sound_index_for(a.store, {}, a.quiet);
    if (study::count_runs(plan.plan, index).done == 0) {
        tell("no run has finished; nothing was written");
        return kIncomplete;
    }
    ProgressLine progress(a.quiet);
    study::TableOptions options;
    options.highest = a.highest;
    options.statistics = all_statistics(default_preset_dirs(), registry);
    options.progress = [&](std::size_t done, std::size_t total) {
        if (done % 64 == 0) progress.update_share("exporting", static_cast<double>(done) / static_cast<double>(total));
    };
    const study::TableSize size = study::write_table(plan.plan, index, options, [&](const std::vector<study::TableColumn>& columns) {
        std::vector<std::unique_ptr<study::TableWriter>> writers;
        if (!a.sqlite_file.empty()) writers.push_back(study::write_sqlite(a.sqlite_file, columns));
        if (!a.csv_file.empty()) writers.push_back(study::write_csv(a.csv_file, columns));
        return writers;
    });
    progress.clear();
    const std::size_t missing = plan.plan.size() - size.rows - size.failures;
    if (!a.quiet)
        fmt::print("{} rows of {} columns{}{}\n", grouped(size.rows), size.columns,
                   size.failures == 0 ? "" : fmt::format("; {} failed runs have no row", grouped(size.failures)),
                   missing == 0 ? "" : fmt::format("; {} runs are missing", grouped(missing)));
    return size.rows == plan.plan.size() ? 0 : kIncomplete;
}

void add_plan_and_run(CLI::App& campaign, const std::shared_ptr<CampaignArguments>& arguments, int& exit_code, const Registry& registry) {
    CampaignArguments& a = *arguments;
    CLI::App* planning = add_campaign_subcommand(
        campaign, "plan", "Plan a campaign: count all and missing runs, and estimate the cost of the missing ones", a);
    planning->add_flag("--list", a.list, "print the missing and failed runs as CSV instead of the report");
    planning->add_flag("-q,--quiet", a.quiet, "suppress the report and the progress line");
    planning->footer(
        "Writes campaign.plan to the store, where shards read it. Costs are estimated from finished runs.\n"
        "Examples:\n"
        "  mergelane campaign plan sweep.toml\n"
        "  mergelane campaign plan all --size tiny --store /shared/papers");
    planning->callback([arguments, &exit_code, &registry] { exit_code = make_plan(*arguments, registry); });
    CLI::App* running = add_campaign_subcommand(campaign, "run", "Run the missing runs, or one shard of them", a);
    running->add_option("--shard", a.shard, "shard to run, I/N with I from 0 to N-1: each shard has 1/N of the missing runs")
        ->capture_default_str();
    add_run_options(*running, a);
    running->footer(
        "Any number of hosts may share a store. Finished runs are kept; repeat the command to resume, with the same or another N.\n"
        "Exit codes: 0 shard complete, 2 invalid input or disk full, 3 some runs failed, 130 interrupted (Ctrl-C or SIGTERM).\n"
        "Examples:\n"
        "  mergelane campaign run sweep.toml --jobs 8\n"
        "  mergelane campaign run /shared/sweep --shard 17/400 --jobs 1");
    running->callback([arguments, &exit_code, &registry] { exit_code = run_campaign(*arguments, registry); });
}

void add_status_and_merge(CLI::App& campaign, const std::shared_ptr<CampaignArguments>& arguments, int& exit_code,
                          const Registry& registry) {
    CampaignArguments& a = *arguments;
    CLI::App* asking = add_campaign_subcommand(campaign, "status", "Show the progress of a campaign", a);
    asking->add_flag("--json", a.json, "print as JSON");
    asking->add_flag("-q,--quiet", a.quiet, "suppress the progress line");
    asking->footer(
        "Exit codes: 0 complete, 3 conflicting results of the same run, 4 runs are missing or failed.\n"
        "Example:\n  mergelane campaign status out/campaign-sweep");
    asking->callback([arguments, &exit_code, &registry] { exit_code = status(*arguments, registry); });
    CLI::App* merging = add_campaign_subcommand(campaign, "merge", "Merge the files of a store into one, removing duplicates", a);
    merging->add_flag("--remove-parts", a.remove_parts,
                      "delete the original files after the merge; do not use it while another process uses the store");
    merging->add_flag("-q,--quiet", a.quiet, "suppress the report and the progress line");
    merging->footer(
        "If a run has several results, they must be equal; otherwise the differences are reported and nothing is merged.\n"
        "Exit codes: 0 complete, 3 conflicting results of the same run, 4 runs are missing or failed (all finished runs were merged).\n"
        "Example:\n  mergelane campaign merge out/campaign-sweep --remove-parts");
    merging->callback([arguments, &exit_code, &registry] { exit_code = merge(*arguments, registry); });
}

void add_export(CLI::App& campaign, const std::shared_ptr<CampaignArguments>& arguments, int& exit_code, const Registry& registry) {
    CampaignArguments& a = *arguments;
    CLI::App* writing = add_campaign_subcommand(campaign, "export", "Export all finished runs as one table: SQLite or CSV", a);
    writing->add_option("--sqlite", a.sqlite_file,
                        "write an SQLite file with the tables 'runs', 'columns' (unit and meaning of each column) and 'failures'");
    writing->add_option("--csv", a.csv_file, "write the table to this CSV file, and the meaning of its columns to FILE.columns.csv");
    writing->add_flag("--highest", a.highest, "also export the maximum of every statistic over components");
    writing->add_flag("-q,--quiet", a.quiet, "suppress the report and the progress line");
    writing->footer(
        "The table has one row per finished run, in order of run number, and one column per statistic and per configuration key that the\n"
        "campaign changes.\n"
        "Exit codes: 0 complete, 3 conflicting results of the same run, 4 runs are missing or failed (all finished runs were written).\n"
        "Examples:\n  mergelane campaign export out/campaign-sweep --sqlite runs.db\n"
        "  sqlite3 runs.db 'SELECT \"config.l1.size_kib\", avg(cycles) FROM runs GROUP BY 1'");
    writing->callback([arguments, &exit_code, &registry] { exit_code = export_table(*arguments, registry); });
}

}  // namespace

study::CampaignPlan plan_of(CampaignArguments& a, const Registry& registry) {
    if (a.what.size() == 1 && has_plan(a.what.front())) {
        if (!a.store.empty() && a.store != a.what.front())
            throw InputError(fmt::format("'{}' is a store with a plan; omit --store, or give the campaign file", a.what.front()));
        a.store = a.what.front();
        a.what.clear();
    }
    if (a.what.empty()) {
        if (a.store.empty()) throw InputError("no campaign was given; write for example 'mergelane campaign plan sweep.toml'");
        return study::read_plan(a.store, registry);
    }
    if (a.store.empty()) a.store = "out/campaign-" + name_of(a.what.front());
    return expanded(a, registry);
}

void replace_plan(const study::CampaignPlan& plan, const std::string& store, const Registry& registry) {
    try {
        const study::CampaignPlan there = study::read_plan(store, registry);
        if (there.runs_id() != plan.runs_id())
            tell(fmt::format("note: replacing the plan of a different campaign in '{}' ('{}', {} runs); finished runs are kept", store,
                             printable(there.title, kMaxConfigText), grouped(there.plan.size())));
    } catch (const InputError&) {  // there is none, or one of another version
    }
    study::write_plan(plan, store, true);
}

void print_count(const study::CampaignCount& count, const study::CampaignPlan& plan, const std::string& store) {
    const auto row = [&](const char* name, std::size_t runs) {
        fmt::print("  {:<9}{:>12}  {:5.1f} %\n", name, grouped(runs),
                   count.runs == 0 ? 0.0 : 100.0 * static_cast<double>(runs) / static_cast<double>(count.runs));
    };
    fmt::print("{}: {} runs ({} machines, {} workloads), kept in '{}'\n", printable(plan.title, kMaxConfigText), grouped(count.runs),
               plan.plan.machines().size(), plan.plan.workloads().size(), store);
    row("finished", count.done);
    row("failed", count.failed);
    row("missing", count.missing);
    if (count.missing == 0) return;
    if (count.unknown == count.missing)
        fmt::print("The cost of the missing runs cannot be estimated before some have finished.\n");
    else
        fmt::print("Estimated cost of the missing runs: {}, based on {} finished runs{}{}.\n", cpu_time(count.left), grouped(count.done),
                   count.guessed == 0 ? "" : fmt::format("; {} estimated from other workloads", grouped(count.guessed)),
                   count.unknown == 0 ? "" : fmt::format("; no estimate for {} runs", grouped(count.unknown)));
}

CLI::App* add_campaign_subcommand(CLI::App& campaign, const char* name, const char* meaning, CampaignArguments& a) {
    CLI::App* command = campaign.add_subcommand(name, meaning);
    command->add_option("campaign", a.what,
                        "campaign files (.toml) and studies (paper name, directory, or 'all' for all papers), or one store with a plan");
    command->add_option("--store", a.store, "directory of the plan and of finished runs")->default_str("out/campaign-NAME");
    command->add_option("--size", a.size, "problem size of a study's benchmarks: tiny, paper, large; campaign files define their own")
        ->capture_default_str();
    command->add_option("--seed", a.seed, "first seed of a study's inputs")->capture_default_str();
    add_number_option(*command, "--seeds", a.seeds, 1, 1000, "number of seeds of a study, starting at --seed");
    return command;
}

void add_campaign_command(CLI::App& app, int& exit_code, const Registry& registry) {
    CLI::App* campaign = app.add_subcommand("campaign", "Run campaigns of many simulations on one or more hosts");
    campaign->require_subcommand(1);
    auto arguments = std::make_shared<CampaignArguments>();
    add_plan_and_run(*campaign, arguments, exit_code, registry);
    add_status_and_merge(*campaign, arguments, exit_code, registry);
    add_export(*campaign, arguments, exit_code, registry);
    add_campaign_submit(*campaign, exit_code, registry);
    campaign->footer(
        "Example:\n"
        "  mergelane campaign plan sweep.toml      count the runs and estimate their cost\n"
        "  mergelane campaign run sweep.toml       run on this host\n"
        "  mergelane campaign status sweep.toml    show the progress\n"
        "See docs/campaigns.md for campaigns on a laptop and on a compute cluster.");
}

}  // namespace mergelane
