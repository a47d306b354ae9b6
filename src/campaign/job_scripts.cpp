// SPDX-License-Identifier: MIT
#include "campaign/job_scripts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/toml_text.hpp"

namespace mergelane::study {

namespace {

constexpr std::uint32_t kShardsPerSlot = 6;
constexpr double kLeastSecondsOfAShard = 30;
constexpr int kMostRestarts = 5;

/// The command of one shard; `shard` is what the shell or the scheduler puts in.
std::string run_command(const JobOptions& o, const std::string& shard) {
    std::string text = fmt::format("{} campaign run {} --shard {}/{} --jobs {} --timeout {:g} --quiet", shell_word(o.program.string()),
                                   shell_word(o.store.string()), shard, o.shards, o.jobs, o.timeout_seconds);
    if (!o.cache.empty()) text += " --cache " + shell_word(o.cache.string());
    if (!o.local_cache.empty()) text += fmt::format(" --local-cache \"{}\"", o.local_cache);
    if (o.cache_gib > 0) text += fmt::format(" --cache-limit {:g}", o.cache_gib);
    if (o.memory_mib != 0) text += fmt::format(" --memory {}", o.memory_mib);
    if (o.retry_failed) text += " --retry-failed";
    return text;
}

std::string job_name(const JobOptions& o) {
    std::string name;
    for (const char c : o.title) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '-';
    name = name.substr(std::min(name.find_first_not_of('-'), name.size())).substr(0, 30);
    while (!name.empty() && name.back() == '-') name.pop_back();
    return name.empty() ? "campaign" : name;
}

/// A log for Slurm, which puts numbers of jobs in for "%A" and the like, but not in the store's name.
std::string log_option(const JobOptions& o, const char* name) {
    const std::string folder = (o.store / "logs" / "").string();
    if (folder.find('\\') != std::string::npos)
        throw InputError(fmt::format("'{}': Slurm cannot write logs below a directory with a backslash in its name; choose another --store",
                                     printable(o.store.string(), 200)));
    return fmt::format("--output={}{}", doubled(folder, '%'), name);
}

/// A text as a scalar of YAML: JSON is part of it. In ASCII, as YAML knows more ends of lines than JSON does.
std::string yaml_text(const std::string& text) {
    try {
        return nlohmann::json(text).dump(-1, ' ', true);
    } catch (const nlohmann::json::exception&) {
        throw InputError(fmt::format("'{}' is not valid UTF-8, which Kubernetes cannot take; rename it", printable(text, 200)));
    }
}

}  // namespace

std::string shell_word(const std::string& text) {
    const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
    });
    if (plain) return text;
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::uint32_t shards_for(std::size_t missing, std::uint32_t slots, std::uint32_t jobs, double cpu_seconds) {
    double shards = static_cast<double>(slots) * kShardsPerSlot;
    if (cpu_seconds > 0) shards = std::min(shards, std::max<double>(slots, std::ceil(cpu_seconds / jobs / kLeastSecondsOfAShard)));
    return static_cast<std::uint32_t>(std::clamp<double>(shards, 1, static_cast<double>(std::max<std::size_t>(1, missing))));
}

std::vector<SlurmArray> arrays_of(std::uint32_t shards, std::uint32_t largest_array) {
    const std::uint32_t most = std::max(2u, largest_array) - 1;
    std::vector<SlurmArray> arrays;
    for (std::uint32_t first = 0; first < shards; first += most) arrays.push_back({first, std::min(most, shards - first)});
    return arrays;
}

std::string slurm_shard_script(const JobOptions& o) {
    return fmt::format(R"(#!/bin/bash
# One shard of a campaign: {}. The number of shards is written down here, as Slurm's count of tasks is another one when some are
# submitted again.
shard=$(($1 + SLURM_ARRAY_TASK_ID))
{} &
child=$!
trap 'kill -TERM $child 2>/dev/null' TERM INT
wait $child
while kill -0 $child 2>/dev/null; do wait $child; done  # a signal ends a wait, not the child
wait $child; code=$?
# 0: done. 2: invalid input or disk full. 3: some runs failed and would fail again. Otherwise restart: the runs are not at fault.
case $code in 0|2|3) exit $code ;; esac
echo "shard $shard ended with code $code, restart ${{SLURM_RESTART_COUNT:-0}}" >&2
if [ "${{SLURM_RESTART_COUNT:-0}}" -ge {} ]; then exit $code; fi
scontrol show config 2>/dev/null | grep -Eq '^RequeueExit *= *([0-9]+,)*99(,|$)' || scontrol requeue "$SLURM_JOB_ID" 2>/dev/null
exit 99
)",
                       o.title, run_command(o, "$shard"), kMostRestarts);
}

