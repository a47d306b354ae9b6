// SPDX-License-Identifier: MIT
// The exceptions of the libraries in Python, with the text that the command prints.
#include "core/error.hpp"

#include "module.hpp"

namespace py = pybind11;

namespace mergelane::python {

void add_errors(py::module_& module) {
    // An input that is wrong is a ValueError, too; a simulation that cannot go on is none.
    py::register_exception<InputError>(module, "InputError", PyExc_ValueError);
    py::register_exception<SimulationError>(module, "SimulationError", PyExc_RuntimeError);
}

}  // namespace mergelane::python
