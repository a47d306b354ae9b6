// SPDX-License-Identifier: MIT
// mergelane: target compute_80
// Normalisations of rows in f16 or bf16: layer norm, RMS norm and softmax. A CTA of 256 threads per row. A thread reads 16 bytes at a time and
// keeps what it read in registers, so rows are read once and have at most 4096 values, a multiple of eight.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

constexpr int kThreads = 256, kVectors = 2;

struct F16 {
    __device__ static float2 unpack(unsigned bits) { return __half22float2(reinterpret_cast<const __half2&>(bits)); }
    __device__ static unsigned pack(float x, float y) {
        const __half2 pair = __floats2half2_rn(x, y);
        return reinterpret_cast<const unsigned&>(pair);
    }
};
struct Bf16 {
    __device__ static float2 unpack(unsigned bits) { return __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(bits)); }
    __device__ static unsigned pack(float x, float y) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
        return reinterpret_cast<const unsigned&>(pair);
    }
};

template <class Format>
__device__ __forceinline__ void unpack(float (&to)[8], const uint4& from) {
    const unsigned words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 pair = Format::unpack(words[i]);
        to[2 * i] = pair.x;
        to[2 * i + 1] = pair.y;
    }
}
template <class Format>
__device__ __forceinline__ uint4 pack(const float (&from)[8]) {
    return make_uint4(Format::pack(from[0], from[1]), Format::pack(from[2], from[3]), Format::pack(from[4], from[5]),
                      Format::pack(from[6], from[7]));
}

// Of all threads of the CTA, known to all.
template <class Combine>
__device__ __forceinline__ float over_cta(float value, Combine combine) {
    __shared__ float of_warp[kThreads / 32];
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) value = combine(value, __shfl_xor_sync(~0u, value, reach));
    __syncthreads();  // a previous call may still be read
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
#pragma unroll
    for (int w = 1; w < kThreads / 32; ++w) value = combine(value, of_warp[w]);
    return value;
}
__device__ __forceinline__ float sum_over_cta(float value) {
    return over_cta(value, [](float a, float b) { return a + b; });
}
__device__ __forceinline__ float largest_over_cta(float value) {
    return over_cta(value, [](float a, float b) { return fmaxf(a, b); });
}

// The values of a row that this thread has.
template <class Format>
struct Row {
    float value[kVectors][8];
    int count;

    __device__ __forceinline__ Row(const uint4* from, int vectors, float missing) : count(vectors) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
#pragma unroll
            for (int i = 0; i < 8; ++i) value[v][i] = missing;
            if (has(v)) unpack<Format>(value[v], from[(long long)blockIdx.x * count + at(v)]);
        }
    }
    __device__ __forceinline__ int at(int v) const { return v * kThreads + threadIdx.x; }
    __device__ __forceinline__ bool has(int v) const { return at(v) < count; }
    template <class Function>
    __device__ __forceinline__ float sum(Function of) const {
        float all = 0;
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
#pragma unroll
            for (int i = 0; i < 8; ++i)
                if (has(v)) all += of(value[v][i]);
        }
        return sum_over_cta(all);
    }
    __device__ __forceinline__ void store(uint4* to) const {
#pragma unroll
        for (int v = 0; v < kVectors; ++v)
            if (has(v)) to[(long long)blockIdx.x * count + at(v)] = pack<Format>(value[v]);
    }
    // Times the weights, plus the bias if there is one.
    __device__ __forceinline__ void adjust(const uint4* weights, const uint4* bias) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            if (!has(v)) continue;
            float weight[8], more[8] = {};
            unpack<Format>(weight, weights[at(v)]);
            if (bias != nullptr) unpack<Format>(more, bias[at(v)]);
#pragma unroll
            for (int i = 0; i < 8; ++i) value[v][i] = value[v][i] * weight[i] + more[i];
        }
    }
    __device__ __forceinline__ void scale(float mean, float by) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v)
#pragma unroll
            for (int i = 0; i < 8; ++i) value[v][i] = (value[v][i] - mean) * by;
    }
};

template <class Format>
__device__ __forceinline__ void softmax(const uint4* from, uint4* to, int vectors, float scale) {
    Row<Format> row(from, vectors, -1e30f);
    float most = -1e30f;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
        for (int i = 0; i < 8; ++i) most = fmaxf(most, row.value[v][i]);
    most = largest_over_cta(most);
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
        for (int i = 0; i < 8; ++i) row.value[v][i] = __expf((row.value[v][i] - most) * scale);
    const float total = row.sum([](float x) { return x; });
    row.scale(0, 1.0f / total);
    row.store(to);
}

}  // namespace

// `vectors` of eight values per row.
extern "C" __global__ void layer_norm_f16(const uint4* from, const uint4* weights, const uint4* bias, uint4* to, int vectors, float epsilon) {
    Row<F16> row(from, vectors, 0);
    const float mean = row.sum([](float x) { return x; }) / (vectors * 8);
    const float variance = row.sum([mean](float x) { return (x - mean) * (x - mean); }) / (vectors * 8);
    row.scale(mean, rsqrtf(variance + epsilon));
    row.adjust(weights, bias);
    row.store(to);
}

extern "C" __global__ void rms_norm_bf16(const uint4* from, const uint4* weights, uint4* to, int vectors, float epsilon) {
    Row<Bf16> row(from, vectors, 0);
    const float square = row.sum([](float x) { return x * x; }) / (vectors * 8);
    row.scale(0, rsqrtf(square + epsilon));
    row.adjust(weights, nullptr);
    row.store(to);
}

extern "C" __global__ void softmax_f16(const uint4* from, uint4* to, int vectors, float scale) {
    softmax<F16>(from, to, vectors, scale);
}
extern "C" __global__ void softmax_bf16(const uint4* from, uint4* to, int vectors, float scale) {
    softmax<Bf16>(from, to, vectors, scale);
}
