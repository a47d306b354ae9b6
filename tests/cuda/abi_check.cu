// SPDX-License-Identifier: MIT
// The replacement's own structures are those of the toolkit's headers. Compiling this is the test.
#include <cstddef>
#include <cstdint>

#include "abi.hpp"

using namespace mergelane::cudart;

#define SAME(theirs, ours, member) \
    static_assert(offsetof(theirs, member) == offsetof(ours, member) && sizeof(theirs::member) == sizeof(ours::member), #member)
#define PROPERTY(member) SAME(cudaDeviceProp, DeviceProp, member)
#define ATTRIBUTE(member) SAME(cudaFuncAttributes, FuncAttributes, member)

static_assert(sizeof(cudaDeviceProp) == sizeof(DeviceProp));
PROPERTY(name);
PROPERTY(uuid);
PROPERTY(totalGlobalMem);
PROPERTY(sharedMemPerBlock);
PROPERTY(regsPerBlock);
PROPERTY(warpSize);
PROPERTY(memPitch);
PROPERTY(maxThreadsPerBlock);
PROPERTY(maxThreadsDim);
PROPERTY(maxGridSize);
PROPERTY(totalConstMem);
PROPERTY(major);
PROPERTY(minor);
PROPERTY(textureAlignment);
PROPERTY(texturePitchAlignment);
PROPERTY(multiProcessorCount);
PROPERTY(integrated);
PROPERTY(canMapHostMemory);
PROPERTY(surfaceAlignment);
PROPERTY(concurrentKernels);
PROPERTY(asyncEngineCount);
PROPERTY(unifiedAddressing);
PROPERTY(memoryBusWidth);
PROPERTY(l2CacheSize);
PROPERTY(maxThreadsPerMultiProcessor);
PROPERTY(globalL1CacheSupported);
PROPERTY(localL1CacheSupported);
PROPERTY(sharedMemPerMultiprocessor);
PROPERTY(regsPerMultiprocessor);
PROPERTY(managedMemory);
PROPERTY(concurrentManagedAccess);
PROPERTY(canUseHostPointerForRegisteredMem);
PROPERTY(cooperativeLaunch);
PROPERTY(sharedMemPerBlockOptin);
PROPERTY(maxBlocksPerMultiProcessor);
PROPERTY(reservedSharedMemPerBlock);
PROPERTY(hostRegisterSupported);
PROPERTY(reserved);
static_assert(sizeof(cudaFuncAttributes) == sizeof(FuncAttributes));
ATTRIBUTE(sharedSizeBytes);
ATTRIBUTE(constSizeBytes);
ATTRIBUTE(localSizeBytes);
ATTRIBUTE(maxThreadsPerBlock);
ATTRIBUTE(numRegs);
ATTRIBUTE(ptxVersion);
ATTRIBUTE(binaryVersion);
ATTRIBUTE(maxDynamicSharedSizeBytes);
ATTRIBUTE(preferredShmemCarveout);
ATTRIBUTE(reserved);
static_assert(sizeof(cudaPointerAttributes) == sizeof(PointerAttributes));
SAME(cudaPointerAttributes, PointerAttributes, type);
SAME(cudaPointerAttributes, PointerAttributes, device);
SAME(cudaPointerAttributes, PointerAttributes, devicePointer);
SAME(cudaPointerAttributes, PointerAttributes, hostPointer);
static_assert(sizeof(cudaLaunchConfig_t) == sizeof(LaunchConfiguration));
static_assert(offsetof(cudaLaunchConfig_t, dynamicSmemBytes) == offsetof(LaunchConfiguration, dynamic_shared));
static_assert(offsetof(cudaLaunchConfig_t, attrs) == offsetof(LaunchConfiguration, attributes));
static_assert(offsetof(cudaLaunchConfig_t, numAttrs) == offsetof(LaunchConfiguration, attribute_count));
static_assert(sizeof(cudaLaunchAttribute) == sizeof(LaunchAttribute));
static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(LaunchAttribute, value));
static_assert(cudaLaunchAttributeClusterDimension == kClusterDimension && cudaLaunchAttributeCooperative == kCooperative);
static_assert(sizeof(cudaMemLocation) == sizeof(std::uint64_t));

int main() {}
