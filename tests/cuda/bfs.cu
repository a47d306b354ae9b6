// SPDX-License-Identifier: MIT
// Breadth-first search: two kernels per level, and the host decides by a flag whether there is another one.
#include <vector>

#include "check.cuh"

__global__ void expand(const int* first_edge, const int* edges, const unsigned char* frontier, unsigned char* next, int* levels, int level, int n) {
    const int node = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (node >= n || frontier[node] == 0) return;
    for (int e = first_edge[node]; e < first_edge[node + 1]; ++e) {
        const int to = edges[e];
        if (levels[to] < 0) {
            levels[to] = level;  // all who come here write the same
            next[to] = 1;
        }
    }
}

__global__ void advance(unsigned char* frontier, unsigned char* next, int* more, int n) {
    const int node = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (node >= n) return;
    frontier[node] = next[node];
    if (next[node] != 0) *more = 1;
    next[node] = 0;
}

int main() {
    constexpr int n = 1500;
    std::vector<int> first_edge(n + 1), edges, expected(n, -1), levels(n, -1);
    unsigned state = 7;
    for (int node = 0; node < n; ++node) {
        first_edge[node] = static_cast<int>(edges.size());
        for (int e = 0; e < node % 4; ++e) {
            state = state * 1664525u + 1013904223u;
            edges.push_back(static_cast<int>((state >> 8) % n));
        }
        if (node % 50 != 49 && node + 1 < n) edges.push_back(node + 1);
    }
    first_edge[n] = static_cast<int>(edges.size());
    std::vector<int> queue = {0};
    expected[0] = levels[0] = 0;
    for (size_t at = 0; at < queue.size(); ++at) {
        for (int e = first_edge[queue[at]]; e < first_edge[queue[at] + 1]; ++e) {
            if (expected[edges[e]] >= 0) continue;
            expected[edges[e]] = expected[queue[at]] + 1;
            queue.push_back(edges[e]);
        }
    }
    int *device_first, *device_edges, *device_levels, *device_more;
    unsigned char *frontier, *next;
    OK(cudaMalloc(&device_first, first_edge.size() * sizeof(int)));
    OK(cudaMalloc(&device_edges, edges.size() * sizeof(int)));
    OK(cudaMalloc(&device_levels, n * sizeof(int)));
    OK(cudaMalloc(&device_more, sizeof(int)));
    OK(cudaMalloc(&frontier, n));
    OK(cudaMalloc(&next, n));
    OK(cudaMemcpy(device_first, first_edge.data(), first_edge.size() * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device_edges, edges.data(), edges.size() * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device_levels, levels.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemset(frontier, 0, n));
    OK(cudaMemset(frontier, 1, 1));
    OK(cudaMemset(next, 0, n));
    int level = 0;
    for (int more = 1; more != 0;) {
        ++level;
        OK(cudaMemset(device_more, 0, sizeof(int)));
        expand<<<(n + 127) / 128, 128>>>(device_first, device_edges, frontier, next, device_levels, level, n);
        advance<<<(n + 127) / 128, 128>>>(frontier, next, device_more, n);
        OK(cudaGetLastError());
        OK(cudaMemcpy(&more, device_more, sizeof more, cudaMemcpyDeviceToHost));
    }
    OK(cudaMemcpy(levels.data(), device_levels, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(levels == expected);
    CHECK(level == expected[queue.back()] + 1 && level > 5);
    std::printf("bfs: %zu of %d nodes in %d levels\n", queue.size(), n, level);
}
