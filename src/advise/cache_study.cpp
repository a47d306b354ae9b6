// SPDX-License-Identifier: MIT
#include "advise/cache_study.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "profile/add_counts.hpp"
#include "profile/miss_sharing.hpp"

namespace mergelane {

namespace {

class MetricList {
public:
    void group(std::string name, std::string heading) {
        group_ = std::move(name);
        heading_ = std::move(heading);
    }
    void percent(std::string name, std::uint64_t part, std::uint64_t whole) { add(std::move(name), 100 * share(part, whole), "%"); }
    void add(std::string name, double value, std::string unit) {
        list.push_back({group_, heading_, std::move(name), value, std::move(unit)});
    }
    std::vector<ProfileMetric> list;

private:
    std::string group_, heading_;
};

double quotient(double part, double whole) {
    return whole == 0 ? 0 : part / whole;
}

/// Concurrent warps on an SM, in the mean over line requests of the kernels, and CTAs for each place.
void occupancy(MetricList& m, const Forecast& forecast, std::uint32_t sms) {
    double warps = 0, waves = 0, weight = 0;
    for (const KernelForecast& kernel : forecast.kernels) {
        const auto places = static_cast<double>(std::uint64_t{sms} * kernel.slots);
        const auto ctas = static_cast<double>(kernel.ctas) / static_cast<double>(kernel.launches);
        const auto lines = static_cast<double>(kernel.counts.load_lines);
        warps += lines * std::min(ctas, places) * kernel.info.warps_per_cta() / sms;
        waves += lines * ctas / places;
        weight += lines;
    }
    m.add("warps_per_sm", quotient(warps, weight), "concurrent warps");
    m.add("waves", quotient(waves, weight), "CTAs per place");
}

}  // namespace

std::vector<ProfileMetric> study_caches(const MachineSpec& spec, const OpenWorkload& open, const std::function<void(double)>& progress) {
    MissSharing sharing(spec.sms(), spec.gpu.sms_per_cluster);
    ForecastOptions options;
    options.only = {Candidate{}, Candidate{Candidate::How::agents, TaskOrder::Kind::columns}};
    options.watcher = &sharing;
    options.progress = progress;
    const Forecast made = forecast(spec, open, options);
    const Prediction plain = made.total(0), agents = made.total(1);
    const Traffic& t = plain.traffic;
    AccessLog::Counts counts;
    for (const KernelForecast& kernel : made.kernels) counts.add(kernel.counts);
    const auto per_thousand = [&](std::uint64_t sectors) {
        return 1000 * quotient(static_cast<double>(sectors), static_cast<double>(counts.warp_instructions));
    };
    MetricList m;
    m.group("caches", fmt::format("Caches of {}, without timing", spec.name));
    m.percent("l1_misses", t.l1_misses, t.loads);
    m.percent("l2_misses", t.l2_misses, t.to_l2());
    m.add("to_l2", per_thousand(t.to_l2()), "sectors per 1000 warp instr");
    m.add("to_dram", per_thousand(t.to_dram()), "sectors per 1000 warp instr");
    m.percent("waits_for_l2", t.waits_l2, counts.loads);
    occupancy(m, made, spec.sms());
    const auto& b = plain.bounds;
    const double all = std::max({b.issue, b.network, b.dram, b.rows, b.latency});
    m.add("issue_bound", 100 * quotient(b.issue, all), "% of the largest bound");
    m.add("network_bound", 100 * quotient(b.network, all), "% of the largest bound");
    m.add("dram_bound", 100 * quotient(std::max(b.dram, b.rows), all), "% of the largest bound");
    m.add("latency_bound", 100 * quotient(b.latency, all), "% of the largest bound");
    m.group("shared_misses", "L1 misses of a line that another SM missed at most so many misses per SM before");
    for (std::size_t i = 0; i < kMissDistances.size(); ++i)
        m.percent(fmt::format("in_cluster_{}", kMissDistances[i]), sharing.in_cluster()[i], sharing.misses());
    for (std::size_t i = 0; i < kMissDistances.size(); ++i)
        m.percent(fmt::format("in_gpu_{}", kMissDistances[i]), sharing.in_gpu()[i], sharing.misses());
    m.group("agents", "Agents by columns, relative to the unchanged order");
    m.percent("l1_misses", agents.traffic.l1_misses, t.l1_misses);
    m.percent("dram_sectors", agents.traffic.to_dram(), t.to_dram());
    m.percent("row_activations", agents.traffic.row_misses, t.row_misses);
    m.add("bound", 100 * quotient(agents.cycles, plain.cycles), "%");
    return m.list;
}

}  // namespace mergelane
