// SPDX-License-Identifier: MIT
// A kernel that cannot be executed (it uses an instruction that is not implemented): the program is told, and so is the user.
#include "check.cuh"

__global__ void query_texture(cudaTextureObject_t texture, unsigned* out) {
    unsigned width;
    asm("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(texture));
    out[threadIdx.x] = width;
}
__global__ void fine(unsigned* out) {
    out[threadIdx.x] = 1;
}

int main() {
    unsigned* device;
    OK(cudaMalloc(&device, 4096));
    fine<<<1, 32>>>(device);
    OK(cudaGetLastError());
    query_texture<<<1, 32>>>(0, device);
    CHECK(cudaGetLastError() == cudaErrorInvalidPtx);
    std::printf("unsupported: refused\n");
}
