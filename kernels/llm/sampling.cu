// SPDX-License-Identifier: MIT
// Chooses the next token of each sequence: sorts its logits by radix, one CTA of 256 threads per sequence and one launch per digit of eight
// bits, keeps the first `chosen` tokens (top-k), of these the fewest that have a share of `top` (top-p), and draws one of them.

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kDigits = 256;

// Of the values of all threads up to this one.
__device__ __forceinline__ int scan_cta(int value, int (&of_warp)[kWarps]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int reach = 1; reach < 32; reach *= 2) {
        const int other = __shfl_up_sync(~0u, value, reach);
        if (lane >= reach) value += other;
    }
    if (lane == 31) of_warp[warp] = value;
    __syncthreads();
    for (int w = 0; w < warp; ++w) value += of_warp[w];
    return value;
}

}  // namespace

// Keys that ascend as logits descend. Grid: tiles of 256 logits x sequences.
extern "C" __global__ void sort_keys(const float* logits, unsigned* keys, int* tokens, int count) {
    const int token = blockIdx.x * kThreads + threadIdx.x, at = blockIdx.y * count + token;
    if (token >= count) return;
    const unsigned bits = __float_as_uint(logits[at]);
    keys[at] = bits >> 31 ? bits : ~bits & 0x7FFFFFFFu;
    tokens[at] = token;
}

// One digit. Equal digits keep their order: by tile, by warp and by lane.
extern "C" __global__ void sort_digit(const unsigned* keys, const int* tokens, unsigned* new_keys, int* new_tokens, int count, int shift) {
    __shared__ int next[kDigits];            // where the next key with this digit goes
    __shared__ int of_warp[kWarps][kDigits];  // keys of a tile with this digit, then those of earlier warps
    __shared__ int scan[kWarps];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row = blockIdx.x * count;
    next[thread] = 0;
    __syncthreads();
    for (int i = thread; i < count; i += kThreads) atomicAdd(&next[keys[row + i] >> shift & (kDigits - 1)], 1);
    __syncthreads();
    const int mine = next[thread];
    next[thread] = scan_cta(mine, scan) - mine;
    for (int tile = 0; tile < count; tile += kThreads) {
#pragma unroll
        for (int w = 0; w < kWarps; ++w) of_warp[w][thread] = 0;
        __syncthreads();
        const bool has = tile + thread < count;
        const unsigned key = has ? keys[row + tile + thread] : 0;
        const int token = has ? tokens[row + tile + thread] : 0;
        const int digit = has ? key >> shift & (kDigits - 1) : kDigits;
        const unsigned same = __match_any_sync(~0u, digit);
        const int rank = __popc(same & ((1u << lane) - 1));
        if (has && rank == 0) of_warp[warp][digit] = __popc(same);
        __syncthreads();
        int place = next[thread];
#pragma unroll
        for (int w = 0; w < kWarps; ++w) {
            const int here = of_warp[w][thread];
            of_warp[w][thread] = place;
            place += here;
        }
        next[thread] = place;
        __syncthreads();
        if (has) {
            const int to = row + of_warp[warp][digit] + rank;
            new_keys[to] = key;
            new_tokens[to] = token;
        }
        __syncthreads();
    }
}

// One CTA per sequence; `chosen` is at most 256, `draws` are from 0 to 1.
extern "C" __global__ void sample(const float* logits, const int* tokens, const float* draws, int* results, int count, int chosen, float top,
                                  float temperature) {
    __shared__ float scan[kWarps];
    __shared__ int kept, drawn;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row = blockIdx.x * count;
    const float most = logits[row + tokens[row]];
    float sum = thread < chosen ? __expf((logits[row + tokens[row + thread]] - most) / temperature) : 0;
#pragma unroll
    for (int reach = 1; reach < 32; reach *= 2) {
        const float other = __shfl_up_sync(~0u, sum, reach);
        if (lane >= reach) sum += other;
    }
    if (lane == 31) scan[warp] = sum;
    if (thread == 0) {
        kept = chosen - 1;
        drawn = chosen - 1;
    }
    __syncthreads();
    float total = 0, before = 0;
    for (int w = 0; w < kWarps; ++w) {
        if (w == warp) before = total;
        total += scan[w];
    }
    sum += before;
    if (thread < chosen && sum >= top * total) atomicMin(&kept, thread);
    __syncthreads();
    __shared__ float limit;
    if (thread == kept) limit = draws[blockIdx.x] * sum;
    __syncthreads();
    if (thread <= kept && sum > limit) atomicMin(&drawn, thread);
    __syncthreads();
    if (thread == 0) results[blockIdx.x] = tokens[row + min(drawn, kept)];
}
