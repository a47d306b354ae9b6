// SPDX-License-Identifier: MIT
// ICC-5 to ICC-8: the main figures; performance, energy, energy-delay product and network reads of the same runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "study/icc.hpp"

namespace mergelane::study {

namespace {

constexpr const char* kVariants[] = {"D", "DB", "D+ICC", "DB+ICC", "D+ICC+CC", "DB+ICC+CC"};
constexpr const char* kSteps[] = {"DB", "DB+ICC", "DB+ICC+CC"};
constexpr const char* kJudged = "gpuwattch_gtx480_40nm";
constexpr const char* kBeside = "bottom_up_40nm";

/// The variants' series divided by that of D, in the order of kVariants.
class Normalised {
public:
    template <typename Measure>
    explicit Normalised(const Measure& measure) {
        const Series base = measure(icc_variant("D"));
        for (const char* label : kVariants) {
            all.push_back(measure(icc_variant(label)) / base);
            all.back().label = label;
        }
    }
    const Series& operator[](std::string_view label) const {
        return *std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.label == label; });
    }
    double mean_change(std::string_view label) const { return change((*this)[label].mean()); }
    double change_of(std::string_view label, std::string_view workload) const { return change((*this)[label].at(icc_workload(workload))); }

    std::vector<Series> all;
};

/// Of the named workloads, how many are so; missing when one of them cannot be told.
template <typename Value>
double count_positive(std::initializer_list<const char*> workloads, const Value& value) {
    double count = 0;
    for (const char* name : workloads) {
        const double v = value(name);
        if (is_missing(v)) return kMissing;
        count += v > 0 ? 1 : 0;
    }
    return count;
}

void add_published(Chart& chart, const Published& published, std::string_view series,
                   std::initializer_list<std::pair<const char*, const char*>> ids) {
    for (const auto& [x, id] : ids) chart.published.push_back({x, std::string(series), "", 1 + published.change(id) / 100});
}

}  // namespace

