// SPDX-License-Identifier: MIT
// A tiled matrix product on a 2-D grid, before and after; docs/cta-cluster.md shows these kernels.
#include "cluster.cuh"

constexpr int kTile = 16;

// before
__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float as[kTile][kTile], bs[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * kTile + tx, row = blockIdx.y * kTile + ty;
    float sum = 0;
    for (int k = 0; k < n; k += kTile) {
        as[ty][tx] = a[row * n + k + tx];
        bs[ty][tx] = b[(k + ty) * n + column];
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// after: agents
__global__ void matmul_agents(mergelane::Agents agents, const float* a, const float* b, float* c, int n) {
    __shared__ float as[kTile][kTile], bs[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    for (const dim3 block : agents) {
        const int column = block.x * kTile + tx, row = block.y * kTile + ty;
        float sum = 0;
        for (int k = 0; k < n; k += kTile) {
            as[ty][tx] = a[row * n + k + tx];
            bs[ty][tx] = b[(k + ty) * n + column];
            __syncthreads();
            for (int i = 0; i < kTile; ++i) sum += as[ty][i] * bs[i][tx];
            __syncthreads();
        }
        c[row * n + column] = sum;
    }
}

// after: redirection
__global__ void matmul_redirected(mergelane::Order order, unsigned sms, const float* a, const float* b, float* c, int n) {
    const dim3 block = mergelane::redirect(order, sms);
    __shared__ float as[kTile][kTile], bs[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = block.x * kTile + tx, row = block.y * kTile + ty;
    float sum = 0;
    for (int k = 0; k < n; k += kTile) {
        as[ty][tx] = a[row * n + k + tx];
        bs[ty][tx] = b[(k + ty) * n + column];
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main() {
    constexpr int n = 80;
    const dim3 grid(n / kTile, n / kTile), block(kTile, kTile);
    const DeviceArray<float> a(random_floats(n * n)), b(random_floats(n * n));
    DeviceArray<float> c(n * n);
    compare(
        "matmul", {grid, block}, c, 0xFF, matmul_agents, [&] { matmul<<<grid, block>>>(a.at(), b.at(), c.at(), n); },
        [&](mergelane::Order order, unsigned sms) { matmul_redirected<<<grid, block>>>(order, sms, a.at(), b.at(), c.at(), n); },
        [&](mergelane::Agents agents) { matmul_agents<<<agents.ctas(), block>>>(agents, a.at(), b.at(), c.at(), n); });
}
