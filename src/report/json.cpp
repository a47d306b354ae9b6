// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
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

/// What ran where, and how long it took.
Json head_of(const RunResult& result) {
    Json json = Json::object();
    json["version"] = result.version;
    if (!result.edition.empty()) json["edition"] = result.edition;
    json["model"] = result.model;
    json["config_hash"] = result.config_hash;
    json["digest"] = result.digest;
    json["gpu"] = result.machine.name;
    json["machine"] = {{"sms", result.machine.sms}, {"network_to_dram_bandwidth", result.machine.network_to_dram}};
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

}  // namespace

std::string to_json(const RunResult& result) {
    Json json = head_of(result);
    json["kernels"] = Json::array();
    for (const KernelResult& kernel : result.kernels) {
        Json record = Json::object();
        record["name"] = kernel.name;
        record["ctas"] = kernel.ctas;
        record["ctas_per_sm"] = kernel.ctas_per_sm;
        record["limited_by"] = kernel.limited_by;
        record["executed"] = kernel.at_placement ? "at placement" : "before";
        record["start"] = kernel.start;
        record["cycles"] = kernel.cycles;
        record["warp_instructions"] = kernel.warp_instructions;
        record["stats"] = stats_of(result.stats_of(kernel), &StatValue::value);
        if (!kernel.energy.empty()) record["energy"] = energy_of(kernel.energy, false);
        json["kernels"].push_back(std::move(record));
    }
    json["stats"] = stats_of(result.stats, &StatValue::value);
    json["highest"] = stats_of(result.stats, &StatValue::highest);
    json["metrics"] = Json::array();
    for (const Metric& metric : result.metrics) {
        json["metrics"].push_back(
            {{"heading", metric.heading}, {"name", metric.name}, {"value", metric.value}, {"unit", metric.unit}, {"note", metric.note}});
    }
    if (!result.energy.empty()) json["energy"] = energy_of(result.energy, true);
    json["units"] = stats_of(result.stats, &StatValue::unit);
    json["meanings"] = stats_of(result.stats, &StatValue::meaning);
    Json config = Json::object();
    for (const auto& [key, value] : result.config) {
        const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos && key != "l1.carveouts_kib";
        if (number)
            config[key] = std::stoull(value);
        else if (value == "true" || value == "false")
            config[key] = value == "true";
        else
            config[key] = value;
    }
    json["config"] = std::move(config);
    return json_text(json, 2) + "\n";
}

}  // namespace mergelane
