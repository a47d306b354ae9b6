// SPDX-License-Identifier: MIT
// y = A^T (A x). The first kernel gives every lane its own row of A (32 lines per load), the second one reads along rows.

extern "C" __global__ void atax_rows(const float* a, const float* x, float* product, int rows, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    for (int j = 0; j < columns; ++j) product[i] += a[i * columns + j] * x[j];
}

extern "C" __global__ void atax_columns(const float* a, const float* product, float* y, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    for (int i = 0; i < rows; ++i) y[j] += a[i * columns + j] * product[i];
}
