// SPDX-License-Identifier: MIT
// Constant memory: what the source says, what the host writes over it, part of it, and between launches.
#include <vector>

#include "check.cuh"

struct Filter {
    int taps[5];
    int shift;
};
__constant__ Filter filter = {{0, 0, 1, 0, 0}, 0};
__constant__ int bias;

__global__ void convolve(const int* from, int* to, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    int sum = bias;
    for (int k = 0; k < 5; ++k) {
        const int at = i + k - 2;
        if (at >= 0 && at < n) sum += filter.taps[k] * from[at];
    }
    to[i] = sum << filter.shift;
}

int main() {
    constexpr int n = 1000;
    std::vector<int> values(n), got(n);
    for (int i = 0; i < n; ++i) values[i] = i * 31 % 101;
    int *from, *to;
    OK(cudaMalloc(&from, n * sizeof(int)));
    OK(cudaMalloc(&to, n * sizeof(int)));
    OK(cudaMemcpy(from, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    Filter used = {{0, 0, 1, 0, 0}, 0};
    int used_bias = 0;
    for (int round = 0; round < 3; ++round) {
        if (round == 1) {
            used = {{1, -2, 3, -2, 1}, 1};
            used_bias = 50;
            OK(cudaMemcpyToSymbol(filter, &used, sizeof used));
            OK(cudaMemcpyToSymbol(bias, &used_bias, sizeof used_bias));
        } else if (round == 2) {
            used.taps[4] = 9;
            OK(cudaMemcpyToSymbol(filter, &used.taps[4], sizeof(int), 4 * sizeof(int)));
        }
        convolve<<<(n + 127) / 128, 128>>>(from, to, n);
        OK(cudaGetLastError());
        OK(cudaMemcpy(got.data(), to, n * sizeof(int), cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; ++i) {
            int sum = used_bias;
            for (int k = 0; k < 5; ++k) sum += i + k - 2 >= 0 && i + k - 2 < n ? used.taps[k] * values[i + k - 2] : 0;
            CHECK(got[i] == sum * (1 << used.shift));
        }
    }
    Filter read_back;
    OK(cudaMemcpyFromSymbol(&read_back, filter, sizeof read_back));
    CHECK(read_back.taps[3] == -2 && read_back.taps[4] == 9 && read_back.shift == 1);
    std::printf("constant: three filters are right\n");
}
