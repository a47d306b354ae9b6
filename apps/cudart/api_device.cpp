// SPDX-License-Identifier: MIT
// The device: properties, attributes, versions, errors.
#include <algorithm>

#include "api.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

namespace {

constexpr int kVersion = 13000;
constexpr int kConstantBytes = 65536;
constexpr int kAlignment = 512;

void only_device(int device) {
    if (device != 0) throw CudaError{kInvalidDevice, ""};
}

DeviceProp properties(const Runtime& runtime) {
    const MachineSpec& spec = runtime.spec();
    DeviceProp p{};
    const std::string name = "Mergelane " + spec.name;
    name.copy(p.name, sizeof p.name - 1);
    const int shared = static_cast<int>(spec.sm.shared_kib * 1024);
    p.totalGlobalMem = Runtime::kDeviceBytes;
    p.sharedMemPerBlock = static_cast<std::size_t>(std::min<int>(shared, Runtime::kUsualShared));
    p.regsPerBlock = static_cast<int>(spec.sm.registers);
    p.warpSize = static_cast<int>(kWarpLanes);
    p.memPitch = 0x7FFFFFFF;
    p.maxThreadsPerBlock = 1024;
    p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7FFFFFFF;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.totalConstMem = kConstantBytes;
    p.major = static_cast<int>(runtime.compute_capability() / 10);
    p.minor = static_cast<int>(runtime.compute_capability() % 10);
    p.textureAlignment = p.texturePitchAlignment = p.surfaceAlignment = kAlignment;
    p.multiProcessorCount = static_cast<int>(spec.sms());
    p.canMapHostMemory = 1;
    p.concurrentKernels = 1;
    p.asyncEngineCount = 1;
    p.unifiedAddressing = 1;
    p.memoryBusWidth = static_cast<int>(spec.gpu.groups * spec.dram.channels * spec.dram.bus_bytes * 8);
    p.l2CacheSize = static_cast<int>(spec.gpu.groups * spec.slices() * spec.l2.size_kib * 1024);
    p.maxThreadsPerMultiProcessor = static_cast<int>(spec.sm.warps * kWarpLanes);
    p.globalL1CacheSupported = p.localL1CacheSupported = spec.l1.enabled ? 1 : 0;
    p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin = static_cast<std::size_t>(shared);
    p.regsPerMultiprocessor = static_cast<int>(spec.sm.registers);
    p.managedMemory = 1;
    p.concurrentManagedAccess = 1;
    p.canUseHostPointerForRegisteredMem = 1;
    p.maxBlocksPerMultiProcessor = static_cast<int>(spec.sm.cta_slots);
    p.hostRegisterSupported = 1;
    return p;
}

struct AttributeRow {
    int attribute;
    int (*value)(const DeviceProp&, const MachineSpec&);
};
#define MERGELANE_PROPERTY(number, member)                                                         \
    {                                                                                              \
        number, [](const DeviceProp& p, const MachineSpec&) { return static_cast<int>(p.member); } \
    }
/// Attributes that are not 0.
constexpr AttributeRow kAttributes[] = {
    MERGELANE_PROPERTY(1, maxThreadsPerBlock),
    MERGELANE_PROPERTY(2, maxThreadsDim[0]),
    MERGELANE_PROPERTY(3, maxThreadsDim[1]),
    MERGELANE_PROPERTY(4, maxThreadsDim[2]),
    MERGELANE_PROPERTY(5, maxGridSize[0]),
    MERGELANE_PROPERTY(6, maxGridSize[1]),
    MERGELANE_PROPERTY(7, maxGridSize[2]),
    MERGELANE_PROPERTY(8, sharedMemPerBlock),
    MERGELANE_PROPERTY(9, totalConstMem),
    MERGELANE_PROPERTY(10, warpSize),
    MERGELANE_PROPERTY(11, memPitch),
    MERGELANE_PROPERTY(12, regsPerBlock),
    {13, [](const DeviceProp&, const MachineSpec& spec) { return static_cast<int>(spec.gpu.core_mhz * 1000); }},
    MERGELANE_PROPERTY(14, textureAlignment),
    MERGELANE_PROPERTY(15, asyncEngineCount),
    MERGELANE_PROPERTY(16, multiProcessorCount),
    MERGELANE_PROPERTY(19, canMapHostMemory),
    MERGELANE_PROPERTY(30, surfaceAlignment),
    MERGELANE_PROPERTY(31, concurrentKernels),
    {36, [](const DeviceProp&, const MachineSpec& spec) { return static_cast<int>(spec.gpu.dram_mhz * 1000); }},
    MERGELANE_PROPERTY(37, memoryBusWidth),
    MERGELANE_PROPERTY(38, l2CacheSize),
    MERGELANE_PROPERTY(39, maxThreadsPerMultiProcessor),
    MERGELANE_PROPERTY(40, asyncEngineCount),
    MERGELANE_PROPERTY(41, unifiedAddressing),
    MERGELANE_PROPERTY(51, texturePitchAlignment),
    MERGELANE_PROPERTY(75, major),
    MERGELANE_PROPERTY(76, minor),
    MERGELANE_PROPERTY(79, globalL1CacheSupported),
    MERGELANE_PROPERTY(80, localL1CacheSupported),
    MERGELANE_PROPERTY(81, sharedMemPerMultiprocessor),
    MERGELANE_PROPERTY(82, regsPerMultiprocessor),
    MERGELANE_PROPERTY(83, managedMemory),
    {87, [](const DeviceProp&, const MachineSpec&) { return 32; }},
    MERGELANE_PROPERTY(89, concurrentManagedAccess),
    MERGELANE_PROPERTY(91, canUseHostPointerForRegisteredMem),
    MERGELANE_PROPERTY(97, sharedMemPerBlockOptin),
    MERGELANE_PROPERTY(99, hostRegisterSupported),
    MERGELANE_PROPERTY(106, maxBlocksPerMultiProcessor),
};
#undef MERGELANE_PROPERTY

}  // namespace

