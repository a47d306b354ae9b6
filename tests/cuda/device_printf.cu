// SPDX-License-Identifier: MIT
// What kernels print appears, formatted, before the next output of the host; with an argument, a failed assertion or a trap.
#include <cassert>
#include <cstring>

#include "check.cuh"

__global__ void talk(int* data) {
    assert(data != nullptr);
    if (threadIdx.x == 0) printf("CTA %d\n", static_cast<int>(blockIdx.x));
    atomicAdd(data, 1);
}
__global__ void formats(long long wide) {
    printf("[%5d|%-4u|%x|%lld|%8.3f|%e|%s|%c|%%|%*d]\n", -7, 12u, 255u, wide, 2.5, 1e10, "text", 'c', 4, 9);
}
__global__ void wrong(const int* data) {
    assert(threadIdx.x < 2 || data == nullptr);
}
__global__ void trapped() {
    __trap();
}

int main(int argc, char** argv) {
    int *device, count = 0;
    OK(cudaMalloc(&device, sizeof count));
    if (argc > 1) {
        const bool asserts = std::strcmp(argv[1], "assert") == 0;
        if (asserts)
            wrong<<<1, 4>>>(device);
        else
            trapped<<<1, 1>>>();
        const cudaError_t error = cudaDeviceSynchronize();
        CHECK(error == (asserts ? cudaErrorAssert : cudaErrorLaunchFailure));
        CHECK(cudaGetLastError() == error);
        std::printf("device_printf: %s\n", cudaGetErrorString(error));
        return 0;
    }
    OK(cudaMemset(device, 0, sizeof count));
    for (int k = 0; k < 2; ++k) talk<<<3, 32>>>(device);
    formats<<<1, 1>>>(-12345678901234LL);
    OK(cudaGetLastError());
    OK(cudaMemcpy(&count, device, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(count == 2 * 3 * 32);
    std::printf("device_printf: the kernel ran %d times\n", 2);
}
