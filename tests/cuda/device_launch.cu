// SPDX-License-Identifier: MIT
// Kernels that launch kernels: a quicksort that divides its work by launches, memory from cudaMalloc in a kernel, the tail stream.
#include <vector>

#include "check.cuh"

__device__ void sort_simply(unsigned* data, int left, int right) {
    for (int i = left + 1; i <= right; ++i) {
        const unsigned value = data[i];
        int at = i;
        for (; at > left && data[at - 1] > value; --at) data[at] = data[at - 1];
        data[at] = value;
    }
}

__global__ void quicksort(unsigned* data, int left, int right) {
    if (right - left < 16) {
        sort_simply(data, left, right);
        return;
    }
    int low = left, high = right;
    const unsigned pivot = data[(left + right) / 2];
    while (low <= high) {
        while (data[low] < pivot) ++low;
        while (data[high] > pivot) --high;
        if (low > high) break;
        const unsigned other = data[low];
        data[low++] = data[high];
        data[high--] = other;
    }
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (left < high) quicksort<<<1, 1, 0, stream>>>(data, left, high);
    if (low < right) quicksort<<<1, 1, 0, stream>>>(data, low, right);
    cudaStreamDestroy(stream);
}

__global__ void fill(int* list, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) list[i] = i;
}
__global__ void sum(int* list, int count, int* result) {
    for (int i = 0; i < count; ++i) *result += list[i];
    cudaFree(list);
}
__global__ void parent(int* result) {
    int* list = nullptr;
    if (cudaMalloc(&list, 100 * sizeof(int)) != cudaSuccess) return;
    sum<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 100, result);
    fill<<<4, 32>>>(list, 100);
}

int main() {
    std::vector<unsigned> values(500);
    unsigned random = 1;
    for (unsigned& value : values) value = random = random * 1664525u + 1013904223u;
    unsigned* data;
    OK(cudaMalloc(&data, values.size() * sizeof(unsigned)));
    OK(cudaMemcpy(data, values.data(), values.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
    quicksort<<<1, 1>>>(data, 0, static_cast<int>(values.size()) - 1);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(values.data(), data, values.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (std::size_t i = 1; i < values.size(); ++i) CHECK(values[i - 1] <= values[i]);

    int* result;
    int total = 0;
    OK(cudaMalloc(&result, sizeof(int)));
    OK(cudaMemset(result, 0, sizeof(int)));
    parent<<<1, 1>>>(result);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&total, result, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(total == 4950);
    std::puts("kernels launch kernels");
}
