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
    int textures[39];  ///< maximum textures and surfaces: none
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
    int others[19];  ///< of arrays, pools, interprocess use, clusters and NUMA: unsupported
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
    int clusters[6];
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

}  // namespace mergelane::cudart
