// SPDX-License-Identifier: MIT
// Relocatable device code of two files: functions and variables of the other, names both use for themselves.
#include "check.cuh"

extern __device__ int shared_counter;
__device__ int twice(int value);
extern __constant__ int other_factor;
template <class T>
__device__ __noinline__ T cube(T value) { return value * value * value; }
int launch_other(int* device);
static __device__ int table[2] = {10, 20};
static __device__ __noinline__ int own(int value) { return value + table[value & 1]; }

__global__ void first(int* result) {
    const int i = static_cast<int>(threadIdx.x);
    result[i] = twice(i) * other_factor + own(i) + cube(i);
    atomicAdd(&shared_counter, 1);
}

int main() {
    int* device;
    int host[32];
    OK(cudaMalloc(&device, sizeof host));
    first<<<1, 32>>>(device);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; ++i) CHECK(host[i] == 2 * i * 7 + i + (i % 2 == 0 ? 10 : 20) + i * i * i);
    CHECK(launch_other(device) == 32 + 100);
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; ++i) CHECK(host[i] == (i % 2 == 0 ? 1 : 2) * i + i * i * i);
    std::printf("rdc: both files agree\n");
}
