// SPDX-License-Identifier: MIT
// Product of two matrices in tiles of shared memory, with barriers; the edges do not fit the tiles.
#include <vector>

#include "check.cuh"

constexpr int kTile = 16;

__global__ void multiply(const int* a, const int* b, int* c, int rows, int inner, int columns) {
    __shared__ int a_tile[kTile][kTile];
    __shared__ int b_tile[kTile][kTile + 1];
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int column = static_cast<int>(blockIdx.x) * kTile + x, row = static_cast<int>(blockIdx.y) * kTile + y;
    int sum = 0;
    for (int first = 0; first < inner; first += kTile) {
        a_tile[y][x] = row < rows && first + x < inner ? a[row * inner + first + x] : 0;
        b_tile[y][x] = first + y < inner && column < columns ? b[(first + y) * columns + column] : 0;
        __syncthreads();
        for (int k = 0; k < kTile; ++k) sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

int main() {
    constexpr int rows = 50, inner = 70, columns = 90;
    std::vector<int> a(rows * inner), b(inner * columns), c(rows * columns);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i * 7 % 23) - 11;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int>(i * 5 % 19) - 9;
    int *da, *db, *dc;
    OK(cudaMalloc(&da, a.size() * sizeof(int)));
    OK(cudaMalloc(&db, b.size() * sizeof(int)));
    OK(cudaMalloc(&dc, c.size() * sizeof(int)));
    OK(cudaMemcpy(da, a.data(), a.size() * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b.data(), b.size() * sizeof(int), cudaMemcpyHostToDevice));
    multiply<<<dim3((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), dim3(kTile, kTile)>>>(da, db, dc, rows, inner, columns);
    OK(cudaGetLastError());
    OK(cudaMemcpy(c.data(), dc, c.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            int sum = 0;
            for (int k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * columns + column];
            CHECK(c[row * columns + column] == sum);
        }
    }
    std::printf("matmul: the product is right\n");
}
