// SPDX-License-Identifier: MIT
// Sums of rows, a thread each, before and after; docs/advise.md shows these kernels. Without an argument the first, with one the second.
#include <cstdio>
#include <vector>

#include <mergelane/cta_cluster.cuh>

constexpr int kRows = 40960, kColumns = 128, kThreads = 128;

// before
__global__ void row_sums(const float* a, float* sums) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < kColumns; ++k) sum += a[row * kColumns + k];
    sums[row] = sum;
}

// after
__global__ void row_sums_agents(mergelane::Agents agents, const float* a, float* sums) {
    for (const dim3 block : agents) {
        const int row = block.x * blockDim.x + threadIdx.x;
        float sum = 0;
        for (int k = 0; k < kColumns; ++k) sum += a[row * kColumns + k];
        sums[row] = sum;
    }
}

int main(int count, char**) {
    std::vector<float> host(static_cast<std::size_t>(kRows) * kColumns), sums(kRows);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i % 17);
    float *a = nullptr, *out = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&a), host.size() * sizeof(float));
    cudaMalloc(reinterpret_cast<void**>(&out), sums.size() * sizeof(float));
    cudaMemcpy(a, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
    const dim3 grid(kRows / kThreads), block(kThreads);
    if (count == 1) {
        row_sums<<<grid, block>>>(a, out);
    } else {
        mergelane::AgentState state;
        mergelane::Agents agents;
        cudaError_t error = state.create();
        if (error == cudaSuccess) error = state.plan(agents, row_sums_agents, block, 0, grid, mergelane::Order::rows(), mergelane::AgentOptions{4, mergelane::AgentId::counter, 4});
        if (error == cudaSuccess) row_sums_agents<<<agents.ctas(), block>>>(agents, a, out);
        cudaDeviceSynchronize();
    }
    const cudaError_t error = cudaMemcpy(sums.data(), out, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
    double total = 0;
    for (const float sum : sums) total += sum;
    std::printf("%s, sum of everything %.0f\n", error == cudaSuccess ? "done" : cudaGetErrorString(error), total);
    return error == cudaSuccess ? 0 : 1;
}
