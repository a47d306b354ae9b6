// SPDX-License-Identifier: MIT
// Area, storage and energy of a machine for Python, and single lines of a store.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>

#include "config/config.hpp"
#include "costing/energy_of_run.hpp"
#include "module.hpp"
#include "runs/record.hpp"
#include "sim/declared.hpp"

namespace py = pybind11;

namespace mergelane::python {

namespace {

MachineSpec spec_of(const std::string& gpu, const std::vector<std::string>& overrides) {
    return load_config(gpu, overrides, default_preset_dirs()).spec;
}

/// [(structure, square millimetres of all instances)] of what the table models.
std::vector<std::pair<std::string, double>> areas(const std::string& gpu, const std::vector<std::string>& overrides,
                                                  const std::string& table) {
    return prices_of(spec_of(gpu, overrides), load_energy_table(table, default_energy_dirs())).areas_mm2;
}

/// [(structure, bytes of all instances)] of what mechanisms declare.
std::vector<std::pair<std::string, std::uint64_t>> storage(const std::string& gpu, const std::vector<std::string>& overrides) {
    std::vector<std::pair<std::string, std::uint64_t>> list;
    for (const Structure& structure : structures_of(spec_of(gpu, overrides)))
        list.emplace_back(structure.plural, structure.bytes() * structure.instances);
    return list;
}

/// Joules of a run with these statistics.
double energy(const std::string& gpu, const std::vector<std::string>& overrides, const std::string& table,
              const std::map<std::string, std::uint64_t>& counted, std::uint64_t cycles) {
    std::vector<StatValue> stats;
    for (const auto& [name, value] : counted) stats.push_back({name, {}, {}, value, 0});
    return energy_of_run(spec_of(gpu, overrides), load_energy_table(table, default_energy_dirs()), stats, cycles).joules;
}

/// (key, finished, why not, cycles, statistics) of a line of a store; None if it is torn or damaged.
py::object record_of_line(const std::string& line) {
    const auto record = study::from_line(line);
    if (!record) return py::none();
    return py::make_tuple(record->key, record->done, record->message, record->cycles, record->stats);
}

}  // namespace

void add_costing(py::module_& module) {
    module.def("areas", &areas);
    module.def("storage", &storage);
    module.def("energy", &energy);
    module.def("record_of_line", [](const py::bytes& line) { return record_of_line(line); });
}

}  // namespace mergelane::python
