// SPDX-License-Identifier: MIT
// C = alpha A B + beta C, one thread per element of C, which stays in memory: every iteration loads twice and stores once.

extern "C" __global__ void gemm(const float* a, const float* b, float* c, float alpha, float beta, int rows, int columns, int inner) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    c[i * columns + j] *= beta;
    for (int k = 0; k < inner; ++k) c[i * columns + j] += alpha * a[i * inner + k] * b[k * columns + j];
}
