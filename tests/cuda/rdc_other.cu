// SPDX-License-Identifier: MIT
#include "check.cuh"

__device__ int shared_counter = 100;
__constant__ int other_factor = 7;
__device__ __noinline__ int twice(int value) { return 2 * value; }
template <class T>
__device__ __noinline__ T cube(T value) { return value * value * value; }
static __device__ int table[2] = {1, 2};
static __device__ __noinline__ int own(int value) { return value * table[value & 1]; }

__global__ void second(int* result) {
    const int i = static_cast<int>(threadIdx.x);
    result[i] = own(i) + cube(i);
}

int launch_other(int* device) {
    second<<<1, 32>>>(device);
    OK(cudaGetLastError());
    int count;
    OK(cudaMemcpyFromSymbol(&count, shared_counter, sizeof count));
    return count;
}
