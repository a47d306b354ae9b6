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
ATTRIBUTE(clusterDimMustBeSet);
ATTRIBUTE(requiredClusterDepth);
ATTRIBUTE(clusterSchedulingPolicyPreference);
ATTRIBUTE(nonPortableClusterSizeAllowed);
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

PROPERTY(maxTexture1D);
PROPERTY(maxTexture2DLinear);
PROPERTY(maxTexture3DAlt);
PROPERTY(maxTexture2DLayered);
PROPERTY(maxSurface2D);
PROPERTY(maxSurfaceCubemapLayered);
PROPERTY(streamPrioritiesSupported);
PROPERTY(computePreemptionSupported);
PROPERTY(memoryPoolsSupported);
PROPERTY(clusterLaunch);

/// Two structures of one size whose members, given in pairs, are at the same places.
#define SIZE(theirs, ours) static_assert(sizeof(theirs) == sizeof(ours), #theirs)
#define PLACE(theirs, their_member, ours, our_member) \
    static_assert(offsetof(theirs, their_member) == offsetof(ours, our_member), #theirs " " #their_member)
SIZE(cudaExtent, Extent);
SIZE(cudaPos, Position);
SIZE(cudaPitchedPtr, PitchedPointer);
SIZE(cudaChannelFormatDesc, ChannelDescription);
SIZE(cudaMemcpy3DParms, Copy3D);
PLACE(cudaMemcpy3DParms, srcPos, Copy3D, from_position);
PLACE(cudaMemcpy3DParms, srcPtr, Copy3D, from);
PLACE(cudaMemcpy3DParms, dstArray, Copy3D, to_array);
PLACE(cudaMemcpy3DParms, dstPtr, Copy3D, to);
PLACE(cudaMemcpy3DParms, extent, Copy3D, extent);
PLACE(cudaMemcpy3DParms, kind, Copy3D, direction);
SIZE(cudaMemsetParams, Fill);
PLACE(cudaMemsetParams, value, Fill, value);
PLACE(cudaMemsetParams, elementSize, Fill, element_bytes);
PLACE(cudaMemsetParams, width, Fill, width);
SIZE(cudaResourceDesc, ResourceDescription);
PLACE(cudaResourceDesc, res.linear.desc, ResourceDescription, linear.channels);
PLACE(cudaResourceDesc, res.linear.sizeInBytes, ResourceDescription, linear.bytes);
PLACE(cudaResourceDesc, res.pitch2D.width, ResourceDescription, pitched.width);
PLACE(cudaResourceDesc, res.pitch2D.pitchInBytes, ResourceDescription, pitched.pitch);
PLACE(cudaResourceDesc, flags, ResourceDescription, flags);
SIZE(cudaTextureDesc, TextureDescription);
PLACE(cudaTextureDesc, filterMode, TextureDescription, filter);
PLACE(cudaTextureDesc, readMode, TextureDescription, read);
PLACE(cudaTextureDesc, borderColor, TextureDescription, border);
PLACE(cudaTextureDesc, normalizedCoords, TextureDescription, normalized);
SIZE(cudaMemPoolProps, PoolProperties);
PLACE(cudaMemPoolProps, location, PoolProperties, location_type);
SIZE(cudaKernelNodeParams, KernelNode);
PLACE(cudaKernelNodeParams, kernelParams, KernelNode, arguments);
SIZE(cudaHostNodeParams, HostNode);
SIZE(cudaMemAllocNodeParams, AllocationNode);
PLACE(cudaMemAllocNodeParams, bytesize, AllocationNode, bytes);
SIZE(cudaGraphNodeParams, NodeParameters);
PLACE(cudaGraphNodeParams, memcpy.copyParams, NodeParameters, copy.copy);
PLACE(cudaGraphNodeParams, alloc.dptr, NodeParameters, allocation.pointer);
SIZE(cudaGraphExecUpdateResultInfo, UpdateResult);
static_assert(cudaGraphNodeTypeWaitEvent == int{kWaitNode} && cudaGraphNodeTypeEventRecord == int{kRecordNode});
static_assert(cudaGraphNodeTypeMemAlloc == int{kAllocationNode} && cudaGraphNodeTypeMemFree == int{kReleaseNode});
static_assert(cudaLimitMallocHeapSize == 2 && cudaAddressModeBorder == 3 && cudaResourceTypePitch2D == int{kPitchedResource});

int main() {}
