// SPDX-License-Identifier: MIT
#include "config/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "config/config.hpp"
#include "core/fields.hpp"
#include "sim/machine.hpp"

namespace mergelane {

namespace {

/// The mechanisms that are on: with the same ones, a choice has the same statistics on every machine.
std::string mechanisms_of(MachineSpec& spec) {
    std::string text;
    for (const SpecField& field : spec.fields().list()) {
        if (field.kind == SpecField::Kind::boolean && field.key.ends_with(".enabled") && *field.boolean) text.append(" ").append(field.key);
    }
    return text;
}

void collect(const MachineSpec& spec, std::vector<StatValue>& list) {
    const Machine machine(spec);
    StatFields fields;
    for (const Wiring::Part& part : machine.parts()) {
        fields.clear();
        part.component->stats(fields, 0);
        for (const StatField& field : fields.list()) {
            std::string name = std::string(field.group).append(".").append(field.name);
            const auto same_group = [&](const StatValue& s) { return s.name.substr(0, s.name.rfind('.')) == field.group; };
            if (std::any_of(list.begin(), list.end(), [&](const StatValue& s) { return s.name == name; })) continue;
            const auto last = std::find_if(list.rbegin(), list.rend(), same_group);  // what only some machines have comes behind its group
            list.insert(last == list.rend() ? list.end() : last.base(), {std::move(name), field.unit, field.meaning, 0});
        }
    }
}

MachineSpec with_sms(MachineSpec spec, std::uint32_t clusters, std::uint32_t sms_per_cluster) {
    const GpuSpec own = spec.gpu;
    spec.gpu.clusters = clusters;
    spec.gpu.sms_per_cluster = sms_per_cluster;
    if (!check(spec).empty()) spec.gpu = own;
    return spec;
}

/// Enables all mechanisms that can be combined, in order, or only the one with this number. Returns the numbers of those that cannot.
std::vector<std::size_t> enable(MachineSpec& spec, std::optional<std::size_t> only = {}) {
    const std::vector<SpecField> fields = spec.fields().list();
    std::vector<std::size_t> refused;
    for (std::size_t i = only.value_or(0); i < (only ? *only + 1 : fields.size()); ++i) {
        if (fields[i].kind != SpecField::Kind::boolean || !fields[i].key.ends_with(".enabled") || *fields[i].boolean) continue;
        *fields[i].boolean = true;
        if (check(spec).empty()) continue;
        *fields[i].boolean = false;
        refused.push_back(i);
    }
    return refused;
}

}  // namespace

std::vector<StatValue> all_statistics(const std::vector<std::filesystem::path>& preset_dirs, const Registry& registry) {
    std::vector<StatValue> list;
    std::set<std::string> tried;  // choices and mechanisms, each with those that were on
    for (const PresetInfo& preset : list_presets(preset_dirs)) {
        const MachineSpec loaded = load_config(preset.name, {}, preset_dirs, registry).spec;
        // Some want SMs with ports of their own, and many; some exclude each other.
        MachineSpec spec = with_sms(loaded, 80, 1);
        const std::vector<std::size_t> refused = enable(spec);
        collect(spec, list);
        for (const std::size_t mechanism : refused) {
            MachineSpec alone = with_sms(loaded, 80, 1);
            if (enable(alone, mechanism).empty() && tried.insert(mechanisms_of(alone)).second) collect(alone, list);
        }
        spec = with_sms(loaded, 2, 2);
        enable(spec);
        collect(spec, list);
        const std::string mechanisms = mechanisms_of(spec);
        for (const SpecField& field : spec.fields().list()) {
            if (field.kind != SpecField::Kind::choice) continue;
            const std::string chosen = field.value();
            for (const std::string_view choice : field.choices) {
                if (choice == chosen || tried.contains(fmt::format("{}={}{}", field.key, choice, mechanisms))) continue;
                field.choose(choice);
                if (!check(spec).empty()) continue;
                tried.insert(fmt::format("{}={}{}", field.key, choice, mechanisms));
                collect(spec, list);
            }
            field.choose(chosen);
        }
    }
    return list;
}

}  // namespace mergelane
