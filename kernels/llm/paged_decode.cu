// SPDX-License-Identifier: MIT
// One new token per sequence attends to all tokens before it, whose keys and values are in pages of 16 tokens. A table says which pages a
// sequence has. A page holds, for one group of heads, 16 rows of 128 values in f16. A CTA of four warps takes one head of one sequence and a
// stretch of its pages, one page per warp at a time; the second kernel combines the stretches.
#include <cuda_fp16.h>

namespace {

constexpr int kHead = 128, kPage = 16, kWarps = 4;

__device__ __forceinline__ void unpack(float (&to)[8], const uint4& from) {
    const __half2* pairs = reinterpret_cast<const __half2*>(&from);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(pairs[i]);
        to[2 * i] = pair.x;
        to[2 * i + 1] = pair.y;
    }
}
__device__ __forceinline__ float exp2_of(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// What a warp knows so far: 8 of 128 sums per lane, of every second token.
struct Running {
    float sum[8] = {};
    float most = -1e30f, total = 0;
};

// Half a warp reads one row, so a warp two tokens per load.
__device__ __forceinline__ void attend(Running& so_far, const float (&query)[8], const uint4* keys, const uint4* values, int tokens, int lane) {
    float score[kPage / 2];
    float largest = so_far.most;
#pragma unroll
    for (int i = 0; i < kPage / 2; ++i) {
        const int token = 2 * i + lane / 16;
        float key[8], dot = 0;
        unpack(key, keys[token * (kHead / 8) + lane % 16]);
#pragma unroll
        for (int k = 0; k < 8; ++k) dot += query[k] * key[k];
#pragma unroll
        for (int reach = 8; reach > 0; reach /= 2) dot += __shfl_xor_sync(~0u, dot, reach);
        score[i] = token < tokens ? dot : -1e30f;
        largest = fmaxf(largest, score[i]);
    }
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 16));
    const float shrink = exp2_of(so_far.most - largest);
    so_far.most = largest;
    so_far.total *= shrink;
#pragma unroll
    for (int k = 0; k < 8; ++k) so_far.sum[k] *= shrink;
#pragma unroll
    for (int i = 0; i < kPage / 2; ++i) {
        float value[8];
        unpack(value, values[(2 * i + lane / 16) * (kHead / 8) + lane % 16]);
        const float weight = exp2_of(score[i] - largest);
        so_far.total += weight;
#pragma unroll
        for (int k = 0; k < 8; ++k) so_far.sum[k] += weight * value[k];
    }
}

}  // namespace

// Grid: heads x sequences x stretches. `scale` includes the logarithm of e to base 2. Per stretch and head: 128 sums, the largest score and
// the sum of weights. Rows of a page beyond the sequence's end hold anything finite.
extern "C" __global__ void paged_attend(const __half* queries, const uint4* keys, const uint4* values, const int* table, const int* lengths,
                                        float* sums, float2* totals, int groups, int pages_per_sequence, int pages_per_stretch, float scale) {
    __shared__ float sum[kWarps][kHead];
    __shared__ float most[kWarps], total[kWarps];
    const int heads = gridDim.x, head = blockIdx.x, sequence = blockIdx.y, stretch = blockIdx.z;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int group = head / (heads / groups), length = lengths[sequence];
    const int first = stretch * pages_per_stretch, end = min(first + pages_per_stretch, (length + kPage - 1) / kPage);
    const int place = (sequence * heads + head) * gridDim.z + stretch;
    float query[8];
    unpack(query, reinterpret_cast<const uint4*>(queries)[(sequence * heads + head) * (kHead / 8) + lane % 16]);
#pragma unroll
    for (int k = 0; k < 8; ++k) query[k] *= scale;
    Running so_far;
    for (int page = first + warp; page < end; page += kWarps) {
        const long long at = ((long long)table[sequence * pages_per_sequence + page] * groups + group) * (kPage * kHead / 8);
        attend(so_far, query, keys + at, values + at, length - page * kPage, lane);
    }
    so_far.total += __shfl_xor_sync(~0u, so_far.total, 16);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        so_far.sum[k] += __shfl_xor_sync(~0u, so_far.sum[k], 16);
        if (lane < 16) sum[warp][lane * 8 + k] = so_far.sum[k];
    }
    if (lane == 0) {
        most[warp] = so_far.most;
        total[warp] = so_far.total;
    }
    __syncthreads();
    float largest = most[0], all = 0, mine = 0;
    for (int w = 1; w < kWarps; ++w) largest = fmaxf(largest, most[w]);
    for (int w = 0; w < kWarps; ++w) {
        const float shrink = exp2_of(most[w] - largest);
        all += total[w] * shrink;
        mine += sum[w][threadIdx.x] * shrink;
    }
    sums[place * kHead + threadIdx.x] = mine;
    if (threadIdx.x == 0) totals[place] = make_float2(largest, all);
}

// Grid: heads x sequences; a thread per dimension. Stretches without tokens weigh nothing.
extern "C" __global__ void paged_combine(const float* sums, const float2* totals, __half* results, int stretches) {
    const int place = blockIdx.y * gridDim.x + blockIdx.x;
    float largest = -1e30f, all = 0, mine = 0;
    for (int s = 0; s < stretches; ++s) largest = fmaxf(largest, totals[place * stretches + s].x);
    for (int s = 0; s < stretches; ++s) {
        const float2 part = totals[place * stretches + s];
        const float shrink = exp2_of(part.x - largest);
        all += part.y * shrink;
        mine += sums[(place * stretches + s) * kHead + threadIdx.x] * shrink;
    }
    results[place * kHead + threadIdx.x] = __float2half_rn(mine / all);
}
