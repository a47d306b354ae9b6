// SPDX-License-Identifier: MIT
// Stream-ordered allocation from the default pool and from one of the program's own, with the books that pools keep.
#include <cstdint>

#include "check.cuh"

__global__ void fill(int* data, int value) {
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main() {
    int supported;
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK(supported == 1);
    cudaMemPool_t pool, own;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t threshold = UINT64_MAX, read = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    CHECK(read == threshold);
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&own, &properties));
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    constexpr int count = 4096;
    int *first, *second, host[2] = {};
    OK(cudaMallocAsync(&first, count * sizeof(int), stream));
    OK(cudaMallocFromPoolAsync(&second, count * sizeof(int), own, stream));
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &read));
    CHECK(read == count * sizeof(int));
    fill<<<count / 128, 128, 0, stream>>>(first, 3);
    fill<<<count / 128, 128, 0, stream>>>(second, 4);
    OK(cudaMemcpyAsync(&host[0], first + count - 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaMemcpyAsync(&host[1], second + count - 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(first, stream));
    OK(cudaFreeAsync(second, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[0] == 3 && host[1] == 4);
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &read));
    CHECK(read == 0);
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemHigh, &read));
    CHECK(read == count * sizeof(int));
    OK(cudaMemPoolTrimTo(own, 0));
    OK(cudaMemPoolDestroy(own));
    CHECK(cudaMemPoolDestroy(own) == cudaErrorInvalidResourceHandle || cudaGetLastError() != cudaSuccess);
    cudaGetLastError();
    std::printf("pools: all as expected\n");
}
