// SPDX-License-Identifier: MIT
// The structures that CUDA 13 programs and their runtime library exchange, as far as the replacement fills or reads them.
// tests/cuda/abi_check.cu compares them with the toolkit's headers where it is installed.
#pragma once

#include <cstddef>

namespace mergelane::cudart {

struct Dim {
    unsigned x, y, z;
};

struct DeviceProp {
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
    std::size_t totalConstMem;
    int major;
    int minor;
    std::size_t textureAlignment;
    std::size_t texturePitchAlignment;
    int multiProcessorCount;
    int integrated;
    int canMapHostMemory;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    std::size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
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
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    std::size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    std::size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int interprocess[6];  ///< unsupported, as are the others
    int clusterLaunch;
    int others[8];
    int reserved[56];
};

struct FuncAttributes {
    std::size_t sharedSizeBytes;
    std::size_t constSizeBytes;
    std::size_t localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion;
    int binaryVersion;
    int cacheModeCA;
    int maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
    int clusterDimMustBeSet;
    int requiredClusterWidth;
    int requiredClusterHeight;
    int requiredClusterDepth;
    int clusterSchedulingPolicyPreference;
    int nonPortableClusterSizeAllowed;
    int reserved[16];
};

struct PointerAttributes {
    int type;  ///< 0 unknown to the runtime, 1 host, 2 device, 3 managed
    int device;
    void* devicePointer;
    void* hostPointer;
    long reserved[8];
};

struct LaunchAttribute {
    int id;
    int padding;
    unsigned value[16];
};
inline constexpr int kClusterDimension = 4;
inline constexpr int kCooperative = 2;

struct LaunchConfiguration {
    Dim grid;
    Dim block;
    std::size_t dynamic_shared;
    void* stream;
    const LaunchAttribute* attributes;
    unsigned attribute_count;
};

struct Extent {
    std::size_t width, height, depth;
};
struct Position {
    std::size_t x, y, z;
};
struct PitchedPointer {
    void* pointer;
    std::size_t pitch;
    std::size_t width;
    std::size_t height;
};
struct ChannelDescription {
    int x, y, z, w;  ///< bits
    int kind;        ///< 0 signed, 1 unsigned, 2 floating point
};
struct Array;
/// cudaMemcpy3DParms. Widths and positions count texels on arrays, otherwise bytes; if there is an array, the extent counts its texels.
struct Copy3D {
    Array* from_array;
    Position from_position;
    PitchedPointer from;
    Array* to_array;
    Position to_position;
    PitchedPointer to;
    Extent extent;
    int direction;
};
/// cudaMemsetParams.
struct Fill {
    void* at;
    std::size_t pitch;
    unsigned value;
    unsigned element_bytes;
    std::size_t width;  ///< elements
    std::size_t height;
};

enum ResourceType : int { kArrayResource, kMipmappedResource, kLinearResource, kPitchedResource };
struct LinearResource {
    void* at;
    ChannelDescription channels;
    std::size_t bytes;
};
struct PitchedResource {
    void* at;
    ChannelDescription channels;
    std::size_t width, height, pitch;
};
/// cudaResourceDesc.
struct ResourceDescription {
    int type;
    union {
        Array* array;
        LinearResource linear;
        PitchedResource pitched;
        int reserved[32];
    };
    unsigned flags;
};
/// cudaTextureDesc.
struct TextureDescription {
    int address_mode[3];  ///< 0 wrap, 1 clamp, 2 mirror, 3 border
    int filter;           ///< 0 point, 1 linear
    int read;             ///< 0 element, 1 normalised to a floating-point number
    int srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most;
    int no_trilinear_optimization;
    int seamless_cube;
};

/// cudaMemPoolProps.
struct PoolProperties {
    int allocation;
    int handles;
    int location_type;
    int location;
    void* security;
    std::size_t most_bytes;
    unsigned short usage;
    unsigned char reserved[54];
};

/// cudaKernelNodeParams.
struct KernelNode {
    const void* function;
    Dim grid, block;
    unsigned shared;
    void** arguments;
    void** extra;
};
struct HostNode {
    void (*function)(void*);
    void* data;
};
/// cudaMemAllocNodeParams.
struct AllocationNode {
    PoolProperties pool;
    const void* access;
    std::size_t access_count;
    std::size_t bytes;
    void* pointer;
};
enum NodeType : int {
    kKernelNode,
    kCopyNode,
    kFillNode,
    kHostNode,
    kChildNode,
    kEmptyNode,
    kWaitNode,
    kRecordNode,
    kAllocationNode = 10,
    kReleaseNode = 11,
};
struct CopyNode {
    int flags;
    int reserved[3];
    Copy3D copy;
};
/// cudaGraphNodeParams.
struct NodeParameters {
    int type;
    int reserved[3];
    union {
        long long all[29];
        KernelNode kernel;
        CopyNode copy;
        Fill fill;
        HostNode host;
        void* handle;  ///< of a child graph or an event
        AllocationNode allocation;
        void* released;
    };
    long long more;
};
/// cudaGraphExecUpdateResultInfo.
struct UpdateResult {
    int result;  ///< 0 success, 2 topology changed, 3 type of a node changed
    void* node;
    void* from;
};

}  // namespace mergelane::cudart
