// SPDX-License-Identifier: MIT
// The parts of the extension module `_core`. Its interface serves the package's own .py files, which users see.
#pragma once

#include <pybind11/pybind11.h>

namespace mergelane::python {

void add_costing(pybind11::module_& module);
void add_errors(pybind11::module_& module);
void add_reading(pybind11::module_& module);
void add_result(pybind11::module_& module);
void add_running(pybind11::module_& module);
void add_machines(pybind11::module_& module);
void add_kernels(pybind11::module_& module);

}  // namespace mergelane::python
