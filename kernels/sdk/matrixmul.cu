// SPDX-License-Identifier: MIT
// C = A B with 32x32 tiles of A and B in shared memory; one thread per element of C.

constexpr int kTile = 32;

extern "C" __global__ void matrix_mul(float* c, const float* a, const float* b, int inner, int columns) {
    __shared__ float a_tile[kTile][kTile];
    __shared__ float b_tile[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = kTile * blockIdx.y + ty;
    const int column = kTile * blockIdx.x + tx;
    float sum = 0.0f;
    for (int step = 0; step < inner; step += kTile) {
        a_tile[ty][tx] = a[row * inner + step + tx];
        b_tile[ty][tx] = b[(step + ty) * columns + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTile; ++k) sum += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[row * columns + column] = sum;
}
