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
    kInvalidChannelDescriptor = 20,
    kInvalidMemcpyDirection = 21,
    kInvalidFilterSetting = 26,
    kInvalidNormSetting = 27,
    kMissingConfiguration = 52,
    kInvalidDeviceFunction = 98,
    kInvalidDevice = 101,
    kNoKernelImageForDevice = 209,
    kUnsupportedLimit = 215,
    kInvalidPtx = 218,
    kInvalidResourceHandle = 400,
    kIllegalState = 401,
    kLaunchOutOfResources = 701,
    kAssert = 710,
    kLaunchFailure = 719,
    kCooperativeLaunchTooLarge = 720,
    kNotPermitted = 800,
    kNotSupported = 801,
    kStreamCaptureUnsupported = 900,
    kStreamCaptureMerge = 902,
    kStreamCaptureUnmatched = 903,
    kStreamCaptureUnjoined = 904,
    kGraphExecUpdateFailure = 910,
    kInvalidClusterSize = 912,
    kUnknown = 999
};

/// "cudaErrorInvalidValue"
const char* error_name(int code);
/// "invalid argument"
const char* error_text(int code);

}  // namespace mergelane::cudart
