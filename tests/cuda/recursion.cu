// SPDX-License-Identifier: MIT
// Functions that call themselves: sums over a tree through pointers to variables of callers, and Ackermann's function.
#include <cstdio>

__host__ __device__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

/// Counts the nodes of a tree whose shape depends on `seed`, and adds up their depths.
__host__ __device__ void walk(int seed, int depth, int* nodes, long long* depths) {
    int below[4] = {0, 0, 0, 0};
    long long sums[4] = {0, 0, 0, 0};
    const int children = depth == 5 ? 0 : (seed + depth) % 4;
    for (int c = 0; c < children; ++c) walk(seed * 5 + c, depth + 1, &below[c], &sums[(c + depth) % 4]);
    *nodes += 1 + below[0] + below[1] + below[2] + below[3];
    *depths += depth + sums[0] + sums[1] + sums[2] + sums[3];
}

__global__ void recursive(int* values, int* nodes, long long* depths) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = ackermann(i % 3, i % 5);
    nodes[i] = 0;
    depths[i] = 0;
    walk(i, 0, &nodes[i], &depths[i]);
}

int main() {
    constexpr int kThreads = 128;
    int *values, *nodes;
    long long* depths;
    if (cudaMallocManaged(&values, kThreads * sizeof *values) != cudaSuccess ||
        cudaMallocManaged(&nodes, kThreads * sizeof *nodes) != cudaSuccess ||
        cudaMallocManaged(&depths, kThreads * sizeof *depths) != cudaSuccess)
        return 1;
    recursive<<<2, kThreads / 2>>>(values, nodes, depths);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    int wrong = 0;
    for (int i = 0; i < kThreads; ++i) {
        int count = 0;
        long long sum = 0;
        walk(i, 0, &count, &sum);
        wrong += values[i] != ackermann(i % 3, i % 5) || nodes[i] != count || depths[i] != sum;
    }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
