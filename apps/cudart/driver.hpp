// SPDX-License-Identifier: MIT
// The driver API (libcuda) on the same simulated device as the runtime: most of its functions are runtime functions under another name.
// There is one device, and all contexts share it.
#pragma once

#include "api.hpp"
#include "runtime_api.hpp"

namespace mergelane::cudart {

using DevicePointer = unsigned long long;

enum DriverError : int {
    kDriverInvalidContext = 201,
    kDriverPeerAccessUnsupported = 217,
    kDriverNotFound = 500,
};

/// Where the runtime's codes and the driver's differ, the driver's.
int driver_code(int runtime_code);

/// Calls a runtime function for the driver, whose errors cudaGetLastError does not report.
template <class Call>
int driver_call(const Call& call) {
    const Error before = last_error();
    const int code = call();
    last_error() = before;
    return driver_code(code);
}
/// As guarded(), for a driver function.
template <class Body>
int driver_guarded(const Body& body) {
    return driver_call([&] { return guarded(body); });
}

inline void* as_pointer(DevicePointer address) {
    return reinterpret_cast<void*>(address);
}

/// A function of the driver by its name and the version of CUDA that the program was written for; nullptr if there is none.
void* driver_function(const std::string& name, int version, bool per_thread);

/// As CUlaunchConfig.
struct DriverLaunch {
    Dim grid, block;
    unsigned shared;
    void* stream;
    const LaunchAttribute* attributes;
    unsigned attribute_count;

    LaunchConfiguration configuration() const { return {grid, block, shared, stream, attributes, attribute_count}; }
};

struct DriverContext {
    unsigned flags = 0;
};
/// Throws CudaError unless it is nullptr (the current one) or exists.
DriverContext& driver_context(void* handle);
/// The calling thread's context; the primary one if it has none of its own.
DriverContext* current_context();

}  // namespace mergelane::cudart
