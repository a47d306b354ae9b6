// SPDX-License-Identifier: MIT
// Counts in shared memory, then atomics in global memory: a task that ran twice or not at all would change the sums.
#include "cluster.cuh"

struct Histogram {
    const unsigned* values;
    unsigned* counts;
    int n, per_cta;

    __device__ void operator()(dim3 block, dim3) const {
        __shared__ unsigned own[64];
        if (threadIdx.x < 64) own[threadIdx.x] = 0;
        __syncthreads();
        const int first = block.x * per_cta, end = min(first + per_cta, n);
        for (int i = first + static_cast<int>(threadIdx.x); i < end; i += blockDim.x) atomicAdd(&own[values[i] % 64], 1u);
        __syncthreads();
        if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
    }
};

int main() {
    constexpr int n = 30000, per_cta = 300;
    const DeviceArray<unsigned> values(shuffled(n));
    DeviceArray<unsigned> counts(64);
    compare("histogram", {n / per_cta, 96}, counts, 0, Histogram{values.at(), counts.at(), n, per_cta});
}
