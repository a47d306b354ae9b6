// SPDX-License-Identifier: MIT
// Structures by value as parameters: mixed sizes, arrays, pointers, nested, empty, several at once.
#include <vector>

#include "check.cuh"

struct Nothing {};
struct Mixed {
    char tag;
    double weight;
    short few[3];
    long long big;
};
struct View {
    int* data;
    int rows, columns;
    __device__ int& at(int row, int column) const { return data[row * columns + column]; }
};
struct Pair {
    View from, to;
    Mixed mixed;
};
struct alignas(16) Four {
    float x, y, z, w;
};
struct Table {
    unsigned char bytes[200];
};

__global__ void transpose(char before, Pair pair, Nothing, unsigned char after) {
    const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x);
    const Mixed& m = pair.mixed;
    pair.to.at(column, row) = pair.from.at(row, column) * m.few[row % 3] + static_cast<int>(m.weight) + m.tag + static_cast<int>(m.big >> 32) + before + after;
}

__global__ void look_up(Four* out, Four scale, Table table, int n) {
    const int i = static_cast<int>(threadIdx.x);
    if (i >= n) return;
    const float value = table.bytes[i];
    out[i] = {value * scale.x, value * scale.y, value * scale.z, value * scale.w};
}

int main() {
    constexpr int rows = 13, columns = 40;
    std::vector<int> values(rows * columns), turned(rows * columns);
    for (int i = 0; i < rows * columns; ++i) values[i] = i * 3;
    int *from, *to;
    OK(cudaMalloc(&from, sizeof(int) * values.size()));
    OK(cudaMalloc(&to, sizeof(int) * values.size()));
    OK(cudaMemcpy(from, values.data(), sizeof(int) * values.size(), cudaMemcpyHostToDevice));
    const Pair pair = {{from, rows, columns}, {to, columns, rows}, {'!', 100.5, {2, -5, 7}, 77ll << 32}};
    transpose<<<rows, columns>>>(-4, pair, Nothing{}, 250);
    OK(cudaGetLastError());
    OK(cudaMemcpy(turned.data(), to, sizeof(int) * values.size(), cudaMemcpyDeviceToHost));
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column)
            CHECK(turned[column * rows + row] == values[row * columns + column] * pair.mixed.few[row % 3] + 100 + '!' + 77 - 4 + 250);
    }
    Table table;
    for (int i = 0; i < 200; ++i) table.bytes[i] = static_cast<unsigned char>(255 - i);
    Four *device, host[200];
    OK(cudaMalloc(&device, sizeof host));
    look_up<<<1, 256>>>(device, Four{1, 0.5f, -2, 8}, table, 200);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 200; ++i) {
        const float value = static_cast<float>(255 - i);
        CHECK(host[i].x == value && host[i].y == value / 2 && host[i].z == value * -2 && host[i].w == value * 8);
    }
    std::printf("structs: all members arrived\n");
}
