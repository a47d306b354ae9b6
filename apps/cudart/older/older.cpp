// SPDX-License-Identifier: MIT
// What programs built with CUDA 11 and 12 expect of functions that CUDA 13 has changed. Each has the version of their library
// (libcudart.map); all other functions are the same for all versions.
#include <cstring>

#include "../abi.hpp"
#include "../api.hpp"

namespace mergelane::cudart {

namespace {

/// cudaDeviceProp of CUDA 12; that of CUDA 11 ends before hostRegisterSupported.
struct OlderProp {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    std::size_t totalGlobalMem;
    std::size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    std::size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    std::size_t totalConstMem;
    int major;
    int minor;
    std::size_t textureAlignment;
    std::size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture1DLinear;
    int textures[37];
    std::size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    std::size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    std::size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    std::size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int others[12];
    int reserved[63];
};
constexpr std::size_t kBytes11 = offsetof(OlderProp, hostRegisterSupported);
constexpr std::size_t kBytes12 = sizeof(OlderProp);
static_assert(kBytes11 == 728 && kBytes12 == 1032);

/// Copies what lies from member `first` up to and including `last`, in both.
#define MERGELANE_COPY(first, last)                                                                                                    \
    static_assert(offsetof(OlderProp, last) - offsetof(OlderProp, first) == offsetof(DeviceProp, last) - offsetof(DeviceProp, first)); \
    std::memcpy(reinterpret_cast<char*>(&to) + offsetof(OlderProp, first),                                                             \
                reinterpret_cast<const char*>(&from) + offsetof(DeviceProp, first),                                                    \
                offsetof(OlderProp, last) - offsetof(OlderProp, first) + sizeof(OlderProp::last))

OlderProp converted(const DeviceProp& from) {
    OlderProp to{};
    MERGELANE_COPY(name, maxGridSize);
    MERGELANE_COPY(totalConstMem, texturePitchAlignment);
    MERGELANE_COPY(multiProcessorCount, multiProcessorCount);
    MERGELANE_COPY(integrated, canMapHostMemory);
    MERGELANE_COPY(surfaceAlignment, unifiedAddressing);
    MERGELANE_COPY(memoryBusWidth, localL1CacheSupported);
    MERGELANE_COPY(sharedMemPerMultiprocessor, hostNativeAtomicSupported);
    MERGELANE_COPY(pageableMemoryAccess, cooperativeLaunch);
    MERGELANE_COPY(sharedMemPerBlockOptin, reservedSharedMemPerBlock);
    MERGELANE_COPY(hostRegisterSupported, hostRegisterSupported);
    // Limits of textures, in one of which the width of linear ones is missing today.
    const char* const textures = reinterpret_cast<const char*>(&from.canMapHostMemory) + sizeof from.canMapHostMemory;
    std::memcpy(&to.maxTexture1D, textures, 2 * sizeof(int));
    std::memcpy(to.textures, textures + 2 * sizeof(int), sizeof to.textures);
    std::memcpy(to.others, reinterpret_cast<const char*>(&from.hostRegisterSupported) + sizeof(int), sizeof to.others);
    to.maxTexture1DLinear = to.maxTexture1D;
    to.deviceOverlap = from.asyncEngineCount > 0;
    to.singleToDoublePrecisionPerfRatio = 2;
    return to;
}
#undef MERGELANE_COPY

}  // namespace

}  // namespace mergelane::cudart

using namespace mergelane;
using namespace mergelane::cudart;

extern "C" {
int cudaGetDeviceProperties(DeviceProp* result, int device);
int cudaDeviceGetAttribute(int* value, int attribute, int device);
int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer);
int cudaFuncGetAttributes(FuncAttributes* attributes, const void* function);
int cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, std::uint64_t place, unsigned flags, void* stream);
int cudaMemAdvise(const void* pointer, std::size_t bytes, int advice, std::uint64_t place);
int cudaEventElapsedTime(float* milliseconds, void* from, void* to);
int cudaStreamIsCapturing(void* stream, int* status);
int cudaDeviceSynchronize();
int cudaDeviceReset();
}

namespace {

int older_properties(void* result, int device, std::size_t bytes) {
    DeviceProp current;
    const int code = cudaGetDeviceProperties(&current, device);
    if (code != kSuccess) return code;
    if (result == nullptr) return remember(kInvalidValue);
    OlderProp older = converted(current);
    cudaDeviceGetAttribute(&older.clockRate, 13, device);
    cudaDeviceGetAttribute(&older.memoryClockRate, 36, device);
    std::memcpy(result, &older, bytes);
    return kSuccess;
}

}  // namespace

