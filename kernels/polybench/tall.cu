// SPDX-License-Identifier: MIT
// The products of atax, mvt and bicg that give every lane its own row, for matrices with many short rows: many CTAs, each with as many
// lines in use as it has threads.

extern "C" __global__ void atax_tall(const float* a, const float* x, float* product, int rows, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    for (int j = 0; j < columns; ++j) product[i] += a[i * columns + j] * x[j];
}

extern "C" __global__ void mvt_tall(const float* a, float* x1, const float* y1, int rows, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    for (int j = 0; j < columns; ++j) x1[i] += a[i * columns + j] * y1[j];
}

extern "C" __global__ void bicg_tall(const float* a, const float* p, float* q, int rows, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    q[i] = 0.0f;
    for (int j = 0; j < columns; ++j) q[i] += a[i * columns + j] * p[j];
}
