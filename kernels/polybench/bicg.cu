// SPDX-License-Identifier: MIT
// The two products of the biconjugate gradient method: s = A^T r reads along rows, q = A p gives every lane its own row.

extern "C" __global__ void bicg_columns(const float* a, const float* r, float* s, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    s[j] = 0.0f;
    for (int i = 0; i < rows; ++i) s[j] += a[i * columns + j] * r[i];
}

extern "C" __global__ void bicg_rows(const float* a, const float* p, float* q, int rows, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    q[i] = 0.0f;
    for (int j = 0; j < columns; ++j) q[i] += a[i * columns + j] * p[j];
}
