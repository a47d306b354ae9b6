// SPDX-License-Identifier: MIT
// Atomics in shared and global memory: counts, the largest value, and a place in a list for everything that is found.
#include <algorithm>
#include <vector>

#include "check.cuh"

constexpr int kBins = 64;

__global__ void count(const int* values, int n, int* bins, int* largest, int* smallest, int* found, int* places) {
    __shared__ int local[kBins];
    for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += static_cast<int>(blockDim.x)) local[bin] = 0;
    __syncthreads();
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += static_cast<int>(gridDim.x * blockDim.x)) {
        const int value = values[i];
        atomicAdd(&local[value % kBins], 1);
        atomicMax(largest, value);
        atomicMin(smallest, value);
        if (value % 10 == 0) places[atomicAdd(found, 1)] = i;
    }
    __syncthreads();
    for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += static_cast<int>(blockDim.x)) atomicAdd(&bins[bin], local[bin]);
}

/// A lock of compare-and-swap, and an exchange that remembers one of the CTAs.
__global__ void locked_sum(unsigned* lock, int* sum, int* last) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0u, 1u) != 0u) {}
    __threadfence();
    *const_cast<volatile int*>(sum) += static_cast<int>(blockIdx.x);
    __threadfence();
    atomicExch(lock, 0u);
    atomicExch(last, static_cast<int>(blockIdx.x));
}

int main() {
    constexpr int n = 6000;
    std::vector<int> values(n), bins(kBins), places(n), expected_bins(kBins), expected_places;
    for (int i = 0; i < n; ++i) {
        values[i] = static_cast<int>(static_cast<unsigned>(i) * 2654435761u >> 16) % 5000 + 3;
        ++expected_bins[values[i] % kBins];
        if (values[i] % 10 == 0) expected_places.push_back(i);
    }
    int *device, *words;  // words: bins, largest, smallest, found, sum, last, lock
    OK(cudaMalloc(&device, 2 * n * sizeof(int)));
    OK(cudaMalloc(&words, (kBins + 6) * sizeof(int)));
    OK(cudaMemcpy(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemset(words, 0, (kBins + 6) * sizeof(int)));
    const int far = 1 << 30;
    OK(cudaMemcpy(words + kBins + 1, &far, sizeof far, cudaMemcpyHostToDevice));
    count<<<7, 96>>>(device, n, words, words + kBins, words + kBins + 1, words + kBins + 2, device + n);
    OK(cudaGetLastError());
    locked_sum<<<20, 32>>>(reinterpret_cast<unsigned*>(words + kBins + 5), words + kBins + 3, words + kBins + 4);
    OK(cudaGetLastError());
    int rest[6];
    OK(cudaMemcpy(bins.data(), words, kBins * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(rest, words + kBins, sizeof rest, cudaMemcpyDeviceToHost));
    CHECK(bins == expected_bins);
    CHECK(rest[0] == *std::max_element(values.begin(), values.end()));
    CHECK(rest[1] == *std::min_element(values.begin(), values.end()));
    CHECK(rest[2] == static_cast<int>(expected_places.size()));
    places.resize(expected_places.size());
    OK(cudaMemcpy(places.data(), device + n, places.size() * sizeof(int), cudaMemcpyDeviceToHost));
    std::sort(places.begin(), places.end());
    CHECK(places == expected_places);
    CHECK(rest[3] == 20 * 19 / 2 && rest[4] >= 0 && rest[4] < 20 && rest[5] == 0);
    std::printf("histogram: all counts are right\n");
}
