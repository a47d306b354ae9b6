// SPDX-License-Identifier: MIT
// A layer of a network: rows of activations times a matrix of weights. A CTA makes 32 x 32 results from tiles in shared memory, a thread 2 x 4
// of them in registers. Sizes are multiples of 32. A little arithmetic per byte, as large tiles have on tensor units.

constexpr int kTile = 32;

extern "C" __global__ void weights_product(const float4* a, const float4* b, float4* c, int inner, int columns) {
    __shared__ float left[kTile][kTile + 1];
    __shared__ float4 right[kTile][kTile / 4];
    const int thread = threadIdx.x;
    const int x = thread % 8, y = thread / 8;  // four columns, two rows
    const int row = blockIdx.y * kTile, column = blockIdx.x * (kTile / 4);
    const int a_pitch = inner / 4, b_pitch = columns / 4;
    float4 sum0 = {0, 0, 0, 0}, sum1 = {0, 0, 0, 0};
    for (int k = 0; k < inner; k += kTile) {
        for (int half = 0; half < 2; ++half) {
            const int line = y + 16 * half;
            const float4 part = a[(row + line) * a_pitch + k / 4 + x];
            left[line][4 * x] = part.x;
            left[line][4 * x + 1] = part.y;
            left[line][4 * x + 2] = part.z;
            left[line][4 * x + 3] = part.w;
            right[line][x] = b[(k + line) * b_pitch + column + x];
        }
        __syncthreads();
        for (int i = 0; i < kTile; ++i) {
            const float4 weights = right[i][x];
            const float upper = left[2 * y][i], lower = left[2 * y + 1][i];
            sum0.x += upper * weights.x;
            sum0.y += upper * weights.y;
            sum0.z += upper * weights.z;
            sum0.w += upper * weights.w;
            sum1.x += lower * weights.x;
            sum1.y += lower * weights.y;
            sum1.z += lower * weights.z;
            sum1.w += lower * weights.w;
        }
        __syncthreads();
    }
    c[(row + 2 * y) * b_pitch + column + x] = sum0;
    c[(row + 2 * y + 1) * b_pitch + column + x] = sum1;
}
