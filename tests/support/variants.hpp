// SPDX-License-Identifier: MIT
// Everything that a machine can be given by name or switched on, as the registry lists it, each on a small machine that can have it. What
// is registered anew is found here, so tests over variants() cover it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dcl1_machines.hpp"
#include "machines.hpp"
#include "random_scripts.hpp"
#include "run.hpp"

namespace mergelane::testing {

/// Sets one configuration value, as a file would.
inline void set_key(MachineSpec& spec, std::string_view key, std::string_view value) {
    const std::vector<SpecField> fields = spec.fields().list();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const SpecField& f) { return f.key == key; });
    if (field == fields.end()) {
        ADD_FAILURE() << "there is no key " << key;
    } else if (field->kind == SpecField::Kind::boolean) {
        *field->boolean = value == "true";
    } else if (field->kind == SpecField::Kind::integer) {
        *field->integer = static_cast<std::uint32_t>(std::stoul(std::string(value)));
    } else if (field->kind == SpecField::Kind::choice) {
        EXPECT_TRUE(field->choose(value)) << key << " = " << value;
    } else {
        *field->text = value;
    }
}

using Settings = std::vector<std::pair<std::string_view, std::string_view>>;
inline MachineSpec configured(MachineSpec spec, const Settings& settings) {
    for (const auto& [key, value] : settings) set_key(spec, key, value);
    return valid(spec);
}

/// A choice by name that is not the default, or a switch that is turned.
struct Variant {
    std::string key;
    std::string value;

    /// As a test may be called.
    std::string name() const {
        std::string text = key + "_" + value;
        std::replace_if(
            text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
        return text;
    }
    /// Switches a mechanism on.
    bool switches_on() const { return key.ends_with(".enabled") && value == "true"; }
    /// Only measures.
    bool is_meter() const { return switches_on() && (key.ends_with("meter.enabled") || key == "cluster.locality.enabled"); }
    friend void PrintTo(const Variant& v, std::ostream* out) { *out << v.key << " = " << v.value; }
};

inline std::vector<Variant> variants() {
    MachineSpec spec;
    std::vector<Variant> list;
    for (const SpecField& field : spec.fields().list()) {
        if (field.key.starts_with("exec.")) continue;  // to which unit an instruction class goes is a number like its latency
        if (field.kind == SpecField::Kind::boolean) list.push_back({field.key, *field.boolean ? "false" : "true"});
        for (const std::string_view choice : field.choices) {
            if (field.key == "cluster.icc.match" && choice == "address") continue;  // loses replies, to show that it does
            if (choice != field.value()) list.push_back({field.key, std::string(choice)});
        }
    }
    return list;
}

/// A small machine that can have what begins with `keys`, and uses it; those of "" can have what needs nothing special.
struct VariantBase {
    std::string_view keys;
    MachineSpec spec;
};
/// Between them they can have every variant.
inline const std::vector<VariantBase>& variant_bases() {
    static const std::vector<VariantBase> bases = [] {
        MachineSpec plain = icc60_like(4);
        plain.gpu.sms_per_cluster = 2;
        plain.dram.channels = 2;
        MachineSpec v100 = v100_like();
        v100.gpu.clusters = 4;
        v100.dram.channels = 2;
        const MachineSpec own_path = configured(plain, {{"sm.shared_path", "own"}});
        const MachineSpec icc = configured(plain, {{"cluster.icc.enabled", "true"}});
        const MachineSpec mesh = configured(plain, {{"noc.kind", "mesh"}});
        const MachineSpec agents = configured(plain, {{"dispatch.transform", "agents"}});
        const MachineSpec nodes = decoupled(4, 2, 1400);
        const MachineSpec detailed = configured(plain, {{"dram.controller.enabled", "true"},
                                                        {"dram.timing.tREFI", "3000"},
                                                        {"dram.timing.tRFC", "100"},
                                                        {"dram.timing.tRFCpb", "40"}});
        MachineSpec table = agents;
        set_key(table, "clustering.table", "2,1,0,4,3,7,6,5");
        return std::vector<VariantBase>{
            {"lsu.warp_pool.", configured(own_path, {{"lsu.front", "warp_pool"}})},
            {"lsu.mrpb.", configured(own_path, {{"lsu.front", "mrpb"}})},
            {"l1.set_hash", configured(plain, {{"l1.size_kib", "32"}, {"l1.ways", "4"}})},
            {"cluster.icc.", icc},
            {"cluster.cc.", configured(icc, {{"cluster.cc.enabled", "true"}})},
            {"noc.mesh.", mesh},
            {"noc.coalescing.", configured(mesh, {{"noc.coalescing.enabled", "true"}})},
            {"clustering.", agents},
            {"clustering.order", table},
            {"dcl1.", nodes},
            {"dcl1.", decoupled(1, 1, 1400)},
            {"dcl1.", configured(nodes, {{"dcl1.enabled", "false"}})},
            {"dispatch.delayed_launch", configured(plain, {{"dispatch.scheduler", "distributed_block"}})},
            {"noc.arbiter", configured(plain, {{"noc.queueing", "voq"}})},
            {"l2.slice_hash", configured(plain, {{"dram.channels", "3"}, {"l2.slices_per_channel", "2"}})},
            {"l2.lrc.", configured(plain, {{"l2.lrc.enabled", "true"}})},
            {"l2.halves.", configured(plain, {{"l2.halves.enabled", "true"}})},
            {"l2.residency.", configured(plain, {{"l2.residency.enabled", "true"}})},
            {"gpc.", configured(plain, {{"gpc.enabled", "true"}})},
            {"dram.bank_hash_kind", configured(plain, {{"dram.bank_hash", "true"}})},
            {"dram.scheduler", detailed},
            {"dram.controller.", detailed},
            {"sm.sub_cores", configured(v100, {{"sm.sub_cores", "false"}})},
            {"", plain},
            {"", own_path},
            {"", icc},
            {"", mesh},
            {"", v100},
        };
    }();
    return bases;
}

struct VariantMachine {
    const MachineSpec* base = nullptr;  ///< the machine without it
    MachineSpec spec;
};
/// The first base that can have it and becomes another machine by it.
inline VariantMachine machine_with(const Variant& variant) {
    for (const auto& [keys, base] : variant_bases()) {
        if (!variant.key.starts_with(keys)) continue;
        VariantMachine machine{&base, base};
        set_key(machine.spec, variant.key, variant.value);
        if (check(machine.spec).empty() && config_hash(machine.spec) != config_hash(base)) return machine;
    }
    ADD_FAILURE() << "no machine of variant_bases() can have " << variant.key << " = " << variant.value << "; add one that can";
    return {&variant_bases().back().spec, variant_bases().back().spec};
}

/// Two kernels of everything that warps can do.
inline RunResult run_mixed(const MachineSpec& spec, const RunOptions& options = {}) {
    static const std::vector<CtaScript> programs = [] {
        std::vector<CtaScript> list;
        for (std::uint32_t c = 0; c < 6; ++c) list.push_back(random_cta(900 + c, {}));
        return list;
    }();
    ScriptedWorkload workload(programs, 8);
    workload.then(programs, 8);
    return run_on(spec, workload, options);  // which checks all laws
}

}  // namespace mergelane::testing
