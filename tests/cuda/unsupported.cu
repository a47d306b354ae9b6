// SPDX-License-Identifier: MIT
// A kernel that cannot be executed (it uses a texture): the program is told, and so is the user.
#include "check.cuh"

__global__ void read_texture(cudaTextureObject_t texture, float* out) { out[threadIdx.x] = tex1Dfetch<float>(texture, static_cast<int>(threadIdx.x)); }
__global__ void fine(float* out) { out[threadIdx.x] = 1; }

int main() {
    float* device;
    OK(cudaMalloc(&device, 4096));
    fine<<<1, 32>>>(device);
    OK(cudaGetLastError());
    read_texture<<<1, 32>>>(0, device);
    CHECK(cudaGetLastError() == cudaErrorInvalidPtx);
    std::printf("unsupported: refused\n");
}
