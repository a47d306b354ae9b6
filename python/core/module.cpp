// SPDX-License-Identifier: MIT
#include "module.hpp"

#include "core/model_version.hpp"
#include "sim/simulation.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "The simulator; use the package mergelane, whose functions call this.";
    module.attr("version") = mergelane::version();
    module.attr("model") = mergelane::kModelVersion;
    mergelane::python::add_costing(module);
    mergelane::python::add_errors(module);
    mergelane::python::add_reading(module);
    mergelane::python::add_result(module);
    mergelane::python::add_running(module);
    mergelane::python::add_machines(module);
    mergelane::python::add_kernels(module);
}
