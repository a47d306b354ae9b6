// SPDX-License-Identifier: MIT
// syrk and syr2k for more CTAs than those programs have, over the first m of `pitch` columns. Lanes read 32 different rows, the same 32
// for all warps of a CTA and for all CTAs of a column of the grid.

extern "C" __global__ void rank_k(const float* a, float* c, float alpha, float beta, int n, int m, int pitch) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    c[i * n + j] *= beta;
    for (int k = 0; k < m; ++k) c[i * n + j] += alpha * a[i * pitch + k] * a[j * pitch + k];
}

extern "C" __global__ void rank_2k(const float* a, const float* b, float* c, float alpha, float beta, int n, int m, int pitch) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    c[i * n + j] *= beta;
    for (int k = 0; k < m; ++k)
        c[i * n + j] += alpha * a[i * pitch + k] * b[j * pitch + k] + alpha * b[i * pitch + k] * a[j * pitch + k];
}
