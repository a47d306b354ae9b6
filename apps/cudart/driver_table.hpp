// SPDX-License-Identifier: MIT
// All functions of the driver, by name.
#pragma once

#include <cstddef>

namespace mergelane::cudart {

struct DriverFunction {
    const char* name;
    int version;  ///< of CUDA, from which on it is the current form of its function; 0: from the beginning
    void* address;
};
extern const DriverFunction kDriverFunctions[];
extern const std::size_t kDriverFunctionCount;

/// The result of an unsupported function.
int driver_not_supported(const char* function);

}  // namespace mergelane::cudart
