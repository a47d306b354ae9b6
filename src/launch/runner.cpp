// SPDX-License-Identifier: MIT
#include "launch/runner.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "launch/child.hpp"
#include "launch/process.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane::study {

namespace {

constexpr int kMostTries = 2;
constexpr int kLookEveryMs = 50;

/// All runs of one benchmark with one input, either full or with the same options of sampling: they cost about the same, and share a
/// recording.
struct WorkloadGroup {
    std::string recording;  ///< its key
    bool recorded = false;
    int tries = 0;
    double threads = 0;
    double seconds = 0;  ///< of the runs that have finished
    std::size_t finished = 0;
    std::vector<std::uint32_t> waiting;  ///< runs of the plan, the next one last

    bool measured() const { return finished != 0; }
    double expected() const { return measured() ? seconds / static_cast<double>(finished) : 0; }
};

class Pool {
public:
    Pool(const Plan& plan, const std::vector<std::uint32_t>& wanted, Store& store, const StoreIndex& index, const RunnerOptions& options)
        : plan_(plan), store_(store), options_(options) {
        for (auto run = wanted.rbegin(); run != wanted.rend(); ++run) take_stock(*run, index);
    }

    RunnerOutcome work() {
        while (!finished()) {
            if (told_to_end_ || (options_.interrupt != nullptr && options_.interrupt->load())) {
                outcome_.interrupted = true;
                active_.clear();  // kills them
                break;
            }
            while (active_.size() < std::max(1u, options_.jobs) && start_one()) {
            }
            wait();
            collect();
            report();
        }
        return outcome_;
    }

private:
    struct Active {
        std::unique_ptr<ChildProcess> process;
        WorkloadGroup* group = nullptr;
        std::optional<std::uint32_t> run;  ///< none: makes the recording
    };

    void take_stock(std::uint32_t run, const StoreIndex& index) {
        WorkloadGroup& group = groups_[plan_.workload_number(run)];
        group.recording = plan_.workload_of(run).recording;
        group.threads = plan_.workload_of(run).threads;
        const KnownRun* known = index.find(plan_.key(run));
        if (known != nullptr && known->done) {
            ++outcome_.reused;
            note_time(group, known->seconds);
        } else if (known != nullptr && !options_.retry_failed) {
            ++outcome_.failed;
        } else {
            group.waiting.push_back(run);
            ++progress_.total;
        }
    }

    bool finished() const { return progress_.finished == progress_.total && active_.empty(); }
    static void note_time(WorkloadGroup& group, double seconds) {
        group.seconds += seconds;
        ++group.finished;
    }

    bool recording_there(const PlannedWorkload& w) const {
        if (is_workload_file(w.program)) return true;
        std::error_code ignored;
        return std::filesystem::exists(suite::cache_file(w.program, suite::parse_size(w.size), w.recording, options_.cache), ignored);
    }

    /// Where a sampled run keeps what is finished; shards and plans may change until it is continued.
    std::filesystem::path folder_of(const PlannedRun& run) const {
        return run.spec.sample.empty() || options_.keep.empty() ? std::filesystem::path() : options_.keep / run.key;
    }
    static void forget_kept(const std::filesystem::path& folder) {
        if (folder.empty()) return;
        std::error_code ignored;  // a folder that stays is removed by 'campaign merge'
        std::filesystem::remove_all(folder, ignored);
    }

    /// The group to serve next: one that was never measured, the largest first; then the one whose runs take longest.
    WorkloadGroup* choose() {
        WorkloadGroup* best = nullptr;
        for (auto& [name, group] : groups_) {
            if (group.waiting.empty() || making_.contains(plan_.workloads()[name].recording)) continue;
            const auto rank = [&](const WorkloadGroup& g) {
                const bool first = !g.measured() && !is_running(g);
                return std::pair(first, g.measured() ? g.expected() : g.threads * 1e-6);
            };
            if (best == nullptr || rank(group) > rank(*best)) best = &group;
        }
        return best;
    }
    bool is_running(const WorkloadGroup& group) const {
        return std::any_of(active_.begin(), active_.end(), [&](const Active& a) { return a.group == &group; });
    }

    bool start_one() {
        WorkloadGroup* group = choose();
        if (group == nullptr) return false;
        const PlannedRun next = plan_.run(group->waiting.back());
        ChildOrder order{next.spec, next.key, options_.cache, false, options_.memory, getpid()};
        const PlannedWorkload& workload = plan_.workload_of(group->waiting.back());
        order.config_hash = plan_.machine_of(group->waiting.back()).config_hash;
        order.recording = workload.recording;
        order.local = options_.local;
        order.keep = folder_of(next);
        std::optional<std::uint32_t> run;
        if (!group->recorded && !recording_there(workload)) {
            order.prepare = true;
            making_.insert(workload.recording);
        } else {
            group->recorded = true;
            run = group->waiting.back();
            group->waiting.pop_back();
        }
        const std::vector<std::string> arguments{std::string(kChildArgument), to_text(order)};
        active_.push_back({std::make_unique<ChildProcess>(options_.executable, arguments, options_.timeout_seconds), group, run});
        return true;
    }

