// SPDX-License-Identifier: MIT
// How the runtime functions are defined: as exported C functions, and again under the names that programs compiled with --default-stream
// per-thread use.
#pragma once

#include "runtime.hpp"

#define MERGELANE_API extern "C" __attribute__((visibility("default")))
/// `other` is the same function as `name`.
#define MERGELANE_SAME(name, other) extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) other
/// `name`_`suffix` is the same function: every call is synchronous, so streams are indistinguishable.
#define MERGELANE_ALSO(name, suffix) MERGELANE_SAME(name, name##_##suffix)

namespace mergelane::cudart {

/// Rejects a null pointer for a result.
template <class T>
T& out(T* pointer) {
    if (pointer == nullptr) throw CudaError{kInvalidValue, ""};
    return *pointer;
}

/// There is one device.
inline void only_device(int device) {
    if (device != 0) throw CudaError{kInvalidDevice, ""};
}

/// As guarded(), for a function that concerns a stream, which must exist.
template <class Body>
int guarded_on(void* stream, const Body& body) {
    return guarded([&](Runtime& runtime) {
        runtime.stream(stream);
        body(runtime);
    });
}

}  // namespace mergelane::cudart
