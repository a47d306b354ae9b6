// SPDX-License-Identifier: MIT
// Shared memory, static and dynamic, with barriers; a constant and a variable that the host writes and reads.
#include <vector>

#include "check.cuh"

__constant__ int weights[4] = {1, 1, 1, 1};
__device__ unsigned long long total;
__device__ int calls = 40;

__global__ void weighted_sum(const int* values, int n) {
    __shared__ int warp_sums[32];
    extern __shared__ int staged[];
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    staged[threadIdx.x] = i < n ? values[i] * weights[i % 4] : 0;
    __syncthreads();
    int sum = staged[blockDim.x - 1 - threadIdx.x];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, step);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (unsigned w = 0; w < blockDim.x / 32; ++w) all += warp_sums[w];
        atomicAdd(&total, static_cast<unsigned long long>(all));
        atomicAdd(&calls, 1);
    }
}

int main() {
    constexpr int n = 5000;
    std::vector<int> values(n);
    const int chosen[4] = {1, 2, 3, 4};
    unsigned long long expected = 0;
    for (int i = 0; i < n; ++i) {
        values[i] = i % 100;
        expected += static_cast<unsigned long long>(values[i] * chosen[i % 4]);
    }
    int read_back[2];
    OK(cudaMemcpyFromSymbol(read_back, weights, sizeof read_back, 2 * sizeof(int)));
    CHECK(read_back[0] == 1 && read_back[1] == 1);
    OK(cudaMemcpyToSymbol(weights, chosen, sizeof chosen));
    int* device;
    OK(cudaMalloc(&device, sizeof(int) * n));
    OK(cudaMemcpy(device, values.data(), sizeof(int) * n, cudaMemcpyHostToDevice));
    weighted_sum<<<(n + 127) / 128, 128, 128 * sizeof(int)>>>(device, n);
    OK(cudaGetLastError());
    unsigned long long got = 0;
    OK(cudaMemcpyFromSymbol(&got, total, sizeof got));
    CHECK(got == expected);
    void* address;
    size_t bytes;
    OK(cudaGetSymbolAddress(&address, calls));
    OK(cudaGetSymbolSize(&bytes, calls));
    CHECK(bytes == sizeof(int));
    int count;
    OK(cudaMemcpy(&count, address, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(count == 40 + (n + 127) / 128);
    std::printf("reduction: the sum is %llu\n", got);
}
