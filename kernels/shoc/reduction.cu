// SPDX-License-Identifier: MIT
// Sum of an array: every thread adds two elements per stride of the grid, then a tree in shared memory.

constexpr int kThreads = 256;

extern "C" __global__ void reduce_sum(const float* in, float* out, int n) {
    __shared__ float sums[kThreads];
    const int thread = threadIdx.x;
    const int stride = 2 * kThreads * gridDim.x;
    float sum = 0.0f;
    for (int i = 2 * kThreads * blockIdx.x + thread; i < n; i += stride) sum += in[i] + in[i + kThreads];
    sums[thread] = sum;
    __syncthreads();
    for (int reach = kThreads / 2; reach > 0; reach /= 2) {
        if (thread < reach) sums[thread] += sums[thread + reach];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}
