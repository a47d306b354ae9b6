// SPDX-License-Identifier: MIT
// A tree of sums in dynamic shared memory with a barrier at every step; the block is 2-D and not a whole number of warps.
#include "cluster.cuh"

struct Reduction {
    const float* in;
    float* sums;
    int n;

    __device__ void operator()(dim3 block, dim3) const {
        extern __shared__ float parts[];
        const int threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
        const int i = block.x * threads + thread;
        parts[thread] = i < n ? in[i] : 0.0f;
        for (int width = threads; width > 1; width = (width + 1) / 2) {
            const int half = (width + 1) / 2;
            __syncthreads();
            if (thread + half < width) parts[thread] += parts[thread + half];
        }
        if (thread == 0) sums[block.x] = parts[0];
    }
};

int main() {
    constexpr int n = 15000, threads = 9 * 13, ctas = (n + threads - 1) / threads;
    const DeviceArray<float> in(random_floats(n));
    DeviceArray<float> sums(ctas);
    compare("reduction", {ctas, dim3(9, 13), threads * sizeof(float)}, sums, 0xFF, Reduction{in.at(), sums.at(), n});
}