    void wait() {
        std::vector<pollfd> fds;
        bool all_silent = true;
        for (const Active& a : active_) {
            for (const int fd : a.process->fds()) {
                if (fd < 0) continue;
                fds.push_back({fd, POLLIN, 0});
                all_silent = false;
            }
        }
        if (active_.empty()) return;
        // A process that has closed its pipes is about to end.
        const timespec most = all_silent ? timespec{0, 100'000} : timespec{0, kLookEveryMs * 1'000'000};
        ppoll(fds.data(), fds.size(), &most, nullptr);
    }

    void collect() {
        for (std::size_t i = 0; i < active_.size();) {
            active_[i].process->attend();
            if (!active_[i].process->ended()) {
                ++i;
                continue;
            }
            const Active ended = std::move(active_[i]);
            active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
            if (ended.process->exit_code() == kProgramChanged) throw InputError(ended.process->complaint());
            // Interrupted: schedulers signal all processes of a job, in any order.
            told_to_end_ = told_to_end_ || ended.process->signal() == SIGTERM;
            if (told_to_end_) return;
            ended.run ? run_ended(ended) : recording_ended(ended);
        }
    }

    std::string why(const ChildProcess& process) const {
        if (process.timed_out()) return fmt::format("no result after {} s", options_.timeout_seconds);
        if (process.signal() != 0) return fmt::format("terminated by signal {} ({})", process.signal(), strsignal(process.signal()));
        const std::string complaint = process.complaint();
        return complaint.empty() ? fmt::format("ended with exit code {} without a result", process.exit_code()) : complaint;
    }
    static bool deserves_another(const ChildProcess& process, int tries) {
        return (process.timed_out() || process.signal() != 0) && tries < kMostTries;
    }

    void recording_ended(const Active& ended) {
        WorkloadGroup& group = *ended.group;
        ++group.tries;
        making_.erase(group.recording);
        if (options_.cache_limit != 0) suite::limit_cache(options_.cache, options_.cache_limit);
        if (ended.process->exit_code() == 0 && !ended.process->timed_out()) {
            group.recorded = true;  // or too large to be kept, and every run executes for itself
        } else if (!deserves_another(*ended.process, group.tries)) {
            const std::string message = "the workload could not be executed: " + why(*ended.process);
            for (const std::uint32_t run : std::exchange(group.waiting, {})) record_failure(run, message);
        }
    }

    void run_ended(const Active& ended) {
        const std::uint32_t run = *ended.run;
        std::optional<RunRecord> record;
        if (ended.process->exit_code() == 0 && !ended.process->timed_out()) record = from_line(ended.process->output());
        if (record && record->done && record->model != kModelVersion)
            throw InputError(
                "the mergelane program was replaced by another model version during the campaign; create a new plan with 'mergelane "
                "campaign plan'");
        if (record && record->done && key_of(record->key) == plan_.key(run)) {
            store_.append_line(ended.process->output());
            forget_kept(folder_of(plan_.run(run)));
            note_time(*ended.group, record->seconds);
            spent_ += record->seconds;
            ++outcome_.done;
            ++progress_.finished;
        } else if (deserves_another(*ended.process, ++tries_[run])) {
            ended.group->waiting.push_back(run);
        } else {
            record_failure(run, why(*ended.process));
        }
    }

    void record_failure(std::uint32_t run, const std::string& message) {
        const PlannedRun planned = plan_.run(run);
        RunRecord record;
        record.key = planned.key;
        record.spec = planned.spec;
        record.message = message;
        store_.append(record);
        ++outcome_.failed;
        ++progress_.failed;
        ++progress_.finished;
    }

    void report() {
        if (!options_.progress) return;
        // A workload that has not run yet is expected to take as long as the mean of the others.
        double all = 0, finished = 0;
        for (const auto& [name, group] : groups_) {
            all += group.seconds;
            finished += static_cast<double>(group.finished);
        }
        const auto expected = [&](const WorkloadGroup& group) {
            return group.measured() || finished == 0 ? group.expected() : all / finished;
        };
        double seconds = 0;
        for (const auto& [name, group] : groups_) seconds += expected(group) * static_cast<double>(group.waiting.size());
        for (const Active& a : active_) seconds += 0.5 * expected(*a.group);
        progress_.running = active_.size();
        const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        progress_.seconds_left = finished > 0 && spent_ > 0 ? elapsed * seconds / spent_ : -1;
        options_.progress(progress_);
    }

    const Plan& plan_;
    Store& store_;
    const RunnerOptions& options_;
    std::map<std::uint32_t, int> tries_;             ///< of runs that were killed or took too long
    std::map<std::uint32_t, WorkloadGroup> groups_;  ///< by workload of the plan
    std::set<std::string> making_;                   ///< recordings that a child is making
    std::vector<Active> active_;
    RunnerProgress progress_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double spent_ = 0;  ///< by runs of this call, in CPU seconds; against the time that passed it says how fast we are
    bool told_to_end_ = false;
    RunnerOutcome outcome_;
};

}  // namespace

RunnerOutcome run_missing(const Plan& plan, const std::vector<std::uint32_t>& wanted, Store& store, const StoreIndex& index,
                          const RunnerOptions& options) {
    return Pool(plan, wanted, store, index, options).work();
}

}  // namespace mergelane::study
