// SPDX-License-Identifier: MIT
// NVRTC compiles without a GPU, so programs use NVIDIA's. But many ask for machine code, which cannot be executed here: they get the PTX
// from which it was made, and load that. `mergelane cuda` has this library loaded before NVRTC.
#include <dlfcn.h>

#include "api.hpp"

namespace {

using NvrtcSize = int (*)(void* program, std::size_t* bytes);
using NvrtcCode = int (*)(void* program, char* code);
constexpr int kNvrtcInternalError = 11;

/// The function of that name in the library after this one.
template <class Function>
Function nvrtc(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

/// There is no machine code if the program was compiled for a virtual architecture.
MERGELANE_API int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
    const auto theirs = nvrtc<NvrtcSize>("nvrtcGetCUBINSize");
    const auto ptx = nvrtc<NvrtcSize>("nvrtcGetPTXSize");
    if (theirs == nullptr || ptx == nullptr) return kNvrtcInternalError;
    const int status = theirs(program, bytes);
    return status != 0 || *bytes == 0 ? status : ptx(program, bytes);
}
MERGELANE_API int nvrtcGetCUBIN(void* program, char* code) {
    const auto ptx = nvrtc<NvrtcCode>("nvrtcGetPTX");
    return ptx == nullptr ? kNvrtcInternalError : ptx(program, code);
}
