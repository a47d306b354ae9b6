// SPDX-License-Identifier: MIT
// Kernels allocate memory that outlives them, until the heap is exhausted; and they wait for a clock.
#include "check.cuh"

struct Link {
    int value;
    Link* next;
};

__global__ void build(Link** heads, int length) {
    Link* head = nullptr;
    for (int k = 0; k < length; ++k) head = new Link{static_cast<int>(threadIdx.x) * 100 + k, head};
    heads[threadIdx.x] = head;
}
__global__ void sum(Link** heads, int* sums) {
    int total = 0;
    for (Link* link = heads[threadIdx.x]; link != nullptr;) {
        Link* const next = link->next;
        total += link->value;
        delete link;
        link = next;
    }
    sums[threadIdx.x] = total;
}
__global__ void exhaust(int* got) {
    void* first = malloc(3 << 19);
    void* second = malloc(3 << 19);
    *got = (first != nullptr ? 1 : 0) + (second != nullptr ? 2 : 0);
    free(first);
    free(second);
}
__global__ void wait(long long cycles, long long* waited) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    *waited = clock64() - begin;
}

int main() {
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 << 20));
    size_t bytes;
    OK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
    CHECK(bytes == 2 << 20);
    constexpr int threads = 64, length = 10;
    Link** heads;
    int *sums, host[threads], *got;
    long long* waited;
    OK(cudaMalloc(&heads, threads * sizeof(Link*)));
    OK(cudaMalloc(&sums, sizeof host));
    OK(cudaMallocManaged(&got, sizeof *got));
    OK(cudaMallocManaged(&waited, sizeof *waited));
    build<<<1, threads>>>(heads, length);
    sum<<<1, threads>>>(heads, sums);
    OK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int t = 0; t < threads; ++t) CHECK(host[t] == t * 100 * length + length * (length - 1) / 2);
    exhaust<<<1, 1>>>(got);
    OK(cudaDeviceSynchronize());
    CHECK(*got == 1);
    wait<<<1, 32>>>(100000, waited);
    OK(cudaDeviceSynchronize());
    CHECK(*waited >= 100000 && *waited < 200000);
    std::printf("device_heap: lists built and freed\n");
}
