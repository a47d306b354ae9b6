// SPDX-License-Identifier: MIT
// A kernel that prints and asserts runs; that neither has an effect is said once.
#include <cassert>

#include "check.cuh"

__global__ void talk(int* data) {
    assert(data != nullptr);
    if (threadIdx.x == 0) printf("CTA %d\n", static_cast<int>(blockIdx.x));
    atomicAdd(data, 1);
}

int main() {
    int *device, count = 0;
    OK(cudaMalloc(&device, sizeof count));
    OK(cudaMemset(device, 0, sizeof count));
    for (int k = 0; k < 2; ++k) talk<<<3, 32>>>(device);
    OK(cudaGetLastError());
    OK(cudaMemcpy(&count, device, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(count == 2 * 3 * 32);
    std::printf("device_printf: the kernel ran %d times\n", 2);
}
