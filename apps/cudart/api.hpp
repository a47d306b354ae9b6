// SPDX-License-Identifier: MIT
// How the runtime's functions are written: in C, visible, and once more under the names that programs compiled with
// --default-stream per-thread use.
#pragma once

#include "runtime.hpp"

#define MERGELANE_API extern "C" __attribute__((visibility("default")))
/// `name`_`suffix` is the same function: every call is finished when it returns, so streams cannot be told apart.
#define MERGELANE_ALSO(name, suffix) extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) name##_##suffix

namespace mergelane::cudart {

/// Refuses null where a result is to be left.
template <class T>
T& out(T* pointer) {
    if (pointer == nullptr) throw CudaError{kInvalidValue, ""};
    return *pointer;
}

}  // namespace mergelane::cudart
