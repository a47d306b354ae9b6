// SPDX-License-Identifier: MIT
// C = beta C + alpha A B^T in single precision, all matrices column by column. A CTA of 16x8 threads makes 128x16 elements of C: a
// thread keeps one row of 16 sums in registers, and a tile of 8x16 values of B goes through shared memory.

constexpr int kWidth = 16;  // columns of C per CTA
constexpr int kDepth = 8;   // steps of the inner dimension per tile of B
constexpr int kRows = 128;  // of C per CTA, one per thread

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int rows, int columns, int inner, float alpha, float beta) {
    __shared__ float b_tile[kDepth][kWidth];
    const int thread = kWidth * threadIdx.y + threadIdx.x;
    const int row = kRows * blockIdx.x + thread;
    const int column0 = kWidth * blockIdx.y;
    float sum[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum[j] = 0.0f;
    for (int k = 0; k < inner; k += kDepth) {
        b_tile[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * columns + column0 + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int step = 0; step < kDepth; ++step) {
            const float mine = a[(k + step) * rows + row];
#pragma unroll
            for (int j = 0; j < kWidth; ++j) sum[j] += mine * b_tile[step][j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
        float* at = &c[(column0 + j) * rows + row];
        *at = beta * *at + alpha * sum[j];
    }
}
