// SPDX-License-Identifier: MIT
// out = in^T, twice: naive (a load touches 32 lines, a store one) and through a padded tile in shared memory.

constexpr int kTile = 32;
constexpr int kRows = 8;  // CTAs of 32x8 threads

extern "C" __global__ void transpose_naive(float* out, const float* in, int width, int height) {
    const int x = kTile * blockIdx.x + threadIdx.x;  // row of `in`
    const int y = kRows * blockIdx.y + threadIdx.y;  // column of `in`
    out[y * height + x] = in[x * width + y];
}

extern "C" __global__ void transpose_tiled(float* out, const float* in, int width, int height) {
    __shared__ float tile[kTile][kTile + 1];  // a column of words falls into 32 banks
    int x = kTile * blockIdx.x + threadIdx.x;
    int y = kTile * blockIdx.y + threadIdx.y;
#pragma unroll
    for (int i = 0; i < kTile; i += kRows) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
    __syncthreads();
    x = kTile * blockIdx.y + threadIdx.x;
    y = kTile * blockIdx.x + threadIdx.y;
#pragma unroll
    for (int i = 0; i < kTile; i += kRows) out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}