void judge_icc5(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const Normalised n([&](const Configuration& c) { return results.ipc(c); });
    Series losses = n["DB"];
    for (double& v : losses.values) v = -v;
    e.criteria.push_back(within("S", "DB alone costs no workload more than 1 % (the lowest)", change(-losses.highest()), "%", std::nullopt,
                                -kNoEffect, std::nullopt));
    e.criteria.push_back(
        rising("S", "means rise: DB, DB+ICC, DB+ICC+CC", {n.mean_change("DB"), n.mean_change("DB+ICC"), n.mean_change("DB+ICC+CC")}, "%"));
    e.criteria.push_back(within("S", "D+ICC within 3 points of DB+ICC on average (difference)",
                                n.mean_change("D+ICC") - n.mean_change("DB+ICC"), "points",
                                published.change("icc-ipc-dicc-avg") - published.change("icc-ipc-dbicc-avg"), -3, 3));
    for (const char* name : {"LUD", "2DCONV"})
        e.criteria.push_back(
            ranked("O", fmt::format("{} among the four largest with DB+ICC+CC", name), n["DB+ICC+CC"].rank(icc_workload(name)), 4));
    const auto lead_of_d = [&](const char* name) { return n.change_of("D+ICC", name) - n.change_of("DB+ICC", name); };
    e.criteria.push_back(counted("O", "D+ICC better than DB+ICC for HS, LUD, DCT", count_positive({"HS", "LUD", "DCT"}, lead_of_d), 2, 3));
    e.criteria.push_back(counted("O", "DB+ICC better than D+ICC for FDTD, MM, 2DCONV",
                                 count_positive({"FDTD", "MM", "2DCONV"}, [&](const char* name) { return -lead_of_d(name); }), 2, 3));
    for (const auto& [name, id] : {std::pair{"HS", "icc-ipc-db-hs"}, {"DCT", "icc-ipc-db-dct"}})
        e.criteria.push_back(within("S", fmt::format("{}: no effect of DB alone", name), n.change_of("DB", name), "%", published.change(id),
                                    -kNoEffect, kNoEffect));
    e.criteria.push_back(within("M", "mean gain of DB", n.mean_change("DB"), "%", published.change("icc-ipc-db-avg"), 1, 10));
    e.criteria.push_back(within("M", "mean gain of DB+ICC", n.mean_change("DB+ICC"), "%", published.change("icc-ipc-dbicc-avg"), 4, 25));
    e.criteria.push_back(
        within("M", "mean gain of DB+ICC+CC", n.mean_change("DB+ICC+CC"), "%", published.change("icc-ipc-dbicccc-avg"), 6, 40));
    e.notes.push_back(fmt::format("Workloads that gain more than 10 %: {} with DB+ICC (published {}), {} with D+ICC (published {}).",
                                  number_text(n["DB+ICC"].count_above(1.10), 0), published.value("icc-robust-dbicc"),
                                  number_text(n["D+ICC"].count_above(1.10), 0), published.value("icc-robust-dicc")));
    e.notes.push_back(fmt::format("Mean gain of D+ICC+CC: {} %, published {} %.", number_text(n.mean_change("D+ICC+CC"), 1),
                                  published.change("icc-ipc-dicccc-avg")));
    e.tables.push_back(table_of("IPC / IPC of D", names, n.all, 3));
    Chart chart = bars_of("Performance", "IPC / IPC of D", 1.0, names, n.all);
    add_published(chart, published, "DB",
                  {{"mean", "icc-ipc-db-avg"},
                   {"FDTD", "icc-ipc-db-fdtd"},
                   {"MM", "icc-ipc-db-mm"},
                   {"2DCONV", "icc-ipc-db-2dconv"},
                   {"HS", "icc-ipc-db-hs"},
                   {"DCT", "icc-ipc-db-dct"}});
    add_published(chart, published, "D+ICC", {{"mean", "icc-ipc-dicc-avg"}});
    add_published(chart, published, "DB+ICC",
                  {{"mean", "icc-ipc-dbicc-avg"},
                   {"LUD", "icc-ipc-dbicc-lud"},
                   {"HS", "icc-ipc-dbicc-hs"},
                   {"DCT", "icc-ipc-dbicc-dct"},
                   {"2DCONV", "icc-ipc-dbicc-2dconv"}});
    add_published(chart, published, "D+ICC+CC", {{"mean", "icc-ipc-dicccc-avg"}});
    add_published(chart, published, "DB+ICC+CC",
                  {{"mean", "icc-ipc-dbicccc-avg"}, {"LUD", "icc-ipc-dbicccc-lud"}, {"2DCONV", "icc-ipc-dbicccc-2dconv"}});
    e.charts.push_back(std::move(chart));
}

namespace {

struct EnergyPart {
    const char* label;
    std::vector<const char*> components;
};
const std::vector<EnergyPart>& energy_parts() {
    static const std::vector<EnergyPart> parts = {{"SM+L1", {"sm", "l1"}}, {"NoC", {"noc"}},       {"L2", {"l2"}},
                                                  {"DRAM", {"dram"}},      {"static", {"static"}}, {"ICC/CC", {"cluster"}}};
    return parts;
}

Series part_energy(const IccResults& results, const Configuration& c, const char* table, const EnergyPart& part) {
    Series sum = results.energy(c, table, part.components.front());
    for (std::size_t i = 1; i < part.components.size(); ++i) {
        const Series more = results.energy(c, table, part.components[i]);
        for (std::size_t w = 0; w < sum.values.size(); ++w) sum.values[w] += more.values[w];
    }
    return sum;
}

/// What a component lost from D to DB+ICC+CC, in per cent of D's whole energy.
double mean_saving(const IccResults& results, const char* table, const char* component) {
    const Series whole = results.energy(icc_variant("D"), table, "total");
    Series saved = results.energy(icc_variant("D"), table, component);
    const Series after = results.energy(icc_variant("DB+ICC+CC"), table, component);
    for (std::size_t w = 0; w < saved.values.size(); ++w) saved.values[w] = 100 * (saved.values[w] - after.values[w]);
    return (saved / whole).mean();
}

void show_energy(const IccResults& results, const char* table, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const Normalised total([&](const Configuration& c) { return results.energy(c, table, "total"); });
    e.tables.push_back(table_of(fmt::format("Energy / energy of D, {}", table), names, total.all, 3));
    Table parts{fmt::format("Mean parts in % of D's energy, {}", table), {"configuration"}, {}};
    Chart chart{"stacked", fmt::format("Energy, {}", table), "workload", "energy / energy of D", 1.0, {}, {}};
    for (const EnergyPart& part : energy_parts()) parts.columns.push_back(part.label);
    const Series whole = results.energy(icc_variant("D"), table, "total");
    for (const char* label : kVariants) {
        parts.rows.push_back({label});
        for (const EnergyPart& part : energy_parts()) {
            const Series share = part_energy(results, icc_variant(label), table, part) / whole;
            parts.rows.back().push_back(number_text(100 * share.mean(), 1));
            for (std::size_t w = 0; w < names.size(); ++w) chart.data.push_back({names[w], label, part.label, share.at(w)});
            chart.data.push_back({"mean", label, part.label, share.mean()});
        }
    }
    e.tables.push_back(std::move(parts));
    e.charts.push_back(std::move(chart));
}

}  // namespace

