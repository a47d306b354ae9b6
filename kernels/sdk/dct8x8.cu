// SPDX-License-Identifier: MIT
// Cosine transform of 8x8 pixel blocks, quantisation in place, and the inverse transform. CTAs of 8x8 threads: four of them share
// every 128-byte line.

constexpr int kBlock = 8;

// cosine[k][n]: the k-th orthonormal basis function at n.
__constant__ float cosine[kBlock][kBlock] = {
    {0.35355339f, 0.35355339f, 0.35355339f, 0.35355339f, 0.35355339f, 0.35355339f, 0.35355339f, 0.35355339f},
    {0.49039264f, 0.41573481f, 0.27778512f, 0.09754516f, -0.09754516f, -0.27778512f, -0.41573481f, -0.49039264f},
    {0.46193977f, 0.19134172f, -0.19134172f, -0.46193977f, -0.46193977f, -0.19134172f, 0.19134172f, 0.46193977f},
    {0.41573481f, -0.09754516f, -0.49039264f, -0.27778512f, 0.27778512f, 0.49039264f, 0.09754516f, -0.41573481f},
    {0.35355339f, -0.35355339f, -0.35355339f, 0.35355339f, 0.35355339f, -0.35355339f, -0.35355339f, 0.35355339f},
    {0.27778512f, -0.49039264f, 0.09754516f, 0.41573481f, -0.41573481f, -0.09754516f, 0.49039264f, -0.27778512f},
    {0.19134172f, -0.46193977f, 0.46193977f, -0.19134172f, -0.19134172f, 0.46193977f, -0.46193977f, 0.19134172f},
    {0.09754516f, -0.27778512f, 0.41573481f, -0.49039264f, 0.49039264f, -0.41573481f, 0.27778512f, -0.09754516f},
};

// Steps grow with frequency.
__constant__ float quantum[kBlock][kBlock] = {
    {16.0f, 19.0f, 22.0f, 25.0f, 28.0f, 31.0f, 34.0f, 37.0f},
    {19.0f, 23.0f, 27.0f, 31.0f, 35.0f, 39.0f, 43.0f, 47.0f},
    {22.0f, 27.0f, 32.0f, 37.0f, 42.0f, 47.0f, 52.0f, 57.0f},
    {25.0f, 31.0f, 37.0f, 43.0f, 49.0f, 55.0f, 61.0f, 67.0f},
    {28.0f, 35.0f, 42.0f, 49.0f, 56.0f, 63.0f, 70.0f, 77.0f},
    {31.0f, 39.0f, 47.0f, 55.0f, 63.0f, 71.0f, 79.0f, 87.0f},
    {34.0f, 43.0f, 52.0f, 61.0f, 70.0f, 79.0f, 88.0f, 97.0f},
    {37.0f, 47.0f, 57.0f, 67.0f, 77.0f, 87.0f, 97.0f, 107.0f},
};

extern "C" __global__ void dct_forward(float* coefficients, const float* image, int width) {
    __shared__ float block[kBlock][kBlock];
    __shared__ float half[kBlock][kBlock];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int index = (kBlock * blockIdx.y + ty) * width + kBlock * blockIdx.x + tx;
    block[ty][tx] = image[index] - 128.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < kBlock; ++n) sum += cosine[ty][n] * block[n][tx];
    half[ty][tx] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int n = 0; n < kBlock; ++n) sum += half[ty][n] * cosine[tx][n];
    coefficients[index] = sum;
}

extern "C" __global__ void dct_quantise(float* coefficients, int width) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int index = (kBlock * blockIdx.y + ty) * width + kBlock * blockIdx.x + tx;
    const float step = quantum[ty][tx];
    coefficients[index] = rintf(coefficients[index] / step) * step;
}

extern "C" __global__ void dct_inverse(float* image, const float* coefficients, int width) {
    __shared__ float block[kBlock][kBlock];
    __shared__ float half[kBlock][kBlock];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int index = (kBlock * blockIdx.y + ty) * width + kBlock * blockIdx.x + tx;
    block[ty][tx] = coefficients[index];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kBlock; ++k) sum += cosine[k][ty] * block[k][tx];
    half[ty][tx] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kBlock; ++k) sum += half[ty][k] * cosine[k][tx];
    image[index] = sum + 128.0f;
}
