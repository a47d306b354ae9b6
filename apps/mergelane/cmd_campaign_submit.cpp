// SPDX-License-Identifier: MIT
// `mergelane campaign submit`: the shards of a campaign to a scheduler.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <set>

#include "campaign/job_scripts.hpp"
#include "cmd_campaign.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "files/toml_text.hpp"
#include "launch/process.hpp"
#include "output.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

struct SubmitArguments : CampaignArguments {
    bool slurm = false, kubernetes = false, script = false, dry_run = false, force = false;
    std::uint32_t slots = 0, shards = 0;
    std::uint64_t minutes = 0;
    std::vector<std::string> options;
    std::string image = "mergelane:latest", claim = "mergelane";
};

using study::Answer, study::ask_command, study::Complaints;

/// The number behind a word; 0: there is none.
std::uint32_t number_behind(const std::string& text, std::string_view word) {
    std::size_t at = text.find(word);
    if (at == std::string::npos) return 0;
    at = text.find_first_of("0123456789", at + word.size());
    std::uint32_t number = 0;
    if (at != std::string::npos) std::from_chars(text.data() + at, text.data() + text.size(), number);
    return number;
}

/// Cores of the cluster by sinfo: "allocated/idle/other/total".
std::uint32_t cores_of_cluster() {
    const std::string text = ask_command({"sinfo", "-h", "-o", "%C"}, Complaints::dropped).text;
    const std::size_t slash = text.rfind('/');
    return slash == std::string::npos ? 0 : number_behind(text.substr(slash), "/");
}

/// Before anything is written: is there a Slurm, and does it still work on this store?
void check_slurm(const SubmitArguments& a) {
    const Answer answer = ask_command({"sinfo", "-h", "-o", "%C"}, Complaints::in_text);
    if (answer.code != 0)
        throw InputError(
            fmt::format("Slurm does not respond: 'sinfo' printed \"{}\"; submit from a host of the compute cluster (check SLURM_CONF), "
                        "inspect the scripts with --dry-run, or write one for another scheduler with --script",
                        printable(answer.text, 300)));
    if (a.force) return;
    const std::string script = (fs::weakly_canonical(fs::absolute(a.store)) / "jobs" / "shard.sh").string();
    const std::string queue = ask_command({"squeue", "--me", "-h", "-t", "PD,R,S,CF", "-o", "%A %o"}, Complaints::dropped).text;
    std::set<std::string> jobs;
    for (std::size_t at = 0; at < queue.size();) {
        const std::string line = queue.substr(at, queue.find('\n', at) - at);
        at += line.size() + 1;
        if (line.find(" " + script) != std::string::npos) jobs.insert(line.substr(0, line.find(' ')));
    }
    if (!jobs.empty())
        throw InputError(
            fmt::format("jobs of a previous submission still use '{}'; wait, or cancel them with 'scancel {}', then submit again. --force "
                        "submits anyway; runs in progress may then run twice",
                        a.store, fmt::join(jobs, " ")));
}

study::JobOptions job_options(const SubmitArguments& a, const study::CampaignPlan& plan, const study::CampaignCount& count) {
    study::JobOptions o;
    o.title = printable(plan.title, 80);  // it stands in a comment of a script
    o.program = fs::read_symlink("/proc/self/exe");
    o.store = fs::weakly_canonical(fs::absolute(a.store));
    o.cache = a.cache.empty() ? o.store / "recordings" : fs::absolute(a.cache);
    o.local_cache = a.local_cache;
    o.cache_gib = a.cache_gib;
    o.jobs = std::max(1u, a.jobs);
    o.timeout_seconds = a.timeout;
    o.memory_mib = a.memory_mib;
    o.retry_failed = a.retry_failed;
    o.minutes = a.minutes;
    o.options = a.options;
    o.image = a.image;
    o.claim = a.claim;
    o.slots = a.slots != 0 ? a.slots : a.slurm ? std::max(1u, cores_of_cluster() / o.jobs) : 16;
    const std::size_t wanted = count.missing + (a.retry_failed ? count.failed : 0);
    o.shards = a.shards != 0 ? a.shards : study::shards_for(wanted, o.slots, o.jobs, count.unknown == 0 ? count.left : 0);
    if (!a.slurm) return o;
    const std::string limits = ask_command({"scontrol", "show", "config"}, Complaints::dropped).text;
    if (const std::uint32_t most = number_behind(limits, "MaxArraySize")) o.largest_array = most;
    return o;
}

std::string command_line(const std::vector<std::string>& words) {
    std::vector<std::string> safe;
    for (const std::string& word : words) safe.push_back(study::shell_word(word));
    return fmt::format("{}", fmt::join(safe, " "));
}

std::string sbatch(const std::vector<std::string>& words) {
    const Answer answer = ask_command(words, Complaints::shown);
    if (answer.code != 0)
        throw InputError(fmt::format("sbatch failed (see its message above): {}\nearlier jobs remain queued; cancel them with 'scancel'",
                                     command_line(words)));
    return answer.text.substr(0, answer.text.find(';'));
}

void show(const fs::path& name, const std::string& text) {
    fmt::print("--- {}\n{}", name.string(), text);
}

