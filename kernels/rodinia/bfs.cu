// SPDX-License-Identifier: MIT
// Level-synchronous breadth-first search on a graph in compressed rows: one thread per node, two kernels per level.

struct Edges {
    int start;
    int count;
};

// Nodes of the frontier give their neighbours a distance. Several may reach one neighbour; all write the same value.
extern "C" __global__ void bfs_expand(const Edges* nodes, const int* edges, unsigned char* frontier, unsigned char* reached,
                                      const unsigned char* visited, int* cost, int node_count) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= node_count || !frontier[node]) return;
    frontier[node] = 0;
    const int end = nodes[node].start + nodes[node].count;
    for (int edge = nodes[node].start; edge < end; ++edge) {
        const int neighbour = edges[edge];
        if (!visited[neighbour]) {
            cost[neighbour] = cost[node] + 1;
            reached[neighbour] = 1;
        }
    }
}

// What was reached becomes the next frontier.
extern "C" __global__ void bfs_advance(unsigned char* frontier, unsigned char* reached, unsigned char* visited, unsigned char* again,
                                       int node_count) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= node_count || !reached[node]) return;
    frontier[node] = 1;
    visited[node] = 1;
    *again = 1;
    reached[node] = 0;
}
