// SPDX-License-Identifier: MIT
// Lines that a test finds by their comments.
#include "check.cuh"

__device__ __forceinline__ float twice(const float* p, int i) {
    return 2 * p[i];  // inlined
}

__global__ void sum(const float* in, float* out, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    float all = in[i * 32 % n];  // direct
    all += twice(in, i);         // call
    out[i] = all;
}

int main() {
    const int n = 1 << 16;
    float *in, *out;
    OK(cudaMalloc(&in, n * sizeof(float)));
    OK(cudaMalloc(&out, n * sizeof(float)));
    OK(cudaMemset(in, 0, n * sizeof(float)));
    sum<<<64, 128>>>(in, out, n);
    OK(cudaDeviceSynchronize());
    std::printf("done\n");
}
