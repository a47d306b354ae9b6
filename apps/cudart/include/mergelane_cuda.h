/* SPDX-License-Identifier: MIT */
/* Enough of CUDA for clang to compile programs without NVIDIA's toolkit: keywords, thread indices, barriers, warp functions,
 * atomics, single-precision mathematics, and the runtime functions that `mergelane cuda` serves. scripts/clang-cuda uses it. */
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

#define MERGELANE_VECTORS(Type, Name)                                                               \
    struct alignas(2 * sizeof(Type)) Name##2 {                                                      \
        Type x, y;                                                                                  \
    };                                                                                              \
    struct alignas(4 * sizeof(Type)) Name##4 {                                                      \
        Type x, y, z, w;                                                                            \
    };                                                                                              \
    __host__ __device__ constexpr Name##2 make_##Name##2(Type x, Type y) { return {x, y}; }         \
    __host__ __device__ constexpr Name##4 make_##Name##4(Type x, Type y, Type z, Type w) {          \
        return {x, y, z, w};                                                                        \
    }                                                                                               \
    static_assert(true, "")
MERGELANE_VECTORS(float, float);
MERGELANE_VECTORS(int, int);
MERGELANE_VECTORS(unsigned, uint);
#undef MERGELANE_VECTORS

#ifdef __CUDA__
#include <__clang_cuda_builtin_vars.h>
#define MERGELANE_INDEX(Name)                                                                                   \
    __device__ inline __cuda_builtin_##Name##_t::operator dim3() const { return dim3(Name.x, Name.y, Name.z); } \
    __device__ inline __cuda_builtin_##Name##_t::operator uint3() const { return {Name.x, Name.y, Name.z}; }    \
    static_assert(true, "")
MERGELANE_INDEX(threadIdx);
MERGELANE_INDEX(blockIdx);
MERGELANE_INDEX(blockDim);
MERGELANE_INDEX(gridDim);
#undef MERGELANE_INDEX
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
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream);
cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* pointer);
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
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared);
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
inline cudaError_t cudaFuncSetAttribute(T* function, cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <class T>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T* function, int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(function), threads, shared);
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

/* clang 14 moves loads of __shared__ variables over its own barrier where it believes that no other function knows the variable. */
__device__ __forceinline__ void mergelane_syncthreads() { MERGELANE_DEVICE_BODY(asm volatile("bar.sync 0;" ::: "memory");) }
#define __syncthreads() mergelane_syncthreads()
__device__ __forceinline__ void __syncwarp(unsigned mask = 0xFFFFFFFFu) { MERGELANE_DEVICE_BODY(__nvvm_bar_warp_sync(mask);) }
__device__ __forceinline__ void __threadfence() { MERGELANE_DEVICE_BODY(__nvvm_membar_gl();) }
__device__ __forceinline__ void __threadfence_block() { MERGELANE_DEVICE_BODY(__nvvm_membar_cta();) }
__device__ __forceinline__ void __threadfence_system() { MERGELANE_DEVICE_BODY(__nvvm_membar_sys();) }
__device__ __forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) {
    MERGELANE_DEVICE_BODY(return __nvvm_vote_ballot_sync(mask, predicate != 0);)
}
__device__ __forceinline__ int __all_sync(unsigned mask, int predicate) {
    MERGELANE_DEVICE_BODY(return __nvvm_vote_all_sync(mask, predicate != 0);)
}
__device__ __forceinline__ int __any_sync(unsigned mask, int predicate) {
    MERGELANE_DEVICE_BODY(return __nvvm_vote_any_sync(mask, predicate != 0);)
}
__device__ __forceinline__ unsigned __activemask() {
    MERGELANE_DEVICE_BODY(unsigned mask; asm volatile("activemask.b32 %0;" : "=r"(mask)); return mask;)
}
/* Lanes are in groups of `width`, a power of two; shfl takes the last lane of a group and the bits that say which group. */
#define MERGELANE_SHUFFLE(name, builtin, last, T, suffix, From)                                                          \
    __device__ __forceinline__ T name(unsigned mask, T value, From lane, int width = 32) {                               \
        MERGELANE_DEVICE_BODY(return builtin##suffix(mask, value, static_cast<int>(lane), ((32 - width) << 8) | (last));) \
    }                                                                                                                    \
    static_assert(true, "")
#define MERGELANE_SHUFFLES(T, suffix)                                                    \
    MERGELANE_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_, 31, T, suffix, int);           \
    MERGELANE_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_, 0, T, suffix, unsigned);     \
    MERGELANE_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_, 31, T, suffix, unsigned); \
    MERGELANE_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_, 31, T, suffix, int)
MERGELANE_SHUFFLES(int, i32);
MERGELANE_SHUFFLES(unsigned, i32);
MERGELANE_SHUFFLES(float, f32);
#undef MERGELANE_SHUFFLES
#undef MERGELANE_SHUFFLE

