// SPDX-License-Identifier: MIT
// Asynchronous copies to shared memory: by __pipeline_memcpy_async, by cuda::pipeline of a thread and of a block (with a producer and
// consumers), and by cuda::barrier. Each kernel adds up the rows of a matrix, tile by tile.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#include <vector>

#include "check.cuh"

#pragma nv_diag_suppress static_var_with_dynamic_init  // of barriers in shared memory; the kernels initialize them

namespace cg = cooperative_groups;
constexpr int kThreads = 128, kTiles = 13, kStages = 3;

__global__ void by_primitives(const int4* in, int* out) {
    __shared__ int4 tile[kStages][kThreads];
    const unsigned t = threadIdx.x;
    const int4* from = in + blockIdx.x * kTiles * kThreads + t;
    const auto fetch = [&](int k) {
        if (k < kTiles) __pipeline_memcpy_async(&tile[k % kStages][t], from + k * kThreads, 16, k == kTiles - 1 ? 8 : 0);
        __pipeline_commit();
    };
    for (int k = 0; k < kStages - 1; ++k) fetch(k);
    int sum = 0;
    for (int k = 0; k < kTiles; ++k) {
        fetch(k + kStages - 1);
        __pipeline_wait_prior(kStages - 1);
        __syncthreads();
        const int4 v = tile[k % kStages][kThreads - 1 - t];
        sum += v.x + v.y + v.z + v.w;
        __syncthreads();
    }
    out[blockIdx.x * kThreads + t] = sum;
}

template <cuda::thread_scope Scope>
__device__ int sum_of_tiles(cuda::pipeline<Scope>& pipe, int4 (*tile)[kThreads], const int4* in) {
    const auto block = cg::this_thread_block();
    const unsigned t = threadIdx.x;
    int sum = 0;
    for (int computed = 0, fetched = 0; computed < kTiles; ++computed) {
        for (; fetched < kTiles && fetched < computed + kStages; ++fetched) {
            pipe.producer_acquire();
            if (Scope == cuda::thread_scope_thread)
                cuda::memcpy_async(&tile[fetched % kStages][t], in + fetched * kThreads + t, sizeof(int4), pipe);
            else
                cuda::memcpy_async(block, tile[fetched % kStages], in + fetched * kThreads, sizeof(int4) * kThreads, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        block.sync();
        const int4 v = tile[computed % kStages][kThreads - 1 - t];
        sum += v.x + v.y + v.z + v.w;
        block.sync();
        pipe.consumer_release();
    }
    return sum;
}

__global__ void by_pipeline_of_thread(const int4* in, int* out) {
    __shared__ int4 tile[kStages][kThreads];
    auto pipe = cuda::make_pipeline();
    out[blockIdx.x * kThreads + threadIdx.x] = sum_of_tiles(pipe, tile, in + blockIdx.x * kTiles * kThreads);
}
__global__ void by_pipeline_of_block(const int4* in, int* out) {
    __shared__ int4 tile[kStages][kThreads];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state);
    out[blockIdx.x * kThreads + threadIdx.x] = sum_of_tiles(pipe, tile, in + blockIdx.x * kTiles * kThreads);
}

/// The first warp produces, the other threads consume.
__global__ void by_roles(const int4* in, int* out) {
    __shared__ int4 tile[kStages][kThreads];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
    const auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state, 32);
    in += blockIdx.x * kTiles * kThreads;
    const unsigned t = threadIdx.x;
    if (t < 32) {
        for (int k = 0; k < kTiles; ++k) {
            pipe.producer_acquire();
            for (unsigned i = t; i < kThreads; i += 32)
                cuda::memcpy_async(&tile[k % kStages][i], in + k * kThreads + i, cuda::aligned_size_t<16>(sizeof(int4)), pipe);
            pipe.producer_commit();
        }
    } else {
        int sum[2] = {};
        for (int k = 0; k < kTiles; ++k) {
            pipe.consumer_wait();
            for (unsigned i = t - 32, n = 0; i < kThreads; i += kThreads - 32, ++n) {
                const int4 v = tile[k % kStages][kThreads - 1 - i];
                sum[n] += v.x + v.y + v.z + v.w;
            }
            pipe.consumer_release();
        }
        for (unsigned i = t - 32, n = 0; i < kThreads; i += kThreads - 32, ++n) out[blockIdx.x * kThreads + i] = sum[n];
    }
}

__global__ void by_barrier(const int4* in, int* out) {
    __shared__ int4 tile[kThreads];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    const auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    in += blockIdx.x * kTiles * kThreads;
    const unsigned t = threadIdx.x;
    int sum = 0;
    for (int k = 0; k < kTiles; ++k) {
        cuda::memcpy_async(block, tile, in + k * kThreads, sizeof(int4) * kThreads, bar);
        bar.arrive_and_wait();
        const int4 v = tile[kThreads - 1 - t];
        sum += v.x + v.y + v.z + v.w;
        bar.arrive_and_wait();
    }
    out[blockIdx.x * kThreads + t] = sum;
}

int main() {
    constexpr int blocks = 3, rows = blocks * kThreads;
    std::vector<int> in(std::size_t{blocks} * kTiles * kThreads * 4), out(rows);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 7 % 1009);
    int4* from;
    int* to;
    OK(cudaMalloc(&from, in.size() * sizeof(int)));
    OK(cudaMalloc(&to, rows * sizeof(int)));
    OK(cudaMemcpy(from, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
    const auto expect = [&](bool filled) {
        OK(cudaGetLastError());
        OK(cudaMemcpy(out.data(), to, rows * sizeof(int), cudaMemcpyDeviceToHost));
        for (int r = 0; r < rows; ++r) {
            int sum = 0;
            for (int k = 0; k < kTiles; ++k) {
                const int* row = &in[std::size_t(((r / kThreads) * kTiles + k) * kThreads + kThreads - 1 - r % kThreads) * 4];
                sum += row[0] + row[1] + (filled && k == kTiles - 1 ? 0 : row[2] + row[3]);
            }
            CHECK(out[r] == sum);
        }
        OK(cudaMemset(to, 0, rows * sizeof(int)));
    };
    by_primitives<<<blocks, kThreads>>>(from, to);
    expect(true);
    by_pipeline_of_thread<<<blocks, kThreads>>>(from, to);
    expect(false);
    by_pipeline_of_block<<<blocks, kThreads>>>(from, to);
    expect(false);
    by_roles<<<blocks, kThreads>>>(from, to);
    expect(false);
    by_barrier<<<blocks, kThreads>>>(from, to);
    expect(false);
    std::printf("async_pipeline: 5 ways to copy are right\n");
}
