// SPDX-License-Identifier: MIT
// C = alpha A B^T + alpha B A^T + beta C. As syrk with twice the footprint.

extern "C" __global__ void syr2k(const float* a, const float* b, float* c, float alpha, float beta, int n, int m) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    c[i * n + j] *= beta;
    for (int k = 0; k < m; ++k)
        c[i * n + j] += alpha * a[i * m + k] * b[j * m + k] + alpha * b[i * m + k] * a[j * m + k];
}
