// SPDX-License-Identifier: MIT
// One thread tells the others a number through a variable in shared memory: nobody may read it before the barrier.
#include <vector>

#include "check.cuh"

__global__ void tell(const unsigned* numbers, unsigned* heard, int count) {
    __shared__ unsigned told;
    if (threadIdx.x == 0) told = 7;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned sum = 0;
        for (int i = 0; i < count; ++i) sum += numbers[i];
        told = sum;
    }
    __syncthreads();
    heard[threadIdx.x] = told;
}

int main() {
    constexpr int threads = 96, count = 10;
    unsigned *numbers, *heard;
    OK(cudaMalloc(&numbers, count * sizeof *numbers));
    OK(cudaMalloc(&heard, threads * sizeof *heard));
    OK(cudaMemset(numbers, 1, count * sizeof *numbers));
    tell<<<1, threads>>>(numbers, heard, count);
    OK(cudaGetLastError());
    std::vector<unsigned> host(threads);
    OK(cudaMemcpy(host.data(), heard, threads * sizeof *heard, cudaMemcpyDeviceToHost));
    for (const unsigned number : host) CHECK(number == count * 0x01010101u);
    std::printf("all heard the sum\n");
}
