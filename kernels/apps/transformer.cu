// SPDX-License-Identifier: MIT
// What a language model needs beside the kernels of llm/: rows of the embedding, sums of residuals, and products of one token with weights in
// f16, whose pairs are summed in f16 over eight terms and in f32 beyond.
#include <cuda_fp16.h>

namespace {

constexpr int kRows = 2;  // of weights, per warp

// The products of some rows of weights and the activations, by one warp; all lanes have the sums. A matrix has an even number of rows.
__device__ __forceinline__ void rows_times(float (&sum)[kRows], const uint4* rows, const uint4* activations, int vectors) {
    for (int i = threadIdx.x % 32; i < vectors; i += 32) {
        const uint4 values = activations[i];
        const __half2* v = reinterpret_cast<const __half2*>(&values);
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
            const uint4 weights = rows[(long long)row * vectors + i];
            const __half2* w = reinterpret_cast<const __half2*>(&weights);
            __half2 pair = __hmul2(w[0], v[0]);
#pragma unroll
            for (int k = 1; k < 4; ++k) pair = __hfma2(w[k], v[k], pair);
            const float2 both = __half22float2(pair);
            sum[row] += both.x + both.y;
        }
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
        for (int reach = 16; reach > 0; reach /= 2) sum[row] += __shfl_xor_sync(~0u, sum[row], reach);
}

// Of a whole matrix; lane i of a warp finishes its row i.
template <class Finish>
__device__ __forceinline__ void matrix_times(const uint4* weights, const uint4* activations, int rows, int vectors, Finish finish) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * kRows, lane = threadIdx.x % 32;
    if (first >= rows) return;
    float sum[kRows] = {};
    rows_times(sum, weights + (long long)first * vectors, activations, vectors);
    if (lane < kRows) finish(first + lane, lane == 0 ? sum[0] : sum[1]);
}

}  // namespace

// A CTA per token. `vectors` of eight values per row.
extern "C" __global__ void embed_f16(const uint4* table, const int* tokens, uint4* to, int vectors) {
    const long long from = (long long)tokens[blockIdx.x] * vectors;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) to[(long long)blockIdx.x * vectors + i] = table[from + i];
}

extern "C" __global__ void add_f16(uint4* to, const uint4* more, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    uint4 sums = to[i];
    const uint4 values = more[i];
    __half2* sum = reinterpret_cast<__half2*>(&sums);
    const __half2* value = reinterpret_cast<const __half2*>(&values);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = __hadd2(sum[k], value[k]);
    to[i] = sums;
}

// A warp per two rows of weights.
extern "C" __global__ void gemv_f16(const uint4* weights, const uint4* activations, __half* results, int rows, int vectors) {
    matrix_times(weights, activations, rows, vectors, [=](int row, float sum) { results[row] = __float2half_rn(sum); });
}

// The same, added to what is there.
extern "C" __global__ void gemv_add_f16(const uint4* weights, const uint4* activations, __half* results, int rows, int vectors) {
    matrix_times(weights, activations, rows, vectors,
                 [=](int row, float sum) { results[row] = __float2half_rn(sum + __half2float(results[row])); });
}

// The same in f32, for logits.
extern "C" __global__ void gemv_logits(const uint4* weights, const uint4* activations, float* results, int rows, int vectors) {
    matrix_times(weights, activations, rows, vectors, [=](int row, float sum) { results[row] = sum; });
}
