// SPDX-License-Identifier: MIT
// A kernel that cannot be executed (it asks for the width of a texture), and a program that does not ask whether it was. "ask": it does; "return": it
// fails for a reason of its own; "empty": it launches no CTA, which is an error without consequences.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.cuh"

__global__ void query(unsigned* data) { asm volatile("txq.width.b32 %0, [%1];" : "=r"(data[threadIdx.x]) : "l"(0ull)); }

static void last_words() { std::printf(" written\n"); }

int main(int words, char** word) {
    const char* const how = words > 1 ? word[1] : "";
    std::atexit(last_words);
    unsigned* device;
    OK(cudaMalloc(&device, 4096));
    query<<<std::strcmp(how, "empty") == 0 ? 0 : 1, 32>>>(device);
    if (std::strcmp(how, "ask") == 0) CHECK(cudaGetLastError() != cudaSuccess);
    if (std::strcmp(how, "return") == 0) return 7;
    std::printf("all");
}