#define MERGELANE_ATOMICS(T)                                                                                                                 \
    __device__ __forceinline__ T atomicAdd(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }                       \
    __device__ __forceinline__ T atomicMin(T* at, T value) { return __atomic_fetch_min(at, value, __ATOMIC_RELAXED); }                       \
    __device__ __forceinline__ T atomicMax(T* at, T value) { return __atomic_fetch_max(at, value, __ATOMIC_RELAXED); }                       \
    __device__ __forceinline__ T atomicAnd(T* at, T value) { return __atomic_fetch_and(at, value, __ATOMIC_RELAXED); }                       \
    __device__ __forceinline__ T atomicOr(T* at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_RELAXED); }                         \
    __device__ __forceinline__ T atomicXor(T* at, T value) { return __atomic_fetch_xor(at, value, __ATOMIC_RELAXED); }                       \
    __device__ __forceinline__ T atomicExch(T* at, T value) { return __atomic_exchange_n(at, value, __ATOMIC_RELAXED); }                     \
    __device__ __forceinline__ T atomicCAS(T* at, T expected, T value) {                                                                     \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                                        \
        return expected;                                                                                                                     \
    }                                                                                                                                        \
    static_assert(true, "")
MERGELANE_ATOMICS(int);
MERGELANE_ATOMICS(unsigned);
MERGELANE_ATOMICS(unsigned long long);
#undef MERGELANE_ATOMICS
__device__ __forceinline__ int atomicSub(int* at, int value) { return atomicAdd(at, -value); }
__device__ __forceinline__ unsigned atomicSub(unsigned* at, unsigned value) { return atomicAdd(at, 0u - value); }
__device__ __forceinline__ float atomicAdd(float* at, float value) { MERGELANE_DEVICE_BODY(return __nvvm_atom_add_gen_f(at, value);) }

__device__ __forceinline__ int __popc(unsigned bits) { return __builtin_popcount(bits); }
__device__ __forceinline__ int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
__device__ __forceinline__ int __ffs(int bits) { return __builtin_ffs(bits); }
__device__ __forceinline__ unsigned __brev(unsigned bits) { return __builtin_bitreverse32(bits); }
__device__ __forceinline__ int min(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int max(int a, int b) { return a < b ? b : a; }
__device__ __forceinline__ unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
__device__ __forceinline__ unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
__device__ __forceinline__ float min(float a, float b) { return __builtin_fminf(a, b); }
__device__ __forceinline__ float max(float a, float b) { return __builtin_fmaxf(a, b); }

/* Mathematics, as the toolkit's: square root and rounding exact, the others within a few units in the last place. They build on ex2,
 * lg2, sin and cos of PTX, which Mergelane computes to the last place; on a GPU they would be less exact. */
#define MERGELANE_MATH static __device__ __forceinline__ float
MERGELANE_MATH fabsf(float x) { return __builtin_fabsf(x); }
MERGELANE_MATH fminf(float a, float b) { return __builtin_fminf(a, b); }
MERGELANE_MATH fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
MERGELANE_MATH floorf(float x) { return __builtin_floorf(x); }
MERGELANE_MATH ceilf(float x) { return __builtin_ceilf(x); }
MERGELANE_MATH truncf(float x) { return __builtin_truncf(x); }
MERGELANE_MATH rintf(float x) { return __builtin_rintf(x); }
MERGELANE_MATH fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MERGELANE_MATH sqrtf(float x) { MERGELANE_DEVICE_BODY(return __nvvm_sqrt_rn_f(x);) }
MERGELANE_MATH rsqrtf(float x) { MERGELANE_DEVICE_BODY(return __nvvm_rsqrt_approx_f(x);) }
MERGELANE_MATH sinf(float x) { MERGELANE_DEVICE_BODY(return __nvvm_sin_approx_f(x);) }
MERGELANE_MATH cosf(float x) { MERGELANE_DEVICE_BODY(return __nvvm_cos_approx_f(x);) }
MERGELANE_MATH exp2f(float x) { MERGELANE_DEVICE_BODY(return __nvvm_ex2_approx_f(x);) }
MERGELANE_MATH log2f(float x) { MERGELANE_DEVICE_BODY(return __nvvm_lg2_approx_f(x);) }
MERGELANE_MATH logf(float x) { return log2f(x) * 0.693147181f; }
MERGELANE_MATH log10f(float x) { return log2f(x) * 0.301029996f; }
/* 2^(whole + rest), with log2(e) in two parts, so that large arguments lose nothing. */
MERGELANE_MATH expf(float x) {
    const float product = x * 1.44269502f;
    const float whole = rintf(product);
    const float rest = fmaf(x, 1.92596303e-8f, fmaf(x, 1.44269502f, -whole));
    const float half = truncf(0.5f * whole); /* 2^whole may be out of range where the result is not */
    return whole > 130.0f ? __builtin_inff() : whole < -160.0f ? 0.0f : exp2f(rest) * exp2f(half) * exp2f(whole - half);
}
/* Near zero by its series; elsewhere 1 - 2 / (e^2x + 1). */
MERGELANE_MATH tanhf(float x) {
    const float size = fabsf(x), square = x * x;
    const float series = fmaf(fmaf(fmaf(fmaf(-0.00886323552f, square, 0.0218694885f), square, -0.0539682540f), square, 0.133333333f), square,
                              -0.333333333f);
    const float small = fmaf(series * square, size, size);
    const float large = 1.0f - 2.0f / (expf(2.0f * size) + 1.0f);
    return __builtin_copysignf(size < 0.3f ? small : large, x);
}
MERGELANE_MATH __expf(float x) { return exp2f(x * 1.44269502f); }
MERGELANE_MATH __logf(float x) { return logf(x); }
MERGELANE_MATH __fdividef(float a, float b) { return a / b; }
#undef MERGELANE_MATH

#undef MERGELANE_DEVICE_BODY
#endif
