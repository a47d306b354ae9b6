// SPDX-License-Identifier: MIT
// Eleven-point convolution of a volume: one launch per plane, one thread per element, CTAs of 32x8.

extern "C" __global__ void convolution_3d(const float* a, float* b, int planes, int rows, int columns, int plane) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (plane >= planes - 1 || y < 1 || y >= rows - 1 || x < 1 || x >= columns - 1) return;
    const int row = columns, slab = rows * columns;
    const int here = plane * slab + y * row + x;
    b[here] = 2.0f * a[here - slab - row - 1] + 4.0f * a[here + slab - row - 1] + 5.0f * a[here - slab - row + 1] +
              7.0f * a[here + slab - row + 1] + -3.0f * a[here - row] + 6.0f * a[here] + -9.0f * a[here + row] +
              2.0f * a[here - slab + row - 1] + 4.0f * a[here + slab + row - 1] + 5.0f * a[here - slab + row + 1] +
              7.0f * a[here + slab + row + 1];
}
