// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/json_text.hpp"
#include "core/kernel_name.hpp"
#include "report/derived.hpp"
#include "report/html_report.hpp"
#include "report/instructions.hpp"
#include "report/report.hpp"

namespace mergelane {

namespace {

using Json = nlohmann::ordered_json;

template <class Field>
Json stats_of(const std::vector<StatValue>& stats, Field field) {
    Json object = Json::object();
    for (const StatValue& stat : stats) object[stat.name] = stat.*field;
    return object;
}

Json energy_of(const std::vector<EnergyReport>& reports, bool items) {
    Json tables = Json::object();
    for (const EnergyReport& report : reports) {
        Json record = Json::object();
        record["kind"] = report.kind;
        record["total_fj"] = report.total_fj;
        record["components_fj"] = Json::object();
        for (const auto& [component, fj] : report.components) record["components_fj"][component] = fj;
        record["seconds"] = report.seconds;
        record["joules"] = report.joules;
        record["energy_delay_product_js"] = report.joule_seconds;
        if (items) {
            record["items"] = Json::array();
            for (const EnergyItem& item : report.items) {
                record["items"].push_back({{"component", item.component},
                                           {"name", item.name},
                                           {"count", item.count},
                                           {"unit", item.unit},
                                           {"unit_fj", item.unit_fj},
                                           {"fj", item.fj}});
            }
            if (!report.areas_mm2.empty()) record["areas_mm2"] = Json::object();
            for (const auto& [structure, area] : report.areas_mm2) record["areas_mm2"][structure] = area;
            record["notes"] = report.notes;
        }
        tables[report.table] = std::move(record);
    }
    return tables;
}

/// In core cycles; stages in which no load ever was are left out.
Json load_times_of(const RunResult& result, const LoadTimes& times) {
    const auto cycles = [&](std::uint64_t time) { return static_cast<double>(time) / result.units_per_cycle; };
    Json json = {{"loads", times.loads}, {"cycles", cycles(times.total)}, {"stages", Json::object()}, {"stalled", Json::object()}};
    for (std::size_t s = 0; s < times.spent.size(); ++s) {
        if (result.load_times.spent[s] != 0) json["stages"][result.stages[s].first] = cycles(times.spent[s]);
        if (result.load_times.stalled[s] != 0) json["stalled"][result.stages[s].first] = cycles(times.stalled[s]);
    }
    return json;
}

Json estimate_of(const Estimate& estimate) {
    return {{"value", estimate.value}, {"half_width", estimate.half_width}, {"relative", estimate.relative()}};
}

/// Of a sampled run: what stands behind the estimates, and their intervals.
Json sample_of(const RunResult& result) {
    const SampleFacts& facts = result.sample;
    Json json = {{"confidence", 0.95},
                 {"requested_error", facts.requested_error},
                 {"launches", facts.launches},
                 {"simulated_launches", facts.simulated},
                 {"warp_instructions", facts.warp_instructions},
                 {"simulated_warp_instructions", facts.simulated_instructions},
                 {"waves", facts.waves},
                 {"simulated_waves", facts.simulated_waves},
                 {"launches_in_parts", facts.launches_in_parts},
                 {"stretches", facts.stretches},
                 {"simulated_stretches", facts.simulated_stretches},
                 {"passes", facts.passes},
                 {"warmed_launches", facts.warmed_launches},
                 {"signature_seconds", facts.signature_seconds},
                 {"simulation_seconds", facts.simulation_seconds},
                 {"warming_seconds", facts.warming_seconds},
                 {"cycles", estimate_of(facts.cycles)},
                 {"kernel_cycles", estimate_of(facts.kernel_cycles)},
                 {"stats", Json::object()},
                 {"ratios", Json::object()},
                 {"strata", Json::array()}};
    for (std::size_t i = 0; i < facts.stats.size(); ++i) json["stats"][result.stats[i].name] = estimate_of(facts.stats[i]);
    for (const RatioEstimate& ratio : facts.ratios) {
        Json one = estimate_of(ratio.analytic);
        one["bootstrap_low"] = ratio.low;
        one["bootstrap_high"] = ratio.high;
        json["ratios"][ratio.name] = std::move(one);
    }
    for (const SampleStratum& stratum : facts.strata) {
        json["strata"].push_back({{"kernel", stratum.kernel},
                                  {"first_launch", stratum.first},
                                  {"launches", stratum.launches},
                                  {"simulated_launches", stratum.simulated},
                                  {"warp_instructions", stratum.warp_instructions}});
    }
    return json;
}

/// By columns, which take less space than an object per interval.
Json intervals_of(const RunResult& result) {
    const Intervals& intervals = result.intervals;
    Json json = {{"interval_cycles", intervals.cycles}, {"start", Json::array()}, {"cycles", Json::array()}, {"stats", Json::object()}};
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        json["start"].push_back(intervals.start(i));
        json["cycles"].push_back(intervals.length(i));
    }
    for (std::size_t s = 0; s < result.stats.size(); ++s) {
        Json& column = json["stats"][result.stats[s].name] = Json::array();
        for (std::size_t i = 0; i < intervals.size(); ++i) column.push_back(intervals.of(i)[s]);
    }
    return json;
}

/// What ran where, and how long it took.
Json head_of(const RunResult& result) {
    Json json = Json::object();
    json["schema"] = kRunSchema;
    json["version"] = result.version;
    if (!result.edition.empty()) json["edition"] = result.edition;
    json["model"] = result.model;
    json["config_hash"] = result.config_hash;
    json["digest"] = result.digest;
    json["gpu"] = result.machine.name;
    json["machine"] = {{"sms", result.machine.sms},
                       {"sms_per_cluster", result.machine.sms_per_cluster},
                       {"schedulers_per_sm", result.machine.schedulers_per_sm},
                       {"core_mhz", result.machine.core_mhz},
                       {"network_to_dram_bandwidth", result.machine.network_to_dram}};
    json["validated"] = result.machine.validated;
    json["workload"] = result.workload;
    json["complete"] = result.partial.empty();
    if (!result.partial.empty()) json["stopped_because"] = result.partial;
    json["cycles"] = result.cycles;
    json["kernel_cycles"] = result.kernel_cycles();
    json["launch_overhead_cycles"] = result.launch_cycles();
    json["kernel_us"] = result.microseconds(result.kernel_cycles());
    json["launch_overhead_us"] = result.microseconds(result.launch_cycles());
    json["warp_instructions"] = result.warp_instructions;
    json["cpu_seconds"] = result.cpu_seconds;
    json["wall_seconds"] = result.wall_seconds;
    json["threads"] = result.threads;
    json["window_core_cycles"] = result.window_cycles;
    return json;
}

Json kernel_of(const RunResult& result, const KernelResult& kernel) {
    Json record = Json::object();
    record["name"] = kernel.name;
    record["ctas"] = kernel.ctas;
    record["ctas_per_sm"] = kernel.ctas_per_sm;
    record["limited_by"] = kernel.limited_by;
    record["registers"] = kernel.registers;
    record["registers_from"] = kernel.registers_from;
    record["executed"] = kernel.at_placement ? "at placement" : "before";
    record["start"] = kernel.start;
    record["cycles"] = kernel.cycles;
    record["warp_instructions"] = kernel.warp_instructions;
    record["stats"] = stats_of(result.stats_of(kernel), &StatValue::value);
    record["load_time"] = load_times_of(result, kernel.load_times);
    if (!kernel.energy.empty()) record["energy"] = energy_of(kernel.energy, false);
    return record;
}

/// Everything about the run as a whole.
void add_totals(Json& json, const RunResult& result) {
    json["stats"] = stats_of(result.stats, &StatValue::value);
    json["highest"] = stats_of(result.stats, &StatValue::highest);
    json["load_time"] = load_times_of(result, result.load_times);
    if (!result.by_instruction.empty()) json["by_instruction"] = instructions_json(result);
    if (result.intervals.size() != 0) json["intervals"] = intervals_of(result);
    if (result.sample.any()) json["sample"] = sample_of(result);
    json["metrics"] = Json::array();
    for (const Metric& metric : result.metrics) {
        json["metrics"].push_back(
            {{"heading", metric.heading}, {"name", metric.name}, {"value", metric.value}, {"unit", metric.unit}, {"note", metric.note}});
    }
    if (!result.energy.empty()) json["energy"] = energy_of(result.energy, true);
    json["bandwidth"] = Json::array();
    const auto stat = [&](std::string_view name) { return static_cast<double>(result.stat(name)); };
    for (const report::Bandwidth& level : report::bandwidths(result.machine, result.has_stat("l1.sector_accesses"), stat))
        json["bandwidth"].push_back({{"level", level.level}, {"bytes", level.bytes}, {"peak_gb_per_s", level.peak / 1e9}});
    json["per_unit"] = Json::object();
    for (const auto& [counter, values] : result.per_unit) json["per_unit"][counter] = values;
    json["units"] = stats_of(result.stats, &StatValue::unit);
    json["meanings"] = stats_of(result.stats, &StatValue::meaning);
    Json config = Json::object();
    for (const auto& [key, value] : result.config) {
        const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos && key != "l1.carveouts_kib" &&
                            key != "cluster.sizes";
        if (number)
            config[key] = std::stoull(value);
        else if (value == "true" || value == "false")
            config[key] = value == "true";
        else
            config[key] = value;
    }
    json["config"] = std::move(config);
}

/// Adds up all counts of kernels of the same name; what cannot be added is that of the first.
void add_up(Json& sum, const Json& more) {
    for (const auto& [key, value] : more.items()) {
        Json& mine = sum[key];
        if (mine.is_null())
            mine = value;
        else if (value.is_object())
            add_up(mine, value);
        else if (value.is_number_float())
            mine = mine.get<double>() + value.get<double>();
        else if (value.is_number() && key != "start" && key != "ctas_per_sm" && key != "registers")
            mine = mine.get<std::uint64_t>() + value.get<std::uint64_t>();
    }
}

/// One record per name, with "launches". A program may launch 100,000 kernels, and may have very many of different names: the rest of them
/// share a record, so that nothing is left out.
Json kernels_by_name(const RunResult& result) {
    constexpr std::size_t kMostNames = 250;
    std::map<std::string, std::uint64_t> cycles;
    for (const KernelResult& kernel : result.kernels) cycles[name_without_number(kernel.name)] += kernel.cycles;
    std::vector<std::pair<std::uint64_t, std::string>> longest;
    for (const auto& [name, sum] : cycles) longest.emplace_back(sum, name);
    std::sort(longest.begin(), longest.end(),
              [](const auto& a, const auto& b) { return std::tie(b.first, a.second) < std::tie(a.first, b.second); });
    const std::size_t shown = std::min(longest.size(), kMostNames);
    const std::string others = fmt::format("{} other kernels", longest.size() - shown);
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < shown; ++i) place[longest[i].second] = i;
    std::vector<Json> records(shown + 1);
    for (const KernelResult& kernel : result.kernels) {
        const auto at = place.find(name_without_number(kernel.name));
        Json& record = records[at == place.end() ? shown : at->second];
        Json one = kernel_of(result, kernel);
        one["launches"] = 1;
        if (record.is_null()) {
            record = std::move(one);
            record["name"] = at == place.end() ? others : at->first;
        } else {
            add_up(record, one);
        }
    }
    if (records.back().is_null()) records.pop_back();
    return records;
}

}  // namespace

std::string to_json(const RunResult& result) {
    Json json = head_of(result);
    json["kernels"] = Json::array();
    for (const KernelResult& kernel : result.kernels) json["kernels"].push_back(kernel_of(result, kernel));
    add_totals(json, result);
    return json_text(json, 2) + "\n";
}

namespace {

Json json_of_page(const RunResult& result) {
    Json json = head_of(result);
    json["launches"] = result.kernels.size();
    json["kernels"] = kernels_by_name(result);
    add_totals(json, result);
    return json;
}

}  // namespace

std::string to_html(const RunResult& result, const std::vector<Finding>& findings) {
    return run_page(json_of_page(result), findings);
}

std::string to_html_head(const RunResult& result) {
    return run_head(json_of_page(result));
}

}  // namespace mergelane
