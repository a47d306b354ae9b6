// SPDX-License-Identifier: MIT
// 3x3 convolution of a matrix, one thread per element, CTAs of 32x8.

extern "C" __global__ void convolution_2d(const float* a, float* b, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || i >= rows - 1 || j < 1 || j >= columns - 1) return;
    b[i * columns + j] = 0.2f * a[(i - 1) * columns + j - 1] + -0.3f * a[i * columns + j - 1] + 0.4f * a[(i + 1) * columns + j - 1] +
                         0.5f * a[(i - 1) * columns + j] + 0.6f * a[i * columns + j] + 0.7f * a[(i + 1) * columns + j] +
                         -0.8f * a[(i - 1) * columns + j + 1] + -0.9f * a[i * columns + j + 1] + 0.1f * a[(i + 1) * columns + j + 1];
}
