// SPDX-License-Identifier: MIT
#include "module.hpp"

#include "sim/simulation.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "The simulator; use the package mergelane, whose functions call this.";
    module.attr("version") = mergelane::version();
    mergelane::python::add_errors(module);
    mergelane::python::add_kernels(module);
}
