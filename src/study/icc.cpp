// SPDX-License-Identifier: MIT
#include "study/icc.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"
#include "study/energy_of_record.hpp"

namespace mergelane::study {

const std::vector<IccWorkload>& icc_workloads() {
    static const std::vector<IccWorkload> list = {
        {"HS", "hotspot"},    {"BT", "b+tree"},    {"BP", "backprop"}, {"BFS", "bfs"},     {"SRAD", "srad"},  {"LUD", "lud"},
        {"2DCONV", "2dconv"}, {"MM", "matrixmul"}, {"NN", "nn"},       {"FDTD", "fdtd3d"}, {"DCT", "dct8x8"},
    };
    return list;
}

std::vector<std::string> icc_workload_names() {
    std::vector<std::string> names;
    for (const IccWorkload& workload : icc_workloads()) names.push_back(workload.name);
    return names;
}

std::size_t icc_workload(std::string_view name) {
    const auto& list = icc_workloads();
    const auto at = std::find_if(list.begin(), list.end(), [&](const IccWorkload& w) { return w.name == name; });
    if (at == list.end()) throw InputError(fmt::format("the ICC paper has no workload '{}'", name));
    return static_cast<std::size_t>(at - list.begin());
}

Configuration icc_scheduler(const std::string& label) {
    const std::string_view policy = label == "RR2"   ? "two_level_rr"
                                    : label == "GRR" ? "global_rr"
                                    : label == "GC"  ? "greedy"
                                                     : "distributed";
    return {label, {fmt::format("dispatch.scheduler={}", policy), "cluster.locality.enabled=true"}};
}

Configuration icc_network(const std::string& scheduler, double scale) {
    Configuration c = icc_scheduler(scheduler);
    if (scale == 1) return c;
    constexpr double kMhz = 1400;
    c.overrides.pop_back();  // locality is measured at the published clocks only
    c.label = fmt::format("{} at {}x", scheduler, scale);
    c.overrides.push_back(fmt::format("gpu.noc_mhz={}", kMhz * scale));
    c.overrides.push_back(fmt::format("gpu.l2_mhz={}", kMhz * scale));
    return c;
}

Configuration icc_variant(const std::string& label) {
    if (label == "D") return icc_scheduler(label);
    Configuration c{label, {fmt::format("dispatch.scheduler={}", label.starts_with("DB") ? "distributed_block" : "distributed")}};
    if (label.find("+ICC") != std::string::npos) c.overrides.push_back("cluster.icc.enabled=true");
    if (label.ends_with("+CC")) c.overrides.push_back("cluster.cc.enabled=true");
    return c;
}

Configuration icc_table_size(std::uint32_t entries) {
    Configuration c = icc_variant("DB+ICC");
    if (entries == 48) return c;
    c.label = fmt::format("DB+ICC, {} entries", entries);
    c.overrides.push_back(fmt::format("cluster.icc.entries={}", entries));
    return c;
}

Configuration icc_cache_size(std::uint32_t entries) {
    Configuration c = icc_variant("DB+ICC+CC");
    if (entries == 24) return c;
    c.label = fmt::format("DB+ICC+CC, {} lines", entries);
    c.overrides.push_back(fmt::format("cluster.cc.entries={}", entries));
    return c;
}

/// Section 8.4: 60 SMs in all, one network port per cluster, a merge table that grows with the cluster. The eight memory-side ports bound
/// the network's bandwidth except for six clusters, which the paper gives a faster crossbar.
Configuration icc_clusters(std::uint32_t clusters, const std::string& variant) {
    Configuration c = icc_variant(variant);
    if (clusters == 12) return c;
    if (variant == "D") c.overrides.pop_back();
    c.label = fmt::format("{}, {} clusters", variant, clusters);
    c.overrides.push_back(fmt::format("gpu.clusters={}", clusters));
    c.overrides.push_back(fmt::format("gpu.sms_per_cluster={}", 60 / clusters));
    if (clusters == 6) c.overrides.push_back("gpu.noc_mhz=1900");
    if (variant != "D") c.overrides.push_back(fmt::format("cluster.icc.entries={}", clusters == 6 ? 96 : clusters == 10 ? 60 : 40));
    return c;
}

Series IccResults::each(const Configuration& configuration, const std::function<double(const RunRecord&)>& value) const {
    Series series{configuration.label, {}};
    for (const IccWorkload& workload : icc_workloads()) {
        const RunRecord* record = find_(configuration, workload);
        series.values.push_back(record == nullptr ? kMissing : value(*record));
    }
    return series;
}

Series IccResults::ipc(const Configuration& configuration) const {
    return each(configuration, [](const RunRecord& r) {
        return static_cast<double>(r.warp_instructions) / static_cast<double>(std::max<std::uint64_t>(1, r.cycles));
    });
}

Series IccResults::stat(const Configuration& configuration, const std::string& name) const {
    return each(configuration, [&](const RunRecord& r) { return static_cast<double>(r.stat(name)); });
}

Series IccResults::percent(const Configuration& configuration, const std::vector<std::string>& numerators,
                           const std::string& denominator) const {
    return each(configuration, [&](const RunRecord& r) {
        std::uint64_t sum = 0;
        for (const std::string& name : numerators) sum += r.stat(name);
        const std::uint64_t whole = r.stat(denominator);
        return whole == 0 ? 0 : 100 * static_cast<double>(sum) / static_cast<double>(whole);
    });
}

const EnergyReport* IccResults::report(const Configuration& configuration, const IccWorkload& workload, const std::string& table) const {
    const RunRecord* record = find_(configuration, workload);
    if (record == nullptr) return nullptr;
    const std::string name = fmt::format("{}\n{}", table, record->key);
    if (const auto at = reports_.find(name); at != reports_.end()) return &at->second;
    std::shared_ptr<const EnergyData>& data = tables_[table];
    if (data == nullptr) data = std::make_shared<const EnergyData>(load_energy_table(table, default_energy_dirs()));
    return &reports_.emplace(name, energy_of_record(*record, kIccMachine, configuration.overrides, *data)).first->second;
}

Series IccResults::energy(const Configuration& configuration, const std::string& table, const std::string& component) const {
    Series series{configuration.label, {}};
    for (const IccWorkload& workload : icc_workloads()) {
        const EnergyReport* energy = report(configuration, workload, table);
        double value = kMissing;
        if (energy != nullptr && component == "total") value = energy->joules;
        if (energy != nullptr && component == "edp") value = energy->joule_seconds;
        if (energy != nullptr && is_missing(value)) {
            value = 0;
            for (const auto& [part, fj] : energy->components) {
                if (part == component) value = static_cast<double>(fj) * 1e-15;
            }
        }
        series.values.push_back(value);
    }
    return series;
}

namespace {

std::vector<Configuration> no_runs() {
    return {};
}
std::vector<Configuration> network_runs() {
    std::vector<Configuration> list;
    for (const char* scheduler : {"D", "RR2"}) {
        for (const double scale : kNetworkScales) list.push_back(icc_network(scheduler, scale));
    }
    return list;
}
std::vector<Configuration> baseline_run() {
    return {icc_scheduler("D")};
}
std::vector<Configuration> scheduler_runs() {
    return {icc_scheduler("RR2"), icc_scheduler("GRR"), icc_scheduler("GC"), icc_scheduler("D")};
}
std::vector<Configuration> variant_runs() {
    std::vector<Configuration> list;
    for (const char* label : {"D", "DB", "D+ICC", "DB+ICC", "D+ICC+CC", "DB+ICC+CC"}) list.push_back(icc_variant(label));
    return list;
}
std::vector<Configuration> size_runs() {
    std::vector<Configuration> list{icc_variant("D")};
    for (const std::uint32_t entries : kTableSizes) list.push_back(icc_table_size(entries));
    for (const std::uint32_t entries : kCacheSizes) list.push_back(icc_cache_size(entries));
    return list;
}
std::vector<Configuration> cluster_runs() {
    std::vector<Configuration> list;
    for (const std::uint32_t clusters : kClusterCounts) {
        for (const char* variant : {"D", "DB+ICC", "DB+ICC+CC"}) list.push_back(icc_clusters(clusters, variant));
    }
    return list;
}

}  // namespace

const std::vector<IccExperiment>& icc_experiments() {
    static const std::vector<IccExperiment> list = {
        {"ICC-0", "Fig 6", "Placement by five CTA schedulers", true, no_runs, judge_icc0},
        {"ICC-1", "Fig 2", "The network as bottleneck", true, network_runs, judge_icc1},
        {"ICC-2", "Fig 3", "Intra-cluster locality by window", true, baseline_run, judge_icc2},
        {"ICC-3", "Fig 7", "Schedulers: performance", true, scheduler_runs, judge_icc3},
        {"ICC-4", "Fig 8", "Schedulers: intra-cluster locality", true, scheduler_runs, judge_icc4},
        {"ICC-5", "Fig 10", "Performance", false, variant_runs, judge_icc5},
        {"ICC-6", "Fig 11", "Energy", false, variant_runs, judge_icc6},
        {"ICC-7", "Fig 12", "Energy-delay product", false, variant_runs, judge_icc7},
        {"ICC-8", "Fig 13", "Read requests on the network", false, variant_runs, judge_icc8},
        {"ICC-9", "Sec 6.2", "Sizes of merge table and coalesced cache", false, size_runs, judge_icc9},
        {"ICC-10", "Fig 14", "Number of clusters, ICC", false, cluster_runs, judge_icc10},
        {"ICC-11", "Fig 15", "Number of clusters, ICC and CC", false, cluster_runs, judge_icc11},
        {"ICC-12", "Sec 6.4", "Storage", true, no_runs, judge_icc12},
    };
    return list;
}

Experiment judge(const IccExperiment& experiment, const IccResults& results, const Published& published) {
    Experiment judged;
    judged.id = experiment.id;
    judged.figure = experiment.figure;
    judged.title = experiment.title;
    experiment.judge(results, published, judged);
    return judged;
}

}  // namespace mergelane::study