void judge_icc6(const IccResults& results, const Published& published, Experiment& e) {
    const Normalised total([&](const Configuration& c) { return results.energy(c, kJudged, "total"); });
    const Normalised network([&](const Configuration& c) { return results.energy(c, kJudged, "noc"); });
    const Normalised l2([&](const Configuration& c) { return results.energy(c, kJudged, "l2"); });
    const Series share = results.energy(icc_variant("D"), kJudged, "noc") / results.energy(icc_variant("D"), kJudged, "total");
    std::vector<double> savings;
    for (const char* label : kSteps) savings.push_back(-total.mean_change(label));
    e.criteria.push_back(rising("S", "mean saving grows: DB, DB+ICC, DB+ICC+CC", savings, "%"));
    e.criteria.push_back(above("S", "DB+ICC+CC saves more network than L2 energy (difference, points of D's energy)",
                               mean_saving(results, kJudged, "noc") - mean_saving(results, kJudged, "l2"), "points", std::nullopt, 0));
    for (const char* name : {"2DCONV", "BFS"})
        e.criteria.push_back(ranked("O", fmt::format("{}: network share of D's energy in the top third", name),
                                    share.rank(icc_workload(name)), top_third(share.values.size())));
    e.criteria.push_back(
        within("M", "mean energy, DB+ICC+CC", total.mean_change("DB+ICC+CC"), "%", published.change("icc-en-dbicccc-avg"), -15, -2));
    e.criteria.push_back(
        within("M", "mean network energy, DB+ICC+CC", network.mean_change("DB+ICC+CC"), "%", published.change("icc-nocen-avg"), -40, -6));
    e.notes.push_back(
        fmt::format("Network share of D's energy: mean {} % (published {}), 2DCONV {} % (published {}), BFS {} % (published {}).",
                    number_text(100 * share.mean(), 1), published.value("icc-noc-energy-share-avg"),
                    number_text(100 * share.at(icc_workload("2DCONV")), 1), published.value("icc-noc-energy-share-2dconv"),
                    number_text(100 * share.at(icc_workload("BFS")), 1), published.value("icc-noc-energy-share-bfs")));
    e.notes.push_back(
        fmt::format("Mean energy: DB {} % (published {}), DB+ICC {} % (published {}); L2 energy with DB+ICC+CC {} % (published {}).",
                    number_text(total.mean_change("DB"), 1), published.change("icc-en-db-avg"), number_text(total.mean_change("DB+ICC"), 1),
                    published.change("icc-en-dbicc-avg"), number_text(l2.mean_change("DB+ICC+CC"), 1), published.change("icc-l2en-avg")));
    e.notes.push_back(fmt::format("Judged with {}; {} is printed beside and has no SM cores.", kJudged, kBeside));
    show_energy(results, kJudged, e);
    for (const auto& [x, id] : {std::pair{"mean", "icc-en-dbicccc-avg"},
                                {"2DCONV", "icc-en-dbicccc-2dconv"},
                                {"LUD", "icc-en-dbicccc-lud"},
                                {"FDTD", "icc-en-dbicccc-fdtd"},
                                {"HS", "icc-en-dbicccc-hs6"},
                                {"BT", "icc-en-dbicccc-bt"}})
        e.charts.front().published.push_back({x, "DB+ICC+CC", "", 1 + published.change(id) / 100});
    show_energy(results, kBeside, e);
}

