// SPDX-License-Identifier: MIT
// Memory of the program that is registered: the host places it differently in every run, and kernels find pointers to it in memory.
#include <vector>

#include "check.cuh"

struct List {
    const List* next;
    unsigned value;
};

__global__ void add(unsigned* out, const unsigned* in, const List* list, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned sum = in[(i * 37) % n];
    for (const List* at = list; at != nullptr; at = at->next) sum += at->value;
    out[i] += sum;
}

int main() {
    constexpr unsigned n = 20000;
    unsigned* const in = static_cast<unsigned*>(std::malloc(n * sizeof(unsigned)));
    std::vector<unsigned> out(n, 1);
    List list[40];  // on the stack
    for (unsigned i = 0; i < n; ++i) in[i] = i;
    for (int i = 0; i < 40; ++i) list[i] = {i == 39 ? nullptr : &list[(i + 1) % 40], 1};
    OK(cudaHostRegister(in, n * sizeof(unsigned), 0));
    OK(cudaHostRegister(list, sizeof list, 0));
    OK(cudaHostRegister(out.data(), n * sizeof(unsigned), 0));
    for (int k = 0; k < 2; ++k) add<<<(n + 127) / 128, 128>>>(out.data(), in, list, n);
    OK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < n; ++i) CHECK(out[i] == 1 + 2 * ((i * 37) % n + 40));
    OK(cudaHostUnregister(in));
    // Its place is free for the next one.
    unsigned* const pinned = [] {
        unsigned* made = nullptr;
        OK(cudaMallocHost(&made, 4096));
        return made;
    }();
    add<<<1, 32>>>(out.data(), pinned, list, 32);
    OK(cudaDeviceSynchronize());
    std::printf("host_register: all as expected\n");
    return 0;
}
