// SPDX-License-Identifier: MIT
// Many kernels in one program: templates, structures by value, device functions, properties of the device.
#include <cmath>
#include <vector>

#include "check.cuh"

template <class T>
struct Line {
    T slope;
    T offset;
    char tag;
    __device__ T at(T x) const { return slope * x + offset; }
};

template <class T, int Unroll>
__global__ void evaluate(Line<T> line, const T* x, T* y, int n) {
    const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * Unroll;
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
        if (first + k < n) y[first + k] = line.at(x[first + k]);
    }
}

__device__ __noinline__ float wave(float x) { return sinf(x) + expf(-x * x) + sqrtf(fabsf(x)); }
__global__ void waves(float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) y[i] = wave(0.01f * static_cast<float>(i));
}
__global__ void histogram(const unsigned char* data, int n, unsigned* bins) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += static_cast<int>(gridDim.x * blockDim.x)) atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

template <class T, int Unroll>
static void try_evaluate() {
    constexpr int n = 1000;
    std::vector<T> x(n), y(n);
    for (int i = 0; i < n; ++i) x[i] = static_cast<T>(i);
    T *dx, *dy;
    OK(cudaMalloc(&dx, n * sizeof(T)));
    OK(cudaMalloc(&dy, n * sizeof(T)));
    OK(cudaMemcpy(dx, x.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    evaluate<T, Unroll><<<(n + 64 * Unroll - 1) / (64 * Unroll), 64>>>(Line<T>{3, 4, 'x'}, dx, dy, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(y.data(), dy, n * sizeof(T), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) CHECK(y[i] == static_cast<T>(3 * i + 4));
    OK(cudaFree(dx));
    OK(cudaFree(dy));
}

int main() {
    try_evaluate<float, 1>();
    try_evaluate<float, 4>();
    try_evaluate<double, 2>();
    try_evaluate<long long, 4>();
    constexpr int n = 3000;
    float* device;
    std::vector<float> y(n);
    OK(cudaMalloc(&device, n * sizeof(float)));
    waves<<<(n + 255) / 256, 256>>>(device, n);
    OK(cudaMemcpy(y.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) {
        const double x = 0.01 * i;
        CHECK(std::fabs(y[i] - (std::sin(x) + std::exp(-x * x) + std::sqrt(x))) < 1e-4);
    }
    unsigned char* bytes;
    unsigned* bins;
    std::vector<unsigned char> data(10000);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * i % 251);
    OK(cudaMalloc(&bytes, data.size()));
    OK(cudaMalloc(&bins, 256 * sizeof(unsigned)));
    OK(cudaMemset(bins, 0, 256 * sizeof(unsigned)));
    OK(cudaMemcpy(bytes, data.data(), data.size(), cudaMemcpyHostToDevice));
    histogram<<<4, 256>>>(bytes, static_cast<int>(data.size()), bins);
    std::vector<unsigned> got(256), expected(256);
    OK(cudaMemcpy(got.data(), bins, 256 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (unsigned char c : data) ++expected[c];
    CHECK(got == expected);

    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    int sms, threads, blocks, best, grid;
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    CHECK(properties.multiProcessorCount == sms && properties.maxThreadsPerMultiProcessor == threads);
    CHECK(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024 && properties.hostRegisterSupported == 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, histogram, 256, 0));
    CHECK(blocks >= 1 && blocks <= threads / 256);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &best, histogram, 0, 0));
    CHECK(best >= 32 && grid >= sms);
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, histogram));
    CHECK(attributes.sharedSizeBytes == 1024 && attributes.numRegs > 0 && attributes.ptxVersion >= 75);
    int version;
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version / 1000 == 13);
    std::printf("templates: all as expected on %s\n", properties.name);
}
