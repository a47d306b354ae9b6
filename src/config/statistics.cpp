// SPDX-License-Identifier: MIT
#include "config/statistics.hpp"

#include <algorithm>
#include <string>

#include "config/config.hpp"
#include "core/fields.hpp"
#include "sim/machine.hpp"

namespace mergelane {

namespace {

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

/// The machine with all mechanisms enabled that can be combined, and that many SMs if it supports them.
MachineSpec with_everything(MachineSpec spec, std::uint32_t clusters, std::uint32_t sms_per_cluster) {
    const GpuSpec own = spec.gpu;
    spec.gpu.clusters = clusters;
    spec.gpu.sms_per_cluster = sms_per_cluster;
    if (!check(spec).empty()) spec.gpu = own;
    for (const SpecField& field : spec.fields().list()) {
        if (field.kind != SpecField::Kind::boolean || !field.key.ends_with(".enabled")) continue;
        const bool was = *field.boolean;
        *field.boolean = true;
        if (!check(spec).empty()) *field.boolean = was;
    }
    return spec;
}

}  // namespace

std::vector<StatValue> all_statistics(const std::vector<std::filesystem::path>& preset_dirs, const Registry& registry) {
    std::vector<StatValue> list;
    for (const PresetInfo& preset : list_presets(preset_dirs)) {
        const MachineSpec loaded = load_config(preset.name, {}, preset_dirs, registry).spec;
        collect(with_everything(loaded, 80, 1), list);  // some want SMs with ports of their own, and many
        MachineSpec spec = with_everything(loaded, 2, 2);
        collect(spec, list);
        for (const SpecField& field : spec.fields().list()) {
            if (field.kind != SpecField::Kind::choice) continue;
            const std::string chosen = field.value();
            for (const std::string_view choice : field.choices) {
                field.choose(choice);
                if (choice != chosen && check(spec).empty()) collect(spec, list);
            }
            field.choose(chosen);
        }
    }
    return list;
}

}  // namespace mergelane
