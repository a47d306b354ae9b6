// SPDX-License-Identifier: MIT
// A workload made in Python: an object whose attribute `_core_workload` is one of these is accepted wherever a workload is.
#pragma once

#include <memory>

#include "core/kernel.hpp"

namespace mergelane::python {

class PythonWorkload {
public:
    virtual ~PythonWorkload() = default;
    /// For one simulation; several may be open at once. Called without the GIL.
    virtual std::unique_ptr<Workload> open() const = 0;
};

}  // namespace mergelane::python
