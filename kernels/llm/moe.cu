// SPDX-License-Identifier: MIT
// A mixture of experts around its products: each token chooses its experts, rows of activations in f16 are gathered in the order of experts,
// and the experts' results are scattered back, weighted.
#include <cuda_fp16.h>

namespace {

constexpr int kThreads = 256;
constexpr int kMostExperts = 64;

}  // namespace

// A warp per token, two experts per lane: the `chosen` largest logits, the first of equal ones, and their softmax.
extern "C" __global__ void moe_gate(const float* logits, int* experts, float* weights, int tokens, int expert_count, int chosen) {
    const int token = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (token >= tokens) return;
    const float* row = logits + token * expert_count;
    float low = lane < expert_count ? row[lane] : -1e30f, high = lane + 32 < expert_count ? row[lane + 32] : -1e30f;
    float largest = 0, total = 0;
    for (int k = 0; k < chosen; ++k) {
        float best = high > low ? high : low;
        int expert = high > low ? lane + 32 : lane;
        for (int reach = 16; reach > 0; reach /= 2) {
            const float other = __shfl_xor_sync(~0u, best, reach);
            const int other_expert = __shfl_xor_sync(~0u, expert, reach);
            if (other > best || (other == best && other_expert < expert)) {
                best = other;
                expert = other_expert;
            }
        }
        if (expert == lane) low = -1e30f;
        if (expert == lane + 32) high = -1e30f;
        if (k == 0) largest = best;
        const float weight = __expf(best - largest);
        total += weight;
        if (lane == 0) {
            experts[token * chosen + k] = expert;
            weights[token * chosen + k] = weight;
        }
    }
    __syncwarp();
    if (lane < chosen) weights[token * chosen + lane] /= total;
}

// One CTA: where the row of each choice goes, such that the rows of an expert are together and in the order of tokens. `offsets`: the first row
// of each expert, and the number of rows.
extern "C" __global__ void moe_positions(const int* experts, int* positions, int* offsets, int choices, int expert_count) {
    __shared__ int count[kMostExperts], first[kMostExperts];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x < kMostExperts) count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < choices; i += kThreads) atomicAdd(&count[experts[i]], 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        int next = 0;
        for (int e = 0; e < expert_count; ++e) {
            first[e] = next;
            offsets[e] = next;
            next += count[e];
        }
        offsets[expert_count] = next;
    }
    __syncthreads();
    for (int expert = warp; expert < expert_count; expert += kThreads / 32) {
        int next = first[expert];
        for (int i = 0; i < choices; i += 32) {
            const bool mine = i + lane < choices && experts[i + lane] == expert;
            const unsigned who = __ballot_sync(~0u, mine);
            if (mine) positions[i + lane] = next + __popc(who & ((1u << lane) - 1));
            next += __popc(who);
        }
    }
}

// A CTA per choice copies the token's row, `vectors` of eight values, to its position.
extern "C" __global__ void moe_gather(const uint4* from, uint4* to, const int* positions, int chosen, int vectors) {
    const long long source = (long long)(blockIdx.x / chosen) * vectors, place = (long long)positions[blockIdx.x] * vectors;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) to[place + i] = from[source + i];
}

// A CTA per token adds the rows of its experts.
extern "C" __global__ void moe_scatter(const uint4* rows, const int* positions, const float* weights, uint4* to, int chosen, int vectors) {
    const int token = blockIdx.x;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        float sum[8] = {};
        for (int k = 0; k < chosen; ++k) {
            const uint4 part = rows[(long long)positions[token * chosen + k] * vectors + i];
            const __half2* pairs = reinterpret_cast<const __half2*>(&part);
            const float weight = weights[token * chosen + k];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float2 pair = __half22float2(pairs[j]);
                sum[2 * j] += weight * pair.x;
                sum[2 * j + 1] += weight * pair.y;
            }
        }
        uint4 result;
        __half2* pairs = reinterpret_cast<__half2*>(&result);
#pragma unroll
        for (int j = 0; j < 4; ++j) pairs[j] = __floats2half2_rn(sum[2 * j], sum[2 * j + 1]);
        to[(long long)token * vectors + i] = result;
    }
}