MERGELANE_API int cudaGetDeviceCount(int* count) {
    return guarded([&](Runtime&) { out(count) = 1; });
}
MERGELANE_API int cudaGetDevice(int* device) {
    return guarded([&](Runtime&) { out(device) = 0; });
}
MERGELANE_API int cudaSetDevice(int device) {
    return guarded([&](Runtime&) { only_device(device); });
}
MERGELANE_API int cudaInitDevice(int device, unsigned, unsigned) {
    return cudaSetDevice(device);
}
MERGELANE_API int cudaChooseDevice(int* device, const DeviceProp*) {
    return cudaGetDevice(device);
}
MERGELANE_API int cudaSetDeviceFlags(unsigned) {
    return kSuccess;
}
MERGELANE_API int cudaGetDeviceFlags(unsigned* flags) {
    return guarded([&](Runtime&) { out(flags) = 0; });
}
MERGELANE_API int cudaGetDeviceProperties(DeviceProp* result, int device) {
    return guarded([&](Runtime& runtime) {
        only_device(device);
        out(result) = properties(runtime);
    });
}
MERGELANE_API int cudaDeviceGetAttribute(int* value, int attribute, int device) {
    return guarded([&](Runtime& runtime) {
        only_device(device);
        if (attribute <= 0) throw CudaError{kInvalidValue, ""};
        out(value) = 0;
        const DeviceProp known = properties(runtime);
        for (const AttributeRow& row : kAttributes) {
            if (row.attribute == attribute) *value = row.value(known, runtime.spec());
        }
    });
}
MERGELANE_API int cudaDeviceSynchronize() {
    return guarded([](Runtime&) {});
}
MERGELANE_SAME(cudaDeviceSynchronize, cudaDeviceReset);
MERGELANE_API int cudaDeviceSetCacheConfig(int) {
    return kSuccess;
}
MERGELANE_SAME(cudaDeviceSetCacheConfig, cudaDeviceSetSharedMemConfig);
MERGELANE_API int cudaDeviceGetCacheConfig(int* config) {
    return guarded([&](Runtime&) { out(config) = 0; });
}
MERGELANE_API int cudaDeviceSetLimit(int, std::size_t) {
    return kSuccess;
}
MERGELANE_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = 0;
    return kSuccess;
}
MERGELANE_API int cudaDeviceCanAccessPeer(int* can, int, int) {
    return guarded([&](Runtime&) { out(can) = 0; });
}
MERGELANE_API int cudaRuntimeGetVersion(int* version) {
    return guarded([&](Runtime&) { out(version) = kVersion; });
}
MERGELANE_SAME(cudaRuntimeGetVersion, cudaDriverGetVersion);
MERGELANE_API int cudaProfilerStart() {
    return kSuccess;
}
MERGELANE_SAME(cudaProfilerStart, cudaProfilerStop);

MERGELANE_API int cudaPeekAtLastError() {
    if (last_error() != kSuccess) Runtime::get().set_unseen_failure(false);
    return last_error();
}
MERGELANE_API int cudaGetLastError() {
    const int error = cudaPeekAtLastError();
    last_error() = kSuccess;
    return error;
}
MERGELANE_API const char* cudaGetErrorName(int error) {
    return error_name(error);
}
MERGELANE_API const char* cudaGetErrorString(int error) {
    return error_text(error);
}
