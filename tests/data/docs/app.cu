// SPDX-License-Identifier: MIT
// The program that pages of the documentation call `app`.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void scale(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 10000;
    std::vector<float> values(n, 1.5f);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(n + 127) / 128, 128>>>(in, out, n);
    cudaMemcpy(values.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (const float value : values) wrong += value != 3;
    std::printf("%d of %d values are wrong\n", wrong, n);
    return wrong != 0;
}
