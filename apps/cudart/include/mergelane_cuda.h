/* SPDX-License-Identifier: MIT */
/* Enough of CUDA for clang to compile programs without NVIDIA's toolkit: keywords, thread indices, barriers, warp functions,
 * atomics, and the runtime functions that `mergelane cuda` serves. scripts/clang-cuda uses it. */
#ifndef MERGELANE_CUDA_H
#define MERGELANE_CUDA_H

#include <stddef.h>
#include <stdlib.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned ax = 1, unsigned ay = 1, unsigned az = 1) : x(ax), y(ay), z(az) {}
};

#ifdef __CUDA__
#include <__clang_cuda_builtin_vars.h>
#endif

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidPtx = 218,
    cudaErrorNotSupported = 801
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream);
cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags = 1);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemset(void* at, int value, size_t bytes);
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice);
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyDeviceToHost);
cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol);
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
}

template <class T>
inline cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
inline cudaError_t cudaMallocHost(T** pointer, size_t bytes) {
    return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** pointer, size_t bytes) {
    return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes, 1);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0) {
    return cudaMemcpyToSymbol(reinterpret_cast<const void*>(&symbol), from, bytes, offset, cudaMemcpyHostToDevice);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0) {
    return cudaMemcpyFromSymbol(to, reinterpret_cast<const void*>(&symbol), bytes, offset, cudaMemcpyDeviceToHost);
}

template <class T>
inline cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
    return cudaGetSymbolAddress(pointer, reinterpret_cast<const void*>(&symbol));
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
    return cudaGetSymbolSize(bytes, reinterpret_cast<const void*>(&symbol));
}

/* Device functions; the host never calls them, so their bodies exist for the device alone. */
#ifdef __CUDA_ARCH__
#define MERGELANE_DEVICE_BODY(...) __VA_ARGS__
#else
#define MERGELANE_DEVICE_BODY(...) __builtin_trap();
#endif

__device__ __forceinline__ void __syncwarp(unsigned mask = 0xFFFFFFFFu) { MERGELANE_DEVICE_BODY(__nvvm_bar_warp_sync(mask);) }
__device__ __forceinline__ void __threadfence() { MERGELANE_DEVICE_BODY(__nvvm_membar_gl();) }
__device__ __forceinline__ int __shfl_down_sync(unsigned mask, int value, unsigned delta) {
    MERGELANE_DEVICE_BODY(return __nvvm_shfl_sync_down_i32(mask, value, static_cast<int>(delta), 31);)
}
__device__ __forceinline__ int __shfl_xor_sync(unsigned mask, int value, int lanes) {
    MERGELANE_DEVICE_BODY(return __nvvm_shfl_sync_bfly_i32(mask, value, lanes, 31);)
}
__device__ __forceinline__ float __shfl_down_sync(unsigned mask, float value, unsigned delta) {
    MERGELANE_DEVICE_BODY(return __nvvm_shfl_sync_down_f32(mask, value, static_cast<int>(delta), 31);)
}
__device__ __forceinline__ float __shfl_xor_sync(unsigned mask, float value, int lanes) {
    MERGELANE_DEVICE_BODY(return __nvvm_shfl_sync_bfly_f32(mask, value, lanes, 31);)
}
__device__ __forceinline__ int atomicAdd(int* at, int value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
__device__ __forceinline__ unsigned atomicAdd(unsigned* at, unsigned value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
__device__ __forceinline__ unsigned long long atomicAdd(unsigned long long* at, unsigned long long value) {
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
__device__ __forceinline__ float atomicAdd(float* at, float value) { MERGELANE_DEVICE_BODY(return __nvvm_atom_add_gen_f(at, value);) }

#undef MERGELANE_DEVICE_BODY
#endif