void judge_icc7(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const auto edp = [&](const char* table) {
        return Normalised([&, table](const Configuration& c) { return results.energy(c, table, "edp"); });
    };
    const Normalised judged = edp(kJudged);
    const Normalised beside = edp(kBeside);
    const Normalised energy([&](const Configuration& c) { return results.energy(c, kJudged, "total"); });
    const Normalised time(
        [&](const Configuration& c) { return results.each(c, [](const RunRecord& r) { return static_cast<double>(r.cycles); }); });
    double worst = 0;
    for (std::size_t i = 0; i < judged.all.size(); ++i) {
        for (std::size_t w = 0; w < names.size(); ++w) {
            const double off = std::abs(judged.all[i].at(w) / (energy.all[i].at(w) * time.all[i].at(w)) - 1);
            worst = is_missing(off) || is_missing(worst) ? kMissing : std::max(worst, off);
        }
    }
    e.criteria.push_back(within("exact", "consistent with ICC-5 and ICC-6: product of the ratios of energy and time (largest deviation)",
                                100 * worst, "%", std::nullopt, std::nullopt, 1e-6));
    e.criteria.push_back(within("M", "mean energy-delay product, DB+ICC+CC", judged.mean_change("DB+ICC+CC"), "%",
                                published.change("icc-edp-dbicccc-avg"), -40, -8));
    e.notes.push_back(fmt::format("Mean: DB {} % (published {}), DB+ICC {} % (published {}); LUD with DB+ICC+CC {} % (published {}).",
                                  number_text(judged.mean_change("DB"), 1), published.change("icc-edp-db-avg"),
                                  number_text(judged.mean_change("DB+ICC"), 1), published.change("icc-edp-dbicc-avg"),
                                  number_text(judged.change_of("DB+ICC+CC", "LUD"), 1), published.change("icc-edp-dbicccc-lud")));
    e.tables.push_back(table_of(fmt::format("EDP / EDP of D, {}", kJudged), names, judged.all, 3));
    e.tables.push_back(table_of(fmt::format("EDP / EDP of D, {}", kBeside), names, beside.all, 3));
    Chart chart = bars_of("Energy-delay product", "EDP / EDP of D", 1.0, names, judged.all);
    add_published(chart, published, "DB", {{"mean", "icc-edp-db-avg"}});
    add_published(chart, published, "DB+ICC", {{"mean", "icc-edp-dbicc-avg"}});
    add_published(chart, published, "DB+ICC+CC", {{"mean", "icc-edp-dbicccc-avg"}, {"LUD", "icc-edp-dbicccc-lud"}});
    e.charts.push_back(std::move(chart));
}

namespace {

/// Merging can remove what the cluster asked for twice; reads beyond that, less what the L1s gained by the block scheduler, need an
/// explanation (a line can live longer in the coalesced cache, or be on its way for longer, than the window of 2000 cycles).
void check_against_locality(const IccResults& results, const Normalised& reads, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const Series icl = results.percent(icc_variant("D"), {"locality.line_sharing_2000", "locality.data_sharing_2000"}, "locality.reads");
    Table table{"Reads removed and locality there was, %", {"workload", "ICL (W=2000)", "DB", "D+ICC", "D+ICC+CC"}, {}};
    std::vector<std::string> more;
    for (std::size_t w = 0; w < names.size(); ++w) {
        const double icc = -change(reads["D+ICC"].at(w));
        const double cc = -change(reads["D+ICC+CC"].at(w));
        table.rows.push_back(
            {names[w], number_text(icl.at(w), 1), number_text(-change(reads["DB"].at(w)), 1), number_text(icc, 1), number_text(cc, 1)});
        if (icc > icl.at(w) + kNoEffect || cc > icl.at(w) + kNoEffect) more.push_back(names[w]);
    }
    e.tables.push_back(std::move(table));
    if (!more.empty())
        e.notes.push_back(
            fmt::format("More reads removed than asked for twice within 2000 cycles, to be explained: {}.", fmt::join(more, ", ")));
}

}  // namespace