// NAME@VERSION is NAME_OLDER.
#define MERGELANE_VERSION_11(name) __asm__(".symver " #name "_11," #name "@libcudart.so.11.0")
#define MERGELANE_VERSION_12(name) __asm__(".symver " #name "_12," #name "@libcudart.so.12")

MERGELANE_API int cudaGetDeviceProperties_11(void* result, int device) {
    return older_properties(result, device, kBytes11);
}
MERGELANE_VERSION_11(cudaGetDeviceProperties);
MERGELANE_SAME(cudaGetDeviceProperties_11, cudaGetDeviceProperties_12);
MERGELANE_VERSION_12(cudaGetDeviceProperties);
MERGELANE_API int cudaGetDeviceProperties_v2(void* result, int device) {
    return older_properties(result, device, kBytes12);
}

MERGELANE_API int cudaPointerGetAttributes_11(void* attributes, const void* pointer) {
    PointerAttributes current;
    const int code = cudaPointerGetAttributes(&current, pointer);
    if (code != kSuccess) return code;
    if (attributes == nullptr) return remember(kInvalidValue);
    std::memcpy(attributes, &current, offsetof(PointerAttributes, reserved));
    return kSuccess;
}
MERGELANE_VERSION_11(cudaPointerGetAttributes);
MERGELANE_SAME(cudaPointerGetAttributes_11, cudaPointerGetAttributes_12);
MERGELANE_VERSION_12(cudaPointerGetAttributes);

MERGELANE_API int cudaFuncGetAttributes_11(void* attributes, const void* function) {
    FuncAttributes current;
    const int code = cudaFuncGetAttributes(&current, function);
    if (code != kSuccess) return code;
    if (attributes == nullptr) return remember(kInvalidValue);
    std::memcpy(attributes, &current, offsetof(FuncAttributes, preferredShmemCarveout) + sizeof current.preferredShmemCarveout);
    return kSuccess;
}
MERGELANE_VERSION_11(cudaFuncGetAttributes);
MERGELANE_API int cudaFuncGetAttributes_12(FuncAttributes* attributes, const void* function) {
    return cudaFuncGetAttributes(attributes, function);
}
MERGELANE_VERSION_12(cudaFuncGetAttributes);

MERGELANE_API int cudaMemPrefetchAsync_11(const void* pointer, std::size_t bytes, int, void* stream) {
    return cudaMemPrefetchAsync(pointer, bytes, 0, 0, stream);
}
MERGELANE_VERSION_11(cudaMemPrefetchAsync);
MERGELANE_SAME(cudaMemPrefetchAsync_11, cudaMemPrefetchAsync_12);
MERGELANE_VERSION_12(cudaMemPrefetchAsync);
MERGELANE_SAME(cudaMemPrefetchAsync_11, cudaMemPrefetchAsync_ptsz_11);
MERGELANE_VERSION_11(cudaMemPrefetchAsync_ptsz);
MERGELANE_SAME(cudaMemPrefetchAsync_11, cudaMemPrefetchAsync_ptsz_12);
MERGELANE_VERSION_12(cudaMemPrefetchAsync_ptsz);

// Names that CUDA 13 no longer has.
MERGELANE_API int cudaMemPrefetchAsync_v2(const void* pointer, std::size_t bytes, std::uint64_t place, unsigned flags, void* stream) {
    return cudaMemPrefetchAsync(pointer, bytes, place, flags, stream);
}
MERGELANE_ALSO(cudaMemPrefetchAsync_v2, ptsz);
MERGELANE_API int cudaMemAdvise_v2(const void* pointer, std::size_t bytes, int advice, std::uint64_t place) {
    return cudaMemAdvise(pointer, bytes, advice, place);
}
MERGELANE_API int cudaEventElapsedTime_v2(float* milliseconds, void* from, void* to) {
    return cudaEventElapsedTime(milliseconds, from, to);
}
MERGELANE_API int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id) {
    if (id != nullptr) *id = 0;
    return cudaStreamIsCapturing(stream, status);
}
MERGELANE_ALSO(cudaStreamGetCaptureInfo_v2, ptsz);
MERGELANE_API int cudaThreadSynchronize() {
    return cudaDeviceSynchronize();
}
MERGELANE_API int cudaThreadExit() {
    return cudaDeviceReset();
}
// Texture and surface references are registered when a program starts. Kernels that use them are refused.
MERGELANE_API void __cudaRegisterTexture(void**, const void*, const void**, const char*, int, int, int) {}
MERGELANE_API void __cudaRegisterSurface(void**, const void*, const void**, const char*, int, int) {}
