// SPDX-License-Identifier: MIT
// ICC-0 to ICC-4: schedulers and locality of the machine before anything is merged.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "dispatch/cta_scheduler.hpp"
#include "study/icc.hpp"

namespace mergelane::study {

namespace {

/// The example of Fig 6: CTAs 1 to 10, two clusters of two SMs with two contexts. Mirrors what the dispatcher does.
class PlacementExample {
public:
    explicit PlacementExample(std::string_view policy) : scheduler_(make_cta_scheduler(policy)), received_(4) {
        state_.clusters = 2;
        state_.sms_per_cluster = 2;
        state_.contexts_per_sm = 2;
        state_.end_cta = 10;
        state_.free_contexts.assign(state_.sms(), 2);
        scheduler_->start(state_);
        fill();
    }
    void end_of(std::uint64_t cta) {
        ++state_.free_contexts[where_.at(cta)];
        fill();
    }
    /// "1,5 | 3,7 | 2,6 | 4,8": the CTAs of C1S1, C1S2, C2S1, C2S2.
    std::string placed() const {
        std::vector<std::string> cells;
        for (const auto& ctas : received_) cells.push_back(fmt::format("{}", fmt::join(ctas, ",")));
        return fmt::format("{}", fmt::join(cells, " | "));
    }

private:
    void fill() {
        std::vector<Placement> placements;
        do {
            placements.clear();
            if (scheduler_->remaining() != 0) scheduler_->place(state_, placements);
            for (const Placement& p : placements) {
                --state_.free_contexts[p.sm];
                where_[p.cta + 1] = p.sm;
                received_[p.sm].push_back(p.cta + 1);
            }
        } while (!placements.empty());
    }

