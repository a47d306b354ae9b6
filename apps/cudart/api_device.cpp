// SPDX-License-Identifier: MIT
// The device: properties, attributes, versions, errors.
#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "api.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

namespace {

constexpr int kVersion = 13000;
constexpr int kConstantBytes = 65536;
constexpr int kAlignment = 512;

void copy_sizes(int* to, std::initializer_list<int> sizes) {
    std::copy(sizes.begin(), sizes.end(), to);
}

/// The largest textures and surfaces, as of compute capability 8.0; there are no surfaces of cube maps.
void texture_limits(DeviceProp& p) {
    p.maxTexture1D = p.maxTexture1DMipmap = 131072;
    copy_sizes(p.maxTexture2D, {131072, 65536});
    copy_sizes(p.maxTexture2DMipmap, {32768, 32768});
    copy_sizes(p.maxTexture2DLinear, {131072, 65000, 2097120});
    copy_sizes(p.maxTexture2DGather, {32768, 32768});
    copy_sizes(p.maxTexture3D, {16384, 16384, 16384});
    copy_sizes(p.maxTexture3DAlt, {8192, 8192, 32768});
    p.maxTextureCubemap = 32768;
    copy_sizes(p.maxTextureCubemapLayered, {32768, 2046});
    copy_sizes(p.maxTexture1DLayered, {32768, 2048});
    copy_sizes(p.maxTexture2DLayered, {32768, 32768, 2048});
    p.maxSurface1D = 32768;
    copy_sizes(p.maxSurface2D, {131072, 65536});
    copy_sizes(p.maxSurface3D, {16384, 16384, 16384});
    copy_sizes(p.maxSurface1DLayered, {32768, 2048});
    copy_sizes(p.maxSurface2DLayered, {32768, 32768, 2048});
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
    p.persistingL2CacheMaxSize = p.accessPolicyMaxWindowSize = p.l2CacheSize / 4 * 3;  // a hint, without effect
    p.streamPrioritiesSupported = 1;
    p.computePreemptionSupported = 1;
    p.cooperativeLaunch = 1;
    p.memoryPoolsSupported = 1;
    p.clusterLaunch = runtime.compute_capability() >= Runtime::kFirstWithClusters ? 1 : 0;
    texture_limits(p);
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
    MERGELANE_PROPERTY(21, maxTexture1D),
    MERGELANE_PROPERTY(22, maxTexture2D[0]),
    MERGELANE_PROPERTY(23, maxTexture2D[1]),
    MERGELANE_PROPERTY(24, maxTexture3D[0]),
    MERGELANE_PROPERTY(25, maxTexture3D[1]),
    MERGELANE_PROPERTY(26, maxTexture3D[2]),
    MERGELANE_PROPERTY(27, maxTexture2DLayered[0]),
    MERGELANE_PROPERTY(28, maxTexture2DLayered[1]),
    MERGELANE_PROPERTY(29, maxTexture2DLayered[2]),
    MERGELANE_PROPERTY(30, surfaceAlignment),
    MERGELANE_PROPERTY(31, concurrentKernels),
    {36, [](const DeviceProp&, const MachineSpec& spec) { return static_cast<int>(spec.gpu.dram_mhz * 1000); }},
    MERGELANE_PROPERTY(37, memoryBusWidth),
    MERGELANE_PROPERTY(38, l2CacheSize),
    MERGELANE_PROPERTY(39, maxThreadsPerMultiProcessor),
    MERGELANE_PROPERTY(40, asyncEngineCount),
    MERGELANE_PROPERTY(41, unifiedAddressing),
    MERGELANE_PROPERTY(42, maxTexture1DLayered[0]),
    MERGELANE_PROPERTY(43, maxTexture1DLayered[1]),
    MERGELANE_PROPERTY(45, maxTexture2DGather[0]),
    MERGELANE_PROPERTY(46, maxTexture2DGather[1]),
    MERGELANE_PROPERTY(47, maxTexture3DAlt[0]),
    MERGELANE_PROPERTY(48, maxTexture3DAlt[1]),
    MERGELANE_PROPERTY(49, maxTexture3DAlt[2]),
    MERGELANE_PROPERTY(51, texturePitchAlignment),
    MERGELANE_PROPERTY(52, maxTextureCubemap),
    MERGELANE_PROPERTY(53, maxTextureCubemapLayered[0]),
    MERGELANE_PROPERTY(54, maxTextureCubemapLayered[1]),
    MERGELANE_PROPERTY(55, maxSurface1D),
    MERGELANE_PROPERTY(56, maxSurface2D[0]),
    MERGELANE_PROPERTY(57, maxSurface2D[1]),
    MERGELANE_PROPERTY(58, maxSurface3D[0]),
    MERGELANE_PROPERTY(59, maxSurface3D[1]),
    MERGELANE_PROPERTY(60, maxSurface3D[2]),
    MERGELANE_PROPERTY(61, maxSurface1DLayered[0]),
    MERGELANE_PROPERTY(62, maxSurface1DLayered[1]),
    MERGELANE_PROPERTY(63, maxSurface2DLayered[0]),
    MERGELANE_PROPERTY(64, maxSurface2DLayered[1]),
    MERGELANE_PROPERTY(65, maxSurface2DLayered[2]),
    {69, [](const DeviceProp&, const MachineSpec&) { return 1 << 28; }},  // elements of linear memory
    MERGELANE_PROPERTY(70, maxTexture2DLinear[0]),
    MERGELANE_PROPERTY(71, maxTexture2DLinear[1]),
    MERGELANE_PROPERTY(72, maxTexture2DLinear[2]),
    MERGELANE_PROPERTY(73, maxTexture2DMipmap[0]),
    MERGELANE_PROPERTY(74, maxTexture2DMipmap[1]),
    MERGELANE_PROPERTY(75, major),
    MERGELANE_PROPERTY(76, minor),
    MERGELANE_PROPERTY(77, maxTexture1DMipmap),
    MERGELANE_PROPERTY(78, streamPrioritiesSupported),
    MERGELANE_PROPERTY(79, globalL1CacheSupported),
    MERGELANE_PROPERTY(80, localL1CacheSupported),
    MERGELANE_PROPERTY(81, sharedMemPerMultiprocessor),
    MERGELANE_PROPERTY(82, regsPerMultiprocessor),
    MERGELANE_PROPERTY(83, managedMemory),
    {87, [](const DeviceProp&, const MachineSpec&) { return 32; }},
    MERGELANE_PROPERTY(89, concurrentManagedAccess),
    MERGELANE_PROPERTY(90, computePreemptionSupported),
    MERGELANE_PROPERTY(91, canUseHostPointerForRegisteredMem),
    MERGELANE_PROPERTY(95, cooperativeLaunch),
    MERGELANE_PROPERTY(97, sharedMemPerBlockOptin),
    MERGELANE_PROPERTY(99, hostRegisterSupported),
    MERGELANE_PROPERTY(106, maxBlocksPerMultiProcessor),
    MERGELANE_PROPERTY(108, persistingL2CacheMaxSize),
    MERGELANE_PROPERTY(109, accessPolicyMaxWindowSize),
    MERGELANE_PROPERTY(115, memoryPoolsSupported),
    MERGELANE_PROPERTY(120, clusterLaunch),
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
MERGELANE_API int cudaDeviceSetLimit(int limit, std::size_t value) {
    return guarded([&](Runtime& runtime) {
        if (limit < 0 || limit >= static_cast<int>(std::size(runtime.limits))) throw CudaError{kUnsupportedLimit, ""};
        if (limit == Runtime::kHeapLimit) runtime.memory().heap().set_bytes(value);
        runtime.limits[limit] = value;
    });
}
MERGELANE_API int cudaDeviceGetLimit(std::size_t* value, int limit) {
    return guarded([&](Runtime& runtime) {
        if (limit < 0 || limit >= static_cast<int>(std::size(runtime.limits))) throw CudaError{kUnsupportedLimit, ""};
        out(value) = limit == Runtime::kHeapLimit ? runtime.memory().heap().bytes() : runtime.limits[limit];
    });
}
MERGELANE_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = Runtime::kGreatestPriority;
    return kSuccess;
}
MERGELANE_API int cudaDeviceCanAccessPeer(int* can, int, int) {
    return guarded([&](Runtime&) { out(can) = 0; });
}
MERGELANE_API int cudaRuntimeGetVersion(int* version) {
    return guarded([&](Runtime&) { out(version) = kVersion; });
}
MERGELANE_SAME(cudaRuntimeGetVersion, cudaDriverGetVersion);
MERGELANE_API int cudaCtxResetPersistingL2Cache() {
    return kSuccess;
}
MERGELANE_API int cudaDeviceGetPCIBusId(char* name, int length, int device) {
    return guarded([&](Runtime&) {
        only_device(device);
        constexpr std::string_view kName = "0000:00:00.0";
        if (length <= static_cast<int>(kName.size())) throw CudaError{kInvalidValue, ""};
        out(name);
        std::copy(kName.begin(), kName.end(), name);
        name[kName.size()] = 0;
    });
}
MERGELANE_API int cudaDeviceGetByPCIBusId(int* device, const char*) {
    return guarded([&](Runtime&) { out(device) = 0; });
}
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
