// SPDX-License-Identifier: MIT
// Shortest paths from one vertex, round by round: the vertices whose distance has changed (the frontier) relax their edges. A round sorts the
// frontier into three lists by degree, relaxes each list with a kernel of its own (a thread, a warp or a CTA per vertex), and compacts the
// vertices that changed. Distances of a round depend only on those of the round before, so that the order of atomics does not matter.

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

// Sum of the values of all threads before this one; `total` is the sum of all.
__device__ __forceinline__ int scan_cta(int value, int (&of_warp)[kWarps], int& total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = value;
#pragma unroll
    for (int reach = 1; reach < 32; reach *= 2) {
        const int other = __shfl_up_sync(~0u, sum, reach);
        if (lane >= reach) sum += other;
    }
    __syncthreads();
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    int before = 0;
    total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
        if (w == warp) before = total;
        total += of_warp[w];
    }
    return before + sum - value;
}

__device__ __forceinline__ int list_of(int degree) {
    return degree < 8 ? 0 : degree < 128 ? 1 : 2;
}

__device__ __forceinline__ void relax(const int* targets, const int* weights, int* distances, int edge, int distance) {
    atomicMin(&distances[targets[edge]], distance + weights[edge]);
}

}  // namespace

// How many vertices of each tile of 256 belong to list `which`; `count` is where the length of the frontier is.
extern "C" __global__ void count_list(const int* frontier, const int* count, const int* offsets, int* of_tile, int which) {
    __shared__ int of_warp[kWarps];
    const int at = blockIdx.x * kThreads + threadIdx.x;
    int mine = 0, total;
    if (at < *count) {
        const int vertex = frontier[at];
        mine = list_of(offsets[vertex + 1] - offsets[vertex]) == which;
    }
    scan_cta(mine, of_warp, total);
    if (threadIdx.x == 0) of_tile[blockIdx.x] = total;
}

// Turns counts into the places where tiles begin. One CTA.
extern "C" __global__ void scan_tiles(int* of_tile, int tiles, int* total) {
    __shared__ int of_warp[kWarps];
    int before = 0;
    for (int first = 0; first < tiles; first += kThreads) {
        const int at = first + threadIdx.x;
        int here;
        const int place = scan_cta(at < tiles ? of_tile[at] : 0, of_warp, here);
        if (at < tiles) of_tile[at] = before + place;
        before += here;
    }
    if (threadIdx.x == 0) *total = before;
}

extern "C" __global__ void fill_list(const int* frontier, const int* count, const int* offsets, const int* of_tile, int* list, int which) {
    __shared__ int of_warp[kWarps];
    const int at = blockIdx.x * kThreads + threadIdx.x;
    int vertex = 0, mine = 0, total;
    if (at < *count) {
        vertex = frontier[at];
        mine = list_of(offsets[vertex + 1] - offsets[vertex]) == which;
    }
    const int place = of_tile[blockIdx.x] + scan_cta(mine, of_warp, total);
    if (mine) list[place] = vertex;
}

// Edges of a vertex: targets and weights from offsets[vertex] on. `before`: distances of the round before.
extern "C" __global__ void relax_by_thread(const int* list, const int* count, const int* offsets, const int* targets, const int* weights,
                                           const int* before, int* distances) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= *count) return;
    const int vertex = list[at];
    for (int edge = offsets[vertex]; edge < offsets[vertex + 1]; ++edge) relax(targets, weights, distances, edge, before[vertex]);
}
extern "C" __global__ void relax_by_warp(const int* list, const int* count, const int* offsets, const int* targets, const int* weights,
                                         const int* before, int* distances) {
    const int at = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (at >= *count) return;
    const int vertex = list[at];
    for (int edge = offsets[vertex] + threadIdx.x % 32; edge < offsets[vertex + 1]; edge += 32)
        relax(targets, weights, distances, edge, before[vertex]);
}
extern "C" __global__ void relax_by_cta(const int* list, const int* count, const int* offsets, const int* targets, const int* weights,
                                        const int* before, int* distances) {
    for (int at = blockIdx.x; at < *count; at += gridDim.x) {
        const int vertex = list[at];
        for (int edge = offsets[vertex] + threadIdx.x; edge < offsets[vertex + 1]; edge += blockDim.x)
            relax(targets, weights, distances, edge, before[vertex]);
    }
}

// How many vertices of each tile have a new distance.
extern "C" __global__ void count_changed(const int* before, const int* distances, int* of_tile, int vertices) {
    __shared__ int of_warp[kWarps];
    const int vertex = blockIdx.x * kThreads + threadIdx.x;
    int total;
    scan_cta(vertex < vertices && distances[vertex] != before[vertex], of_warp, total);
    if (threadIdx.x == 0) of_tile[blockIdx.x] = total;
}

// The next frontier, in the order of vertices.
extern "C" __global__ void fill_changed(const int* before, const int* distances, const int* of_tile, int* frontier, int vertices) {
    __shared__ int of_warp[kWarps];
    const int vertex = blockIdx.x * kThreads + threadIdx.x;
    const bool changed = vertex < vertices && distances[vertex] != before[vertex];
    int total;
    const int place = of_tile[blockIdx.x] + scan_cta(changed, of_warp, total);
    if (changed) frontier[place] = vertex;
}

extern "C" __global__ void keep_distances(const int* frontier, const int* count, const int* distances, int* before) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < *count) before[frontier[at]] = distances[frontier[at]];
}

// The sum of distances and the number of edges of the frontier: what a host program would watch.
extern "C" __global__ void watch(const int* frontier, const int* count, const int* offsets, const int* distances,
                                 unsigned long long* sums) {
    __shared__ unsigned long long of_warp[2][kWarps];
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned distance = 0, edges = 0;  // those of a warp fit
    if (at < *count) {
        const int vertex = frontier[at];
        distance = distances[vertex];
        edges = offsets[vertex + 1] - offsets[vertex];
    }
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) {
        distance += __shfl_xor_sync(~0u, distance, reach);
        edges += __shfl_xor_sync(~0u, edges, reach);
    }
    if (threadIdx.x % 32 == 0) {
        of_warp[0][threadIdx.x / 32] = distance;
        of_warp[1][threadIdx.x / 32] = edges;
    }
    __syncthreads();
    if (threadIdx.x >= 2) return;
    unsigned long long sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += of_warp[threadIdx.x][w];
    atomicAdd(&sums[threadIdx.x], sum);
}
