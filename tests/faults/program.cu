// SPDX-License-Identifier: MIT
// What run.py gives to `mergelane cuda`: it checks every call, says what failed on standard error, and allocates nothing on the host
// itself, so that an allocation that fails is one of the runtime.
#include <cstdio>
#include <cstdlib>

#define OK(call)                                                                                                              \
    do {                                                                                                                      \
        const cudaError_t error = (call);                                                                                     \
        if (error != cudaSuccess) {                                                                                           \
            std::fprintf(stderr, "program: line %d: %s: %s\n", __LINE__, cudaGetErrorName(error), cudaGetErrorString(error)); \
            std::exit(1);                                                                                                     \
        }                                                                                                                     \
    } while (0)

constexpr unsigned kCount = 256;
__constant__ unsigned step;
static unsigned host[kCount];

__global__ void add_step(unsigned* data, unsigned* shared) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] += step;
    if (i == 0) *shared += 1;
}

int main() {
    unsigned *device, *shared;
    const unsigned three = 3;
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMallocHost(&shared, sizeof *shared));
    *shared = 0;
    OK(cudaMemset(device, 0, sizeof host));
    OK(cudaMemcpyToSymbol(step, &three, sizeof three));
    for (int launch = 0; launch < 2; ++launch) add_step<<<kCount / 64, 64>>>(device, shared);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < kCount; ++i) {
        if (host[i] == 2 * three && *shared == 2) continue;
        std::fprintf(stderr, "program: wrong result\n");
        return 9;  // no exit code that run.py takes for an answer
    }
    OK(cudaFree(device));
    OK(cudaFreeHost(shared));
    return 0;
}
