// SPDX-License-Identifier: MIT
// Machines, their configuration keys, and the names of workloads for Python.
#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/instruction_counts.hpp"
#include "core/text.hpp"
#include "module.hpp"
#include "runs/plan.hpp"
#include "sim/simulation.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/suite/suite.hpp"
#include "workload/synthetic.hpp"

namespace py = pybind11;

namespace mergelane::python {

namespace {

/// As Python sees it: a number, a truth value, a list of numbers or a text.
py::object value_of(const SpecField& field) {
    if (field.kind == SpecField::Kind::integer) return py::int_(*field.integer);
    if (field.kind == SpecField::Kind::boolean) return py::bool_(*field.boolean);
    if (field.kind == SpecField::Kind::integers) return py::cast(*field.integers);
    return py::str(field.value());
}

/// What the key may be: (lowest, highest), a list of choices, or None for a text.
py::object allowed(const SpecField& field) {
    if (field.kind == SpecField::Kind::integer || field.kind == SpecField::Kind::integers) return py::make_tuple(field.min, field.max);
    if (field.kind == SpecField::Kind::choice) return py::cast(field.choices);
    if (field.kind == SpecField::Kind::boolean) return py::cast(std::vector<bool>{false, true});
    return py::none();
}

py::dict machine_of(const std::string& gpu, const std::vector<std::string>& overrides) {
    LoadedConfig config = load_config(gpu, overrides, default_preset_dirs());
    py::dict values;
    for (const SpecField& field : config.spec.fields().list()) values[py::str(field.key)] = py::make_tuple(value_of(field), field.active);
    py::dict totals;
    for (const Derived& one : derived(config.spec)) totals[py::str(one.name)] = py::make_tuple(one.value, one.unit);
    py::dict machine;
    machine["name"] = config.spec.name;
    machine["description"] = config.description;
    machine["source"] = config.source;
    machine["validated"] = config.spec.validated;
    machine["config_hash"] = config_hash(config.spec);
    machine["values"] = values;
    machine["derived"] = totals;
    return machine;
}

/// Of every key: unit, meaning, what it may be, default.
py::dict keys() {
    MachineSpec defaults;
    py::dict all;
    for (const SpecField& field : defaults.fields().list())
        all[py::str(field.key)] = py::make_tuple(field.unit, field.meaning, allowed(field), value_of(field));
    return all;
}

py::list presets() {
    py::list list;
    for (const PresetInfo& preset : list_presets(default_preset_dirs()))
        list.append(py::make_tuple(preset.name, preset.description, preset.path.string()));
    return list;
}

/// The message of an override of it, without the override.
std::string unknown_key(const std::string& key) {
    try {
        load_config("icc60", std::vector{key + "=0"}, default_preset_dirs());
    } catch (const InputError& error) {
        const std::string text = error.what();
        if (const std::size_t at = text.find("unknown key"); at != std::string::npos) return text.substr(at);
    }
    return fmt::format("unknown key '{}'", printable(key, 80));
}

std::string unknown(const std::string& kind, const std::string& word, const std::vector<std::string>& known) {
    return unknown_word(kind, printable(word, 80), std::vector<std::string_view>(known.begin(), known.end()));
}

/// Name, suite, papers, meaning.
py::list workloads() {
    py::list list;
    for (const suite::SuiteWorkload& workload : suite::workloads())
        list.append(py::make_tuple(workload.name, workload.suite, workload.papers, workload.meaning));
    for (const SyntheticKind& kind : synthetic_kinds())
        list.append(py::make_tuple("synthetic:" + std::string(kind.name), "synthetic", "", kind.meaning));
    return list;
}

}  // namespace

void add_machines(py::module_& module) {
    module.def("machine", &machine_of);
    module.def("config_hash", [](const std::string& gpu, const std::vector<std::string>& overrides) {
        return config_hash(load_config(gpu, overrides, default_preset_dirs()).spec);
    });
    module.def("recording_key", [](const std::string& workload, const std::string& size, std::uint64_t seed, const std::string& kernels) {
        return study::recording_key({"", {}, workload, size, seed, kernels});
    });
    module.def("run_key", [](const std::string& hash, const std::string& workload, const std::string& size, std::uint64_t seed,
                             const std::string& kernels, const std::string& recording) {
        return study::run_key(hash, {"", {}, workload, size, seed, kernels}, recording);
    });
    module.def("is_workload_file", [](const std::string& name) { return is_workload_file(name); });
    module.def("keys", &keys);
    module.def("unknown_key", &unknown_key);
    module.def("unknown_word", &unknown);
    module.def("presets", &presets);
    module.def("workloads", &workloads);
    module.def("instruction_counts", [] {
        py::dict meanings;
        for (const InstCountInfo& count : kInstCountInfos) meanings[py::str(count.name.data(), count.name.size())] = count.meaning;
        return meanings;
    });
}

}  // namespace mergelane::python
