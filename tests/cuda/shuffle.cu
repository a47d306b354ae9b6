// SPDX-License-Identifier: MIT
// Values that lanes of a warp give each other: sums by shuffles in all four directions, votes.
#include <vector>

#include "check.cuh"

constexpr unsigned kAll = 0xFFFFFFFFu;

__global__ void warps(const float* values, float* sums, int* scans, int* others) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int lane = i % 32;
    float sum = values[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(kAll, sum, step);
    float everywhere = values[i];
    for (int step = 16; step > 0; step /= 2) everywhere += __shfl_xor_sync(kAll, everywhere, step);
    if (lane == 0) sums[i / 32] = sum;
    __syncwarp();
    if (lane == 31) sums[i / 32] += everywhere;  // twice the sum
    int scan = lane + 1;
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(kAll, scan, step);
        if (lane >= step) scan += before;
    }
    scans[i] = scan;
    const unsigned odd = __ballot_sync(kAll, static_cast<int>(values[i]) % 2 != 0);
    const int all_small = __all_sync(kAll, values[i] < 1000), any_large = __any_sync(kAll, values[i] > 90);
    // The value of the lane that mirrors this one, and what the votes said.
    others[i] = __shfl_sync(kAll, static_cast<int>(values[i]), 31 - lane) + 1000 * __popc(odd) + 100000 * all_small + 1000000 * any_large;
}

int main() {
    constexpr int n = 256;
    std::vector<float> values(n), sums(n / 32);
    std::vector<int> scans(n), others(n);
    for (int i = 0; i < n; ++i) values[i] = static_cast<float>(i * i % 97);
    float *device_values, *device_sums;
    int *device_scans, *device_others;
    OK(cudaMalloc(&device_values, n * sizeof(float)));
    OK(cudaMalloc(&device_sums, n / 32 * sizeof(float)));
    OK(cudaMalloc(&device_scans, n * sizeof(int)));
    OK(cudaMalloc(&device_others, n * sizeof(int)));
    OK(cudaMemcpy(device_values, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    warps<<<2, n / 2>>>(device_values, device_sums, device_scans, device_others);
    OK(cudaGetLastError());
    OK(cudaMemcpy(sums.data(), device_sums, n / 32 * sizeof(float), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(scans.data(), device_scans, n * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(others.data(), device_others, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int w = 0; w < n / 32; ++w) {
        float sum = 0;
        int odd = 0;
        bool large = false;
        for (int lane = 0; lane < 32; ++lane) {
            sum += values[w * 32 + lane];
            odd += static_cast<int>(values[w * 32 + lane]) % 2;
            large |= values[w * 32 + lane] > 90;
        }
        CHECK(sums[w] == 2 * sum);
        for (int lane = 0; lane < 32; ++lane) {
            CHECK(scans[w * 32 + lane] == (lane + 1) * (lane + 2) / 2);
            CHECK(others[w * 32 + lane] == static_cast<int>(values[w * 32 + 31 - lane]) + 1000 * odd + 100000 + 1000000 * large);
        }
    }
    std::printf("shuffle: all warps agree\n");
}
