// SPDX-License-Identifier: MIT
// G = (A B)(C D): the same product kernel launched three times under three names; sums stay in memory.

static __device__ __forceinline__ void multiply(const float* a, const float* b, float* product, int rows, int columns, int inner) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    product[i * columns + j] = 0.0f;
    for (int k = 0; k < inner; ++k) product[i * columns + j] += a[i * inner + k] * b[k * columns + j];
}

extern "C" __global__ void three_mm_first(const float* a, const float* b, float* e, int rows, int columns, int inner) {
    multiply(a, b, e, rows, columns, inner);
}
extern "C" __global__ void three_mm_second(const float* c, const float* d, float* f, int rows, int columns, int inner) {
    multiply(c, d, f, rows, columns, inner);
}
extern "C" __global__ void three_mm_third(const float* e, const float* f, float* g, int rows, int columns, int inner) {
    multiply(e, f, g, rows, columns, inner);
}