std::string slurm_merge_script(const JobOptions& o) {
    return fmt::format(
        "#!/bin/bash\n# After all shards: one file, each run once. Exit code 4: runs are missing; submit again.\necho \"$(date '+%F %T') "
        "job "
        "$SLURM_JOB_ID\"\nexec {} campaign merge {}\n",
        shell_word(o.program.string()), shell_word(o.store.string()));
}

std::vector<std::string> sbatch_array(const JobOptions& o, const SlurmArray& array, const std::filesystem::path& script) {
    std::vector<std::string> words{"sbatch",
                                   "--parsable",
                                   "--requeue",
                                   fmt::format("--job-name={}", job_name(o)),
                                   fmt::format("--array=0-{}", array.count - 1),
                                   fmt::format("--cpus-per-task={}", o.jobs),
                                   "--ntasks=1",
                                   fmt::format("--signal=B:TERM@{}", o.minutes == 0 || o.minutes > 4 ? 60 : o.minutes * 15),
                                   log_option(o, "%A_%a.log"),
                                   "--open-mode=append"};
    if (o.memory_mib != 0) words.push_back(fmt::format("--mem={}", o.memory_mib * o.jobs));
    if (o.minutes != 0) words.push_back(fmt::format("--time={}", o.minutes));
    words.insert(words.end(), o.options.begin(), o.options.end());
    words.push_back(script.string());
    words.push_back(std::to_string(array.first));
    return words;
}

std::vector<std::string> sbatch_merge(const JobOptions& o, const std::vector<std::string>& after, const std::filesystem::path& script) {
    // After any end: holes are better reported by the merge than by a job that never starts.
    std::vector<std::string> words{"sbatch",
                                   "--parsable",
                                   fmt::format("--job-name={}-merge", job_name(o)),
                                   "--ntasks=1",
                                   "--requeue",
                                   fmt::format("--dependency=afterany:{}", fmt::join(after, ":")),
                                   "--kill-on-invalid-dep=yes",
                                   log_option(o, "merge.log"),
                                   "--open-mode=append"};
    words.insert(words.end(), o.options.begin(), o.options.end());
    words.push_back(script.string());
    return words;
}

std::string kubernetes_job(const JobOptions& o) {
    // Runs that fail by themselves, and wrong input, would fail again and take the others' restarts: the merge reports what is missing.
    const std::string command = run_command(o, "$JOB_COMPLETION_INDEX") +
                                "\ncode=$?; case $code in 2|3) echo \"ended with code $code\" >&2; exit 0 ;; esac; exit $code";
    // Kubernetes puts variables in for "$(NAME)", and takes two dollars for one.
    const std::string escaped = yaml_text(doubled(command, '$'));
    const std::string memory = o.memory_mib == 0 ? "" : fmt::format("\n            memory: {}Mi", o.memory_mib * o.jobs);
    const std::string merge = fmt::format("{} campaign merge {}", shell_word(o.program.string()), shell_word(o.store.string()));
    return fmt::format(R"(# kubectl apply -f campaign.yaml; afterwards, where the store can be seen: {0}
apiVersion: batch/v1
kind: Job
metadata:
  name: {1}
spec:
  completionMode: Indexed
  completions: {2}
  parallelism: {3}
  backoffLimit: {4}
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: shard
        image: {5}
        command: ["/bin/sh", "-c"]
        args: [{6}]
        resources:
          requests:
            cpu: "{7}"{8}
        volumeMounts:
        - name: store
          mountPath: {9}
      volumes:
      - name: store
        persistentVolumeClaim:
          claimName: {10}
)",
                       yaml_text(merge), yaml_text(job_name(o)), o.shards, std::min(o.slots, o.shards), o.shards, yaml_text(o.image),
                       escaped, o.jobs, memory, yaml_text(o.store.parent_path().string()), yaml_text(o.claim));
}

std::string shell_script(const JobOptions& o) {
    return fmt::format(R"(#!/bin/sh
# A campaign in {0} shards: {1}. For any scheduler: start it once for each I from 0 to {2}.
#   sh campaign.sh I     shard I        (PBS: $PBS_ARRAY_INDEX, LSF: $((LSB_JOBINDEX-1)), AWS Batch: $AWS_BATCH_JOB_ARRAY_INDEX, HTCondor: $(Process))
#   sh campaign.sh       all shards, one after the other, and the merge
if [ $# -gt 0 ]; then
    shard=$1
    exec {3}
fi
shard=0
while [ $shard -lt {0} ]; do sh "$0" $shard || echo "shard $shard: exit code $?" >&2; shard=$((shard + 1)); done
exec {4} campaign merge {5}
)",
                       o.shards, o.title, o.shards - 1, run_command(o, "$shard"), shell_word(o.program.string()),
                       shell_word(o.store.string()));
}

}  // namespace mergelane::study
