// SPDX-License-Identifier: MIT
// One token times quantised weights. 32 weights of four bits share a scale in f16: 18 bytes, so that blocks are only aligned to two bytes. The
// activations are quantised to eight bits by the first kernel; products are sums of four by dp4a.
#include <cuda_fp16.h>

namespace {

constexpr int kBlock = 32;
constexpr int kWeightHalves = 9;  // 16-bit words of a block of weights: scale, then byte i with weights i (low) and i + 16

// 32 activations of eight bits: activation = scale * value.
struct Activations {
    float scale;
    int sum;  // of the values
    int values[kBlock / 4];
};

__device__ __forceinline__ int word_at(const unsigned short* halves) {
    return halves[0] | halves[1] << 16;
}

}  // namespace

// A warp per block of activations.
extern "C" __global__ void quantise_q8(const float* from, Activations* to, int blocks) {
    const int block = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (block >= blocks) return;
    const float value = from[block * kBlock + lane];
    float most = fabsf(value);
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, reach));
    const float scale = most / 127.0f;
    const int rounded = most == 0 ? 0 : __float2int_rn(value / scale);
    int sum = rounded;
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) sum += __shfl_xor_sync(~0u, sum, reach);
    reinterpret_cast<signed char*>(to[block].values)[lane] = (signed char)rounded;
    if (lane == 0) {
        to[block].scale = scale;
        to[block].sum = sum;
    }
}

// A CTA of four warps per row of weights; two lanes share a block, each takes 16 of its weights. A weight is its scale times (bits - 8).
extern "C" __global__ void gemv_q4(const unsigned short* weights, const Activations* activations, float* results, int blocks) {
    __shared__ float part[4];
    const int half = threadIdx.x % 2;
    const unsigned short* row = weights + (long long)blockIdx.x * blocks * kWeightHalves;
    float sum = 0;
    for (int block = threadIdx.x / 2; block < blocks; block += blockDim.x / 2) {
        const unsigned short* at = row + block * kWeightHalves;
        const Activations& with = activations[block];
        int dot = 0;
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
            const int bits = word_at(at + 1 + 2 * i);
            dot = __dp4a(bits & 0x0F0F0F0F, with.values[i], dot);
            dot = __dp4a(bits >> 4 & 0x0F0F0F0F, with.values[i + 4], dot);
        }
        const float scale = __half2float(__ushort_as_half(at[0])) * with.scale;
        sum += scale * (float)(dot - 4 * with.sum);  // 8 times the sum, by two lanes
    }
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) sum += __shfl_xor_sync(~0u, sum, reach);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) results[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