void judge_icc8(const IccResults& results, const Published& published, Experiment& e) {
    const std::vector<std::string> names = icc_workload_names();
    const Normalised reads([&](const Configuration& c) { return results.stat(c, "noc.request.read_packets"); });
    const std::size_t third = top_third(names.size());
    const auto saved = [&](const Series& s) {
        Series negative = s;
        for (double& v : negative.values) v = -v;
        return negative;
    };
    Series extra = reads["DB+ICC"];
    for (std::size_t w = 0; w < names.size(); ++w) extra.values[w] -= reads["DB+ICC+CC"].at(w);
    e.criteria.push_back(rising("S", "each step removes more reads: none, DB, DB+ICC, DB+ICC+CC",
                                {0, -reads.mean_change("DB"), -reads.mean_change("DB+ICC"), -reads.mean_change("DB+ICC+CC")}, "%"));
    e.criteria.push_back(ranked("O", "DCT loses most with DB+ICC (top third)", saved(reads["DB+ICC"]).rank(icc_workload("DCT")), third));
    e.criteria.push_back(ranked("O", "FDTD loses most with DB alone (top third)", saved(reads["DB"]).rank(icc_workload("FDTD")), third));
    e.criteria.push_back(
        counted("O", "CC removes most for HS, LUD, 2DCONV (in the top third)",
                count_positive({"HS", "LUD", "2DCONV"},
                               [&](const char* name) { return static_cast<double>(third) + 0.5 - extra.rank(icc_workload(name)); }),
                2, 3));
    for (const char* name : {"HS", "BT"})
        e.criteria.push_back(
            within("S", fmt::format("{}: no effect of DB alone", name), reads.change_of("DB", name), "%", 0, -kNoEffect, kNoEffect));
    e.criteria.push_back(within("M", "mean reads, DB", reads.mean_change("DB"), "%", published.change("icc-noc-db-avg"), -15, -2));
    e.criteria.push_back(
        within("M", "mean reads, DB+ICC", reads.mean_change("DB+ICC"), "%", published.change("icc-noc-dbicc-avg"), -30, -6));
    e.criteria.push_back(
        within("M", "mean reads, DB+ICC+CC", reads.mean_change("DB+ICC+CC"), "%", published.change("icc-noc-dbicccc-avg"), -40, -8));
    e.tables.push_back(table_of("Read requests / those of D", names, reads.all, 3));
    check_against_locality(results, reads, e);
    Chart chart = bars_of("Read requests on the network", "read requests / those of D", 1.0, names, reads.all);
    add_published(chart, published, "DB",
                  {{"mean", "icc-noc-db-avg"},
                   {"FDTD", "icc-noc-db-fdtd"},
                   {"DCT", "icc-noc-db-dct"},
                   {"MM", "icc-noc-db-mm"},
                   {"2DCONV", "icc-noc-db-2dconv"}});
    add_published(chart, published, "DB+ICC",
                  {{"mean", "icc-noc-dbicc-avg"},
                   {"DCT", "icc-noc-dbicc-dct"},
                   {"FDTD", "icc-noc-dbicc-fdtd"},
                   {"HS", "icc-noc-dbicc-hs"},
                   {"LUD", "icc-noc-dbicc-lud"},
                   {"2DCONV", "icc-noc-dbicc-2dconv"}});
    add_published(chart, published, "DB+ICC+CC",
                  {{"mean", "icc-noc-dbicccc-avg"},
                   {"DCT", "icc-noc-dbicccc-dct"},
                   {"2DCONV", "icc-noc-dbicccc-2dconv"},
                   {"LUD", "icc-noc-dbicccc-lud"},
                   {"HS", "icc-noc-dbicccc-hs"},
                   {"FDTD", "icc-noc-dbicccc-fdtd"}});
    e.charts.push_back(std::move(chart));
}

}  // namespace mergelane::study
