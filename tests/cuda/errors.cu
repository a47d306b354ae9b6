// SPDX-License-Identifier: MIT
// What goes wrong is answered as the real runtime answers it.
#include <cstring>

#include "check.cuh"

__global__ void touch(int* data) { data[threadIdx.x] = 1; }
__device__ int variable;
static int not_a_symbol;

int main() {
    int* device;
    OK(cudaMalloc(&device, 4096));
    touch<<<1, 2048>>>(device);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    touch<<<0, 32>>>(device);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    touch<<<1, 32, 1 << 20>>>(device);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    int host[4] = {};
    CHECK(cudaMemcpy(device, host, 8192, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(host, host, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(device, host, 4, static_cast<cudaMemcpyKind>(9)) == cudaErrorInvalidMemcpyDirection);
    CHECK(cudaMemcpyToSymbol(not_a_symbol, host, 4) == cudaErrorInvalidSymbol);
    CHECK(cudaMemcpyToSymbol(variable, host, 8) == cudaErrorInvalidValue);
    CHECK(cudaFree(host) == cudaErrorInvalidValue);
    OK(cudaFree(nullptr));
    void* huge;
    CHECK(cudaMalloc(&huge, size_t{1} << 60) == cudaErrorMemoryAllocation);
    CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
    CHECK(cudaEventQuery(nullptr) == cudaErrorInvalidResourceHandle);
    cudaIpcMemHandle_t shared;
    CHECK(cudaIpcGetMemHandle(&shared, device) == cudaErrorNotSupported);
    CHECK(std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
    CHECK(std::strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
    cudaGetLastError();
    touch<<<1, 32>>>(device);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[3] == 1);
    std::printf("errors: all as expected\n");
}
