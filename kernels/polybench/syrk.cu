// SPDX-License-Identifier: MIT
// C = alpha A A^T + beta C. Lanes read 32 different rows of A, the same 32 for all warps of a CTA.

extern "C" __global__ void syrk(const float* a, float* c, float alpha, float beta, int n, int m) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    c[i * n + j] *= beta;
    for (int k = 0; k < m; ++k) c[i * n + j] += alpha * a[i * m + k] * a[j * m + k];
}
