// SPDX-License-Identifier: MIT
// Machines, their configuration keys, and the names of workloads for Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "config/config.hpp"
#include "module.hpp"
#include "sim/simulation.hpp"
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
    module.def("keys", &keys);
    module.def("presets", &presets);
    module.def("workloads", &workloads);
}

}  // namespace mergelane::python
