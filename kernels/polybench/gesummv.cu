// SPDX-License-Identifier: MIT
// y = alpha A x + beta B x; every lane its own row of both matrices.

extern "C" __global__ void gesummv(const float* a, const float* b, const float* x, float* product, float* y, float alpha, float beta,
                                   int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; ++j) {
        product[i] += a[i * n + j] * x[j];
        y[i] += b[i * n + j] * x[j];
    }
    y[i] = alpha * product[i] + beta * y[i];
}