int submit_slurm(const SubmitArguments& a, const study::JobOptions& o) {
    const fs::path jobs = o.store / "jobs";
    const fs::path shard = jobs / "shard.sh", merge = jobs / "merge.sh";
    const std::vector<study::SlurmArray> arrays = study::arrays_of(o.shards, o.largest_array);
    if (a.dry_run) {
        show(shard, study::slurm_shard_script(o));
        show(merge, study::slurm_merge_script(o));
        fmt::print("---\n");
        for (const study::SlurmArray& array : arrays) fmt::print("{}\n", command_line(study::sbatch_array(o, array, shard)));
        fmt::print("{}\n", command_line(study::sbatch_merge(o, {"JOBS"}, merge)));
        return 0;
    }
    std::error_code problem;
    fs::create_directories(jobs, problem);
    fs::create_directories(o.store / "logs", problem);
    Output(shard.string()).write(study::slurm_shard_script(o));
    Output(merge.string()).write(study::slurm_merge_script(o));
    std::vector<std::string> numbers;
    for (const study::SlurmArray& array : arrays) {
        numbers.push_back(sbatch(study::sbatch_array(o, array, shard)));
        fmt::print("job {}: shards {} to {} of {}, {} runs in parallel in each\n", numbers.back(), array.first,
                   array.first + array.count - 1, o.shards, o.jobs);
    }
    const std::string merging = sbatch(study::sbatch_merge(o, numbers, merge));
    fmt::print("job {}: merges the results after all shards\nLogs: {}\nProgress: mergelane campaign status {}\n", merging,
               (o.store / "logs").string(), study::shell_word(a.store));
    return 0;
}

int write_script(const SubmitArguments& a, const study::JobOptions& o) {
    const fs::path file = o.store / "jobs" / (a.kubernetes ? "campaign.yaml" : "campaign.sh");
    const std::string text = a.kubernetes ? study::kubernetes_job(o) : study::shell_script(o);
    if (a.dry_run) {
        show(file, text);
        return 0;
    }
    std::error_code problem;
    fs::create_directories(file.parent_path(), problem);
    Output(file.string()).write(text);
    fmt::print("{} shards in '{}'; {}\n", o.shards, file.string(),
               a.kubernetes ? fmt::format("start it with 'kubectl apply -f {}'", study::shell_word(file.string()))
                            : fmt::format("'sh {} I' runs shard I", study::shell_word(file.string())));
    return 0;
}

int submit(SubmitArguments a, const Registry& registry) {
    if (static_cast<int>(a.slurm) + static_cast<int>(a.kubernetes) + static_cast<int>(a.script) != 1)
        throw InputError("give exactly one of --slurm, --kubernetes and --script");
    study::CampaignPlan plan = plan_of(a, registry);
    if (a.slurm && !a.dry_run) check_slurm(a);
    const study::StoreIndex index = sound_index_for(a.store, {}, a.quiet);
    plan.note(index);
    if (!a.dry_run) replace_plan(plan, a.store, registry);
    const study::CampaignCount count = study::count_runs(plan.plan, index);
    if (!a.quiet) print_count(count, plan, a.store);
    if (count.missing + (a.retry_failed ? count.failed : 0) == 0) {
        fmt::print("No runs are missing; nothing was submitted.\n");
        return 0;
    }
    const study::JobOptions options = job_options(a, plan, count);
    return a.slurm ? submit_slurm(a, options) : write_script(a, options);
}

}  // namespace

void add_campaign_submit(CLI::App& campaign, int& exit_code, const Registry& registry) {
    auto arguments = std::make_shared<SubmitArguments>();
    SubmitArguments& a = *arguments;
    CLI::App* command = add_campaign_subcommand(campaign, "submit", "Plan a campaign and submit the missing runs to a scheduler", a);
    command->add_flag("--slurm", a.slurm, "submit job arrays to Slurm, followed by a merge job");
    command->add_flag("--kubernetes", a.kubernetes, "write a Kubernetes Indexed Job");
    command->add_flag("--script", a.script, "write a shell script for another scheduler");
    command->add_flag("--dry-run", a.dry_run, "print scripts and commands without writing or submitting them");
    command->add_flag("--force", a.force, "submit even if jobs of a previous submission still use the store");
    command
        ->add_option("--slots", a.slots,
                     "expected number of concurrent shards, for the default of --shards; a limit only with --kubernetes (default: "
                     "16; with --slurm, cores of the cluster divided by --jobs)")
        ->check(CLI::PositiveNumber);
    command->add_option("--shards", a.shards, "number of shards (default: 6 per slot, fewer for short campaigns)")
        ->check(CLI::PositiveNumber);
    command->add_option("--time", a.minutes,
                        "time limit of a shard in minutes, only with --slurm; a restarted shard continues with the remaining runs "
                        "(default: limit of the partition)");
    add_list_option(*command, "--sbatch", a.options, "option to pass to sbatch, for example --sbatch=--partition=short; repeatable");
    command->add_option("--image", a.image, "container image of the Kubernetes job")->capture_default_str();
    command->add_option("--claim", a.claim, "persistent volume claim of the store, mounted at the store's parent directory")
        ->capture_default_str();
    add_run_options(*command, a);
    command->get_option("--jobs")->description("simulations to run in parallel in a shard, with one core each (default: 1)");
    command->get_option("--cache")->description(
        "directory of benchmark recordings, shared by all nodes (default: recordings/ in the store)");
    command->get_option("--memory")
        ->description(
            "address-space limit of a run in MiB; the job requests this times --jobs from Slurm or Kubernetes (default: twice the node's "
            "memory divided by --jobs, at least 8 GiB, without a request)");
    command->footer(
        "Exactly one of --slurm, --kubernetes and --script is required.\n"
        "Examples:\n  mergelane campaign submit sweep.toml --store /shared/sweep --slurm --dry-run\n"
        "  mergelane campaign submit /shared/sweep --slurm --slots 400 --time 240 --sbatch=--partition=short\n"
        "  mergelane campaign submit all --size tiny --store /shared/papers --slurm");
    command->callback([arguments, &exit_code, &registry] { exit_code = submit(*arguments, registry); });
}

}  // namespace mergelane
