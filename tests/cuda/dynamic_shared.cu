// SPDX-License-Identifier: MIT
// Shared memory whose size the launch decides, next to a static array and under two types, also above the usual 48 KiB.
#include <vector>

#include "check.cuh"

extern __shared__ unsigned char room[];

__global__ void reverse(const int* from, int* to, int n) {
    __shared__ int total;
    int* const staged = reinterpret_cast<int*>(room);
    unsigned char* const marks = room + n * sizeof(int);
    if (threadIdx.x == 0) total = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
        staged[i] = from[static_cast<int>(blockIdx.x) * n + i];
        marks[i] = staged[i] % 3 == 0;
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
        to[static_cast<int>(blockIdx.x) * n + i] = staged[n - 1 - i];
        atomicAdd(&total, static_cast<int>(marks[n - 1 - i]));
    }
    __syncthreads();
    if (threadIdx.x == 0) to[static_cast<int>(blockIdx.x) * n] += 1000000 * total;
}

static void try_size(int n, int ctas) {
    std::vector<int> values(n * ctas), got(n * ctas);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 11 % 1000);
    int *from, *to;
    OK(cudaMalloc(&from, values.size() * sizeof(int)));
    OK(cudaMalloc(&to, values.size() * sizeof(int)));
    OK(cudaMemcpy(from, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
    reverse<<<ctas, 128, n * (sizeof(int) + 1)>>>(from, to, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(got.data(), to, values.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int cta = 0; cta < ctas; ++cta) {
        int total = 0;
        for (int i = 0; i < n; ++i) total += values[cta * n + i] % 3 == 0;
        for (int i = 0; i < n; ++i) CHECK(got[cta * n + i] == values[cta * n + n - 1 - i] + (i == 0 ? 1000000 * total : 0));
    }
    OK(cudaFree(from));
    OK(cudaFree(to));
}

int main() {
    try_size(100, 3);
    try_size(2000, 2);
    // More than 48 KiB only after it was asked for, and only where an SM has it.
    int most;
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    const int n = 11000, bytes = n * static_cast<int>(sizeof(int) + 1);
    reverse<<<1, 128, bytes>>>(nullptr, nullptr, n);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    if (most >= bytes + 1024) {
        OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        try_size(n, 1);
    }
    std::printf("dynamic_shared: all reversed\n");
}
