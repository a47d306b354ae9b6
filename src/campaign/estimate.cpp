// SPDX-License-Identifier: MIT
#include "campaign/estimate.hpp"

#include <map>
#include <vector>

namespace mergelane::study {

namespace {

struct Mean {
    double seconds = 0, amount = 0;
    void add(double spent, double of) {
        seconds += spent;
        amount += of;
    }
    double of(double what) const { return amount > 0 ? what * seconds / amount : -1; }
};

}  // namespace

CampaignCount count_runs(const Plan& plan, const StoreIndex& index, const StoreIndex* other) {
    CampaignCount count;
    count.runs = plan.size();
    std::map<std::string, std::size_t> names;  // program and size
    std::vector<std::size_t> kind;             // by workload of the plan
    for (const PlannedWorkload& w : plan.workloads())
        kind.push_back(names.try_emplace(w.program + "\n" + w.size + "\n" + w.kernels + "\n" + w.sample, names.size()).first->second);
    std::vector<Mean> per_run(names.size());
    std::map<std::string, Mean> per_thread;  // by size and sampling
    const auto class_of = [](const PlannedWorkload& w) { return w.size + "\n" + w.sample; };
    std::vector<std::size_t> missing(plan.workloads().size());
    for (std::size_t run = 0; run < plan.size(); ++run) {
        const std::uint32_t workload = plan.workload_number(run);
        const KnownRun* known = index.find(plan.key(run));
        if (known == nullptr) {
            ++count.missing;
            ++missing[workload];
            const KnownRun* there = other == nullptr ? nullptr : other->find(plan.key(run));
            if (there == nullptr || !there->done) continue;
            ++count.elsewhere;
            per_run[kind[workload]].add(there->seconds, 1);
        } else if (!known->done) {
            ++count.failed;
        } else {
            ++count.done;
            count.spent += known->seconds;
            per_run[kind[workload]].add(known->seconds, 1);
        }
    }
    for (std::size_t w = 0; w < plan.workloads().size(); ++w) {
        const Mean& mean = per_run[kind[w]];
        if (mean.amount > 0) per_thread[class_of(plan.workloads()[w])].add(mean.of(1), plan.workloads()[w].threads);
    }
    for (std::size_t w = 0; w < plan.workloads().size(); ++w) {
        if (missing[w] == 0) continue;
        double each = per_run[kind[w]].of(1);
        if (each < 0) {
            each = per_thread[class_of(plan.workloads()[w])].of(plan.workloads()[w].threads);
            (each < 0 ? count.unknown : count.guessed) += missing[w];
        }
        if (each < 0) continue;
        count.left += each * static_cast<double>(missing[w]);
    }
    return count;
}

}  // namespace mergelane::study
