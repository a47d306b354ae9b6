// SPDX-License-Identifier: MIT
// D = alpha A B C + beta D as two products; sums stay in memory.

extern "C" __global__ void two_mm_first(const float* a, const float* b, float* product, float alpha, int rows, int columns, int inner) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    product[i * columns + j] = 0.0f;
    for (int k = 0; k < inner; ++k) product[i * columns + j] += alpha * a[i * inner + k] * b[k * columns + j];
}

extern "C" __global__ void two_mm_second(const float* product, const float* c, float* d, float beta, int rows, int columns, int inner) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    d[i * columns + j] *= beta;
    for (int k = 0; k < inner; ++k) d[i * columns + j] += product[i * inner + k] * c[k * columns + j];
}
