// SPDX-License-Identifier: MIT
// ICC-9 to ICC-12: how the gains depend on sizes and cluster counts, and what the structures cost.
#include <fmt/format.h>

#include <algorithm>

#include "energy/cost_tables.hpp"
#include "study/icc.hpp"

namespace mergelane::study {

namespace {

template <typename Sizes>
double at_size(const Sizes& sizes, const std::vector<Series>& series, std::uint32_t size) {
    return series[static_cast<std::size_t>(std::find(std::begin(sizes), std::end(sizes), size) - std::begin(sizes))].mean();
}

/// Gain per added entry from `first` to `middle`, less that from `middle` to `last`: positive when it flattens.
template <typename Sizes>
double flattening(const Sizes& sizes, const std::vector<Series>& series, std::uint32_t first, std::uint32_t middle, std::uint32_t last) {
    const double a = at_size(sizes, series, first);
    const double b = at_size(sizes, series, middle);
    const double c = at_size(sizes, series, last);
    return (b - a) / (middle - first) - (c - b) / (last - middle);
}

/// Means in per cent of the last one, that of the largest structure.
std::vector<double> of_the_largest(const std::vector<Series>& series) {
    std::vector<double> list;
    const double last = series.back().mean();
    for (const Series& s : series) list.push_back(last == 0 ? kMissing : 100 * s.mean() / last);
    return list;
}

void add_lines(Chart& chart, const std::vector<Series>& series) {
    const std::vector<std::string> names = icc_workload_names();
    for (std::size_t w = 0; w <= names.size(); ++w) {
        for (const Series& s : series)
            chart.data.push_back({s.label, w == names.size() ? "mean" : names[w], "", w == names.size() ? s.mean() : s.at(w)});
    }
}

/// IPC over that of D with as many clusters.
std::vector<Series> by_clusters(const IccResults& results, const std::string& variant) {
    std::vector<Series> list;
    for (const std::uint32_t clusters : kClusterCounts) {
        list.push_back(results.ipc(icc_clusters(clusters, variant)) / results.ipc(icc_clusters(clusters, "D")));
        list.back().label = fmt::format("{} clusters", clusters);
    }
    return list;
}

double lowest_gain(const std::vector<Series>& series) {
    double lowest = change(series.front().mean());
    for (const Series& s : series) lowest = is_missing(s.mean()) || is_missing(lowest) ? kMissing : std::min(lowest, change(s.mean()));
    return lowest;
}

/// The default band of a magnitude.
Criterion magnitude(std::string text, double measured, double published) {
    return within("M", std::move(text), measured, "%", published, 0.4 * published, 2.5 * published);
}

void show_clusters(const std::string& variant, const std::vector<Series>& series, Experiment& e) {
    e.tables.push_back(table_of(fmt::format("IPC of {} / IPC of D with as many clusters", variant), icc_workload_names(), series, 3));
    e.charts.push_back(bars_of(fmt::format("{} by number of clusters", variant), "IPC / IPC of D", 1.0, icc_workload_names(), series));
    e.notes.push_back("12 clusters are the runs of ICC-5. With six clusters the network runs at 1.9 GHz, as in the paper.");
}

}  // namespace

void judge_icc9(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const Series base = results.ipc(icc_variant("D"));
    std::vector<Series> merged, table_ipc, answered, cache_ipc;
    for (const std::uint32_t entries : kTableSizes) {
        merged.push_back(results.percent(icc_table_size(entries), {"icc.merged"}, "icc.reads"));
        table_ipc.push_back(results.ipc(icc_table_size(entries)) / base);
        merged.back().label = table_ipc.back().label = fmt::format("{}", entries);
    }
    for (const std::uint32_t entries : kCacheSizes) {
        answered.push_back(results.percent(icc_cache_size(entries), {"icc.merged", "cc.hits"}, "icc.reads"));
        cache_ipc.push_back(results.ipc(icc_cache_size(entries)) / base);
        answered.back().label = cache_ipc.back().label = fmt::format("{}", entries);
    }
    e.criteria.push_back(rising("S", "merge table: mean share merged, in % of that with 160 entries, never falls by more than 1 %",
                                of_the_largest(merged), "%", -kNoEffect));
    e.criteria.push_back(above("S", "merge table: saturates (gain per entry from 8 to 48 less that from 48 to 160)",
                               flattening(kTableSizes, merged, 8, 48, 160), "points/entry", std::nullopt, 0));
    e.criteria.push_back(rising("S",
                                "coalesced cache: mean share merged or answered, in % of that with 96 lines, never falls by more than 1 %",
                                of_the_largest(answered), "%", -kNoEffect));
    e.criteria.push_back(above("S", "coalesced cache: saturates (gain per line from 8 to 24 less that from 24 to 96)",
                               flattening(kCacheSizes, answered, 8, 24, 96), "points/line", std::nullopt, 0));
    const double all = at_size(kTableSizes, merged, 160);
    const double share = all == 0 ? kMissing : 100 * at_size(kTableSizes, merged, 48) / all;
    const double stated = 100 * published.value("icc-mt-coalesced-48") / published.value("icc-mt-coalesced-max");
    e.criteria.push_back(within("M", "48 entries merge this share of what 160 merge", share, "%", stated, 70, std::nullopt));
    e.notes.push_back(
        fmt::format("Mean share merged: {} % with 48 entries (published {}), {} % with 160 (published {}; the scheduler is not stated).",
                    number_text(at_size(kTableSizes, merged, 48), 1), published.value("icc-mt-coalesced-48"), number_text(all, 1),
                    published.value("icc-mt-coalesced-max")));
    e.tables.push_back(table_of("L1 read misses merged, %, by merge-table entries", names, merged, 1, false));
    e.tables.push_back(table_of("IPC / IPC of D, by merge-table entries", names, table_ipc, 3));
    e.tables.push_back(table_of("L1 read misses merged or answered, %, by lines of the coalesced cache", names, answered, 1, false));
    e.tables.push_back(table_of("IPC / IPC of D, by lines of the coalesced cache", names, cache_ipc, 3));
    Chart table_chart{"lines", "Merge table, DB+ICC", "entries", "% of L1 read misses merged", std::nullopt, {}, {}};
    add_lines(table_chart, merged);
    table_chart.published = {{"48", "mean", "", published.value("icc-mt-coalesced-48")},
                             {"160", "mean", "", published.value("icc-mt-coalesced-max")}};
    Chart cache_chart{"lines", "Coalesced cache, DB+ICC+CC", "lines", "% of L1 read misses merged or answered", std::nullopt, {}, {}};
    add_lines(cache_chart, answered);
    Chart ipc_chart{"lines", "Merge table and performance", "entries", "IPC / IPC of D", 1.0, {}, {}};
    add_lines(ipc_chart, table_ipc);
    e.charts = {std::move(table_chart), std::move(ipc_chart), std::move(cache_chart)};
}

void judge_icc10(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<Series> icc = by_clusters(results, "DB+ICC");
    e.criteria.push_back(above("S", "every mean is a gain (the lowest)", lowest_gain(icc), "%", std::nullopt, kNoEffect));
    e.criteria.push_back(within("S", "10 clusters gain at least as much as 15 (difference)", change(icc[1].mean()) - change(icc[3].mean()),
                                "points", std::nullopt, 0, std::nullopt));
    e.criteria.push_back(magnitude("mean gain with 10 clusters", change(icc[1].mean()), published.change("icc-sens-10c-icc-avg")));
    show_clusters("DB+ICC", icc, e);
    e.charts.front().published = {{"mean", "10 clusters", "", 1 + published.change("icc-sens-10c-icc-avg") / 100}};
}

void judge_icc11(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<Series> icc = by_clusters(results, "DB+ICC");
    const std::vector<Series> cc = by_clusters(results, "DB+ICC+CC");
    double least = 100 * (cc.front().mean() - icc.front().mean());
    for (std::size_t i = 0; i < cc.size(); ++i) {
        const double added = 100 * (cc[i].mean() - icc[i].mean());
        least = is_missing(added) || is_missing(least) ? kMissing : std::min(least, added);
    }
    e.criteria.push_back(above("S", "every mean is a gain (the lowest)", lowest_gain(cc), "%", std::nullopt, kNoEffect));
    e.criteria.push_back(above("S", "the coalesced cache adds at every cluster count (the least)", least, "points", std::nullopt, 0));
    e.criteria.push_back(within("S", "10 clusters gain at least as much as 15 (difference)", change(cc[1].mean()) - change(cc[3].mean()),
                                "points", std::nullopt, 0, std::nullopt));
    e.criteria.push_back(magnitude("mean gain with 10 clusters", change(cc[1].mean()), published.change("icc-sens-10c-icccc-avg")));
    e.criteria.push_back(magnitude("mean gain with 15 clusters", change(cc[3].mean()), published.change("icc-sens-15c-icccc-avg")));
    show_clusters("DB+ICC+CC", cc, e);
    e.charts.front().published = {{"mean", "10 clusters", "", 1 + published.change("icc-sens-10c-icccc-avg") / 100},
                                  {"mean", "15 clusters", "", 1 + published.change("icc-sens-15c-icccc-avg") / 100}};
}

void judge_icc12(const IccResults&, const Published& published, Experiment& e) {
    const CostTable cost = icc_cost();
    const StorageCost& table = cost.storage.at(0);
    const StorageCost& cache = cost.storage.at(1);
    e.criteria.push_back(exact("merge table of one cluster", static_cast<double>(table.bits()), published.value("icc-mt-bits"), "bits"));
    e.criteria.push_back(exact("merge table of one cluster", static_cast<double>(table.bytes()), published.value("icc-mt-bytes"), "bytes"));
    constexpr double kCacheBytes = 3195;  // 24 x (41 + 1024) bits; the paper prints 3.2 KB
    e.criteria.push_back(exact("coalesced cache of one cluster", static_cast<double>(cache.bytes()), kCacheBytes, "bytes"));
    e.notes.push_back(fmt::format("The paper prints {} KB for the coalesced cache; its sizes give 24 x (41 + 1024) bits. {}.",
                                  published.value("icc-cc-size"), "Valid bits are not counted, as in the paper"));
    Table shown{"Storage of one cluster", {"structure", "entries", "bits each", "bits", "bytes"}, {}};
    for (const StorageCost& row : cost.storage) {
        shown.rows.push_back({row.structure, fmt::format("{}", row.entries), fmt::format("{}", row.entry_bits),
                              fmt::format("{}", row.bits()), fmt::format("{}", row.bytes())});
    }
    e.tables.push_back(std::move(shown));
}

}  // namespace mergelane::study
