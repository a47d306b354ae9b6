// SPDX-License-Identifier: MIT
// The runtime's error codes.
#pragma once

namespace mergelane::cudart {

enum Error : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kMemoryAllocation = 2,
    kInvalidConfiguration = 9,
    kInvalidPitchValue = 12,
    kInvalidSymbol = 13,
    kInvalidMemcpyDirection = 21,
    kMissingConfiguration = 52,
    kInvalidDeviceFunction = 98,
    kInvalidDevice = 101,
    kNoKernelImageForDevice = 209,
    kInvalidPtx = 218,
    kInvalidResourceHandle = 400,
    kLaunchOutOfResources = 701,
    kLaunchFailure = 719,
    kNotSupported = 801,
    kUnknown = 999
};

/// "cudaErrorInvalidValue"
const char* error_name(int code);
/// "invalid argument"
const char* error_text(int code);

}  // namespace mergelane::cudart
