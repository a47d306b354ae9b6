// SPDX-License-Identifier: MIT
// Softmax of rows of half2, and layer norm of rows of bfloat16 with vector loads, against the CPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <vector>

#include "check.cuh"

constexpr int kRows = 24, kColumns = 512, kThreads = 128;

template <class Combine>
__device__ float of_the_cta(float mine, Combine combine) {
    __shared__ float parts[kThreads / 32];
    for (int step = 16; step > 0; step /= 2) mine = combine(mine, __shfl_xor_sync(0xffffffffu, mine, step));
    __syncthreads();  // the previous sum has been read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
    __syncthreads();
    float all = parts[0];
    for (int k = 1; k < kThreads / 32; ++k) all = combine(all, parts[k]);
    return all;
}

__global__ void softmax(const __half2* in, __half2* out) {
    const __half2* row = in + blockIdx.x * (kColumns / 2);
    __half2 most = __float2half2_rn(-65504.0f);
    for (int i = threadIdx.x; i < kColumns / 2; i += kThreads) most = __hmax2(most, row[i]);
    const float top = of_the_cta(__half2float(__hmax(__low2half(most), __high2half(most))), [](float a, float b) { return fmaxf(a, b); });
    __half2 kept[kColumns / 2 / kThreads];
    float sum = 0;
    for (int k = 0; k < kColumns / 2 / kThreads; ++k) {
        kept[k] = h2exp(__hsub2(row[threadIdx.x + k * kThreads], __float2half2_rn(top)));
        const float2 pair = __half22float2(kept[k]);
        sum += pair.x + pair.y;
    }
    const __half2 scale = __float2half2_rn(1 / of_the_cta(sum, [](float a, float b) { return a + b; }));
    for (int k = 0; k < kColumns / 2 / kThreads; ++k)
        out[blockIdx.x * (kColumns / 2) + threadIdx.x + k * kThreads] = __hmul2(kept[k], scale);
}

__global__ void layer_norm(const __nv_bfloat16* in, const __nv_bfloat16* weight, __nv_bfloat16* out) {
    const auto add = [](float a, float b) { return a + b; };
    const uint2 words = reinterpret_cast<const uint2*>(in + blockIdx.x * kColumns)[threadIdx.x];
    __nv_bfloat162 pair[2];
    memcpy(pair, &words, sizeof pair);
    const float2 low = __bfloat1622float2(pair[0]), high = __bfloat1622float2(pair[1]);
    float value[4] = {low.x, low.y, high.x, high.y};
    const float mean = of_the_cta(value[0] + value[1] + value[2] + value[3], add) / kColumns;
    float squares = 0;
    for (float& v : value) {
        v -= mean;
        squares += v * v;
    }
    const float scale = rsqrtf(of_the_cta(squares, add) / kColumns + 1e-5f);
    for (int k = 0; k < 4; ++k) {
        const int column = threadIdx.x * 4 + k;
        out[blockIdx.x * kColumns + column] = __hmul(__float2bfloat16(value[k] * scale), weight[column]);
    }
}

template <class T>
T* to_device(const std::vector<T>& host) {
    T* device;
    OK(cudaMalloc(&device, host.size() * sizeof(T)));
    OK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

int main() {
    constexpr int kAll = kRows * kColumns;
    std::vector<__half> h(kAll);
    std::vector<__nv_bfloat16> b(kAll), weight(kColumns);
    for (int i = 0; i < kAll; ++i) {
        const float value = static_cast<float>((i * 7919 + i / kColumns * 31) % 1009) / 126 - 4;
        h[i] = __float2half(value);
        b[i] = __float2bfloat16(value);
    }
    for (int i = 0; i < kColumns; ++i) weight[i] = __float2bfloat16(0.5f + static_cast<float>(i % 16) / 16);
    __half* soft = to_device(std::vector<__half>(kAll));
    __nv_bfloat16* normed = to_device(std::vector<__nv_bfloat16>(kAll));
    softmax<<<kRows, kThreads>>>(reinterpret_cast<__half2*>(to_device(h)), reinterpret_cast<__half2*>(soft));
    layer_norm<<<kRows, kThreads>>>(to_device(b), to_device(weight), normed);
    OK(cudaDeviceSynchronize());
    std::vector<__half> got_soft(kAll);
    std::vector<__nv_bfloat16> got_normed(kAll);
    OK(cudaMemcpy(got_soft.data(), soft, kAll * 2, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(got_normed.data(), normed, kAll * 2, cudaMemcpyDeviceToHost));
    for (int row = 0; row < kRows; ++row) {
        double sum = 0, mean = 0, squares = 0;
        for (int i = row * kColumns; i < (row + 1) * kColumns; ++i) {
            sum += std::exp(double{__half2float(h[i])});
            mean += double{__bfloat162float(b[i])} / kColumns;
        }
        for (int i = row * kColumns; i < (row + 1) * kColumns; ++i) squares += std::pow(double{__bfloat162float(b[i])} - mean, 2) / kColumns;
        for (int i = row * kColumns; i < (row + 1) * kColumns; ++i) {
            const double s = std::exp(double{__half2float(h[i])}) / sum;
            CHECK(std::abs(double{__half2float(got_soft[i])} - s) <= 0.004 * s + 1e-6);
            const double n = (double{__bfloat162float(b[i])} - mean) / std::sqrt(squares + 1e-5) * double{__bfloat162float(weight[i % kColumns])};
            CHECK(std::abs(double{__bfloat162float(got_normed[i])} - n) <= 0.012 * std::abs(n) + 1e-3);
        }
    }
    std::printf("half_precision: both are right\n");
}