    DispatchState state_;
    std::unique_ptr<CtaScheduler> scheduler_;
    std::map<std::uint64_t, std::uint32_t> where_;
    std::vector<std::vector<std::uint64_t>> received_;
};

struct Placed {
    const char* policy;
    const char* label;
    const char* filled;
    const char* after_one;          ///< CTA 1 has ended
    const char* after_one_and_two;  ///< CTA 2 as well; nullptr: not part of the example
};
constexpr Placed kPlacements[] = {
    {"two_level_rr", "two-level round robin", "1,5 | 3,7 | 2,6 | 4,8", "1,5,9 | 3,7 | 2,6 | 4,8", nullptr},
    {"global_rr", "global round robin", "1,5 | 2,6 | 3,7 | 4,8", "1,5,9 | 2,6 | 3,7 | 4,8", nullptr},
    {"greedy", "greedy clustering", "1,3 | 2,4 | 5,7 | 6,8", "1,3,9 | 2,4 | 5,7 | 6,8", nullptr},
    {"distributed", "distributed", "1,3 | 2,4 | 6,8 | 7,9", "1,3,5 | 2,4 | 6,8 | 7,9", nullptr},
    {"distributed_block", "distributed-block", "1,2 | 3,4 | 6,7 | 8,9", "1,2 | 3,4 | 6,7 | 8,9", "1,2,5 | 3,4 | 6,7 | 8,9"},
};

/// Locality in per cent of reads at a window, one share or both.
Series locality(const IccResults& results, const Configuration& c, int window, std::string_view share) {
    std::vector<std::string> counts;
    if (share != "data") counts.push_back(fmt::format("locality.line_sharing_{}", window));
    if (share != "line") counts.push_back(fmt::format("locality.data_sharing_{}", window));
    return results.percent(c, counts, "locality.reads");
}

constexpr int kWindows[] = {500, 1000, 1500, 2000};

std::string scale_text(double scale) {
    return fmt::format("{}x", scale);
}

}  // namespace

void judge_icc0(const IccResults&, const Published&, Experiment& e) {
    Table table{"CTAs of C1S1 | C1S2 | C2S1 | C2S2", {"scheduler", "filled", "after CTA 1"}, {}};
    for (const Placed& expected : kPlacements) {
        PlacementExample example(expected.policy);
        const std::string filled = example.placed();
        e.criteria.push_back(exact_text(fmt::format("{}: first filling", expected.label), filled, expected.filled));
        example.end_of(1);
        e.criteria.push_back(exact_text(fmt::format("{}: after CTA 1 has ended", expected.label), example.placed(), expected.after_one));
        table.rows.push_back({expected.label, filled, example.placed()});
        if (expected.after_one_and_two == nullptr) continue;
        example.end_of(2);
        e.criteria.push_back(
            exact_text(fmt::format("{}: after CTAs 1 and 2 have ended", expected.label), example.placed(), expected.after_one_and_two));
    }
    e.tables.push_back(std::move(table));
}

void judge_icc1(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const auto sweep = [&](const std::string& scheduler) {
        std::vector<Series> list;
        const Series base = results.ipc(icc_network(scheduler, 1));
        for (const double scale : kNetworkScales) {
            list.push_back(results.ipc(icc_network(scheduler, scale)) / base);
            list.back().label = scale_text(scale);
        }
        return list;
    };
    const std::vector<Series> d = sweep("D");
    const std::vector<Series> rr2 = sweep("RR2");
    std::vector<double> means;
    for (const Series& s : d) means.push_back(change(s.mean()));
    const auto mean_at = [&](double scale) {
        return means[static_cast<std::size_t>(std::find(std::begin(kNetworkScales), std::end(kNetworkScales), scale) - kNetworkScales)];
    };
    const Series& twice = d.back();
    const double average = published.change("icc-noc2x-avg");
    e.criteria.push_back(rising("S", "mean IPC never falls by more than 1 % from one clock to the next", means, "%", -kNoEffect));
    e.criteria.push_back(counted("S", "workloads that gain more than 10 % at twice the clock", twice.count_above(1.10), 7, names.size()));
    e.criteria.push_back(within("M", "mean gain at twice the clock", mean_at(2), "%", average, 20, 80));
    const double late = change((1 + mean_at(2) / 100) / (1 + mean_at(1.5) / 100));
    e.criteria.push_back(within("S", "saturation: gain from 1.5x to 2x less than from 1x to 1.5x (difference)", mean_at(1.5) - late,
                                "points", std::nullopt, 0, std::nullopt));
    std::vector<std::string> falls;
    for (std::size_t w = 0; w < names.size(); ++w) {
        for (std::size_t i = 1; i < d.size(); ++i) {
            if (d[i].at(w) < d[i - 1].at(w) * (1 - kNoEffect / 100)) falls.push_back(fmt::format("{} at {}", names[w], d[i].label));
        }
    }
    if (!falls.empty())
        e.notes.push_back(fmt::format("Single workloads that lose more than 1 % by a faster network: {}.", fmt::join(falls, ", ")));
    e.notes.push_back(fmt::format("Largest gain at twice the clock: {} %, published {} % (workload not named).",
                                  number_text(change(twice.highest()), 1), published.change("icc-noc2x-max")));
    e.notes.push_back(fmt::format(
        "The paper does not say which scheduler was in force. With two-level round robin the mean gain at twice the clock is {} %.",
        number_text(change(rr2.back().mean()), 1)));
    e.tables.push_back(table_of("IPC / IPC at 1x, distributed", names, d, 3));
    e.tables.push_back(table_of("IPC / IPC at 1x, two-level round robin", names, rr2, 3));
    Chart chart{"lines", "Network and L2 clock, distributed", "clock", "IPC / IPC at 1x", 1.0, {}, {}};
    for (std::size_t w = 0; w <= names.size(); ++w) {
        for (const Series& s : d)
            chart.data.push_back({s.label, w == names.size() ? "mean" : names[w], "", w == names.size() ? s.mean() : s.at(w)});
    }
    chart.published.push_back({scale_text(2), "mean", "", 1 + average / 100});
    e.charts.push_back(std::move(chart));
}

void judge_icc2(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const Configuration d = icc_scheduler("D");
    std::vector<Series> both;
    Chart chart{"stacked", "Intra-cluster locality", "workload", "% of L1 read misses", std::nullopt, {}, {}};
    for (const int window : kWindows) {
        both.push_back(locality(results, d, window, "both"));
        both.back().label = fmt::format("W={}", window);
        for (const char* part : {"line", "data"}) {
            const Series share = locality(results, d, window, part);
            for (std::size_t w = 0; w < names.size(); ++w) chart.data.push_back({names[w], both.back().label, part, share.at(w)});
            chart.data.push_back({"mean", both.back().label, part, share.mean()});
        }
    }
    const Series& icl = both.back();
    Series line = locality(results, d, 2000, "line");
    Series data = locality(results, d, 2000, "data");
    std::vector<double> means;
    for (const Series& s : both) means.push_back(s.mean());
    e.criteria.push_back(rising("S", "mean locality grows with the window (500, 1000, 1500, 2000 cycles)", means, "%"));
    for (const char* name : {"HS", "DCT"})
        e.criteria.push_back(ranked("O", fmt::format("{} is among the three with most locality", name), icl.rank(icc_workload(name)), 3));
    for (const char* name : {"DCT", "SRAD"}) {
        const std::size_t w = icc_workload(name);
        e.criteria.push_back(above("O", fmt::format("{}: line sharing more than data sharing (difference)", name), line.at(w) - data.at(w),
                                   "points", std::nullopt, 0));
    }
    for (const char* name : {"HS", "LUD"}) {
        const std::size_t w = icc_workload(name);
        e.criteria.push_back(above("O", fmt::format("{}: data sharing more than line sharing (difference)", name), data.at(w) - line.at(w),
                                   "points", std::nullopt, 0));
    }
    e.criteria.push_back(within("M", "mean locality, 2000 cycles", icl.mean(), "%", published.value("icc-icl-w2000-avg"), 10, 35));
    e.criteria.push_back(
        within("M", "HS, 2000 cycles", icl.at(icc_workload("HS")), "%", published.value("icc-icl-w2000-hs"), 30, std::nullopt));
    e.criteria.push_back(
        within("M", "DCT, 2000 cycles", icl.at(icc_workload("DCT")), "%", published.value("icc-icl-w2000-dct"), 30, std::nullopt));
    e.notes.push_back(fmt::format("Mean at 2000 cycles: line sharing {} % (published {}), data sharing {} % (published {}).",
                                  number_text(line.mean(), 1), published.value("icc-icl-cacheline-avg"), number_text(data.mean(), 1),
                                  published.value("icc-icl-data-avg")));
    line.label = "line, W=2000";
    data.label = "data, W=2000";
    std::vector<Series> columns = both;
    columns.push_back(line);
    columns.push_back(data);
    e.tables.push_back(table_of("Intra-cluster locality, % of L1 read misses", names, columns, 1, false));
    const auto total = [&](const char* x, const char* id) { chart.published.push_back({x, "W=2000", "", published.value(id)}); };
    total("mean", "icc-icl-w2000-avg");
    total("HS", "icc-icl-w2000-hs");
    total("DCT", "icc-icl-w2000-dct");
    e.charts.push_back(std::move(chart));
}

void judge_icc3(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const Series base = results.ipc(icc_scheduler("RR2"));
    std::vector<Series> all;
    for (const char* label : {"RR2", "GRR", "GC", "D"}) all.push_back(results.ipc(icc_scheduler(label)) / base);
    const Series& d = all.back();
    double best_other = all[0].mean();
    for (std::size_t i = 1; i < 3; ++i)
        best_other = is_missing(best_other) || best_other < all[i].mean() || is_missing(all[i].mean()) ? all[i].mean() : best_other;
    const auto gain = [&](const char* name) { return change(d.at(icc_workload(name))); };
    e.criteria.push_back(
        above("O", "distributed is best on average (lead over the best other)", 100 * (d.mean() - best_other), "points", std::nullopt, 0));
    e.criteria.push_back(above("S", "FDTD gains", gain("FDTD"), "%", published.change("icc-sched-fdtd"), kNoEffect));
    e.criteria.push_back(ranked("S", "FDTD gains most", d.rank(icc_workload("FDTD")), 1));
    e.criteria.push_back(within("S", "SRAD or BP loses (the lower of both)",
                                is_missing(gain("SRAD")) ? kMissing : std::min(gain("SRAD"), gain("BP")), "%",
                                published.change("icc-sched-srad"), std::nullopt, -kNoEffect));
    e.criteria.push_back(within("M", "mean gain", change(d.mean()), "%", published.change("icc-sched-avg"), 2, 15));
    Chart chart = bars_of("CTA schedulers", "IPC / IPC of RR2", 1.0, names, all);
    const std::pair<const char*, const char*> ids[] = {{"FDTD", "icc-sched-fdtd"}, {"BT", "icc-sched-bt"},   {"2DCONV", "icc-sched-2dconv"},
                                                       {"NN", "icc-sched-nn"},     {"LUD", "icc-sched-lud"}, {"SRAD", "icc-sched-srad"},
                                                       {"BP", "icc-sched-bp"},     {"mean", "icc-sched-avg"}};
    std::vector<std::string> stated;
    for (const auto& [x, id] : ids) {
        chart.published.push_back({x, "D", "", 1 + published.change(id) / 100});
        stated.push_back(fmt::format("{} {:+} %", x, published.change(id)));
    }
    e.notes.push_back(fmt::format("Published for distributed: {}.", fmt::join(stated, ", ")));
    e.tables.push_back(table_of("IPC / IPC of two-level round robin", names, all, 3));
    e.charts.push_back(std::move(chart));
}

void judge_icc4(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    std::vector<Series> all;
    for (const char* label : {"RR2", "GRR", "GC", "D"}) all.push_back(locality(results, icc_scheduler(label), 2000, "both"));
    double highest = kMissing;
    double lowest = kMissing;
    bool known = true;
    for (const Series& s : all) known = known && !is_missing(s.mean());
    if (known) {
        highest = std::max({all[0].mean(), all[1].mean(), all[2].mean()});
        lowest = std::min({all[1].mean(), all[2].mean(), all[3].mean()});
    }
    e.criteria.push_back(
        above("O", "distributed has the highest mean locality (lead)", all[3].mean() - highest, "points", std::nullopt, 0));
    e.criteria.push_back(within("O", "two-level round robin has the lowest, or at most 1 point more (distance from the lowest other)",
                                all[0].mean() - lowest, "points", std::nullopt, std::nullopt, 1));
    e.notes.push_back(
        fmt::format("Mean of distributed {} %, published {} %.", number_text(all[3].mean(), 1), published.value("icc-icl-fig8-avg")));
    e.tables.push_back(table_of("Intra-cluster locality, 2000 cycles, % of L1 read misses", names, all, 1, false));
    Chart chart = bars_of("CTA schedulers and locality", "% of L1 read misses", std::nullopt, names, all);
    chart.published = {{"mean", "D", "", published.value("icc-icl-fig8-avg")},
                       {"HS", "D", "", published.value("icc-icl-fig8-hs")},
                       {"DCT", "D", "", published.value("icc-icl-fig8-dct")}};
    e.charts.push_back(std::move(chart));
}

}  // namespace mergelane::study
