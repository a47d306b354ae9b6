// SPDX-License-Identifier: MIT
// Products of small matrices and vectors on a 3-D grid (rows, vectors, matrices), a warp for each row.
#include "cluster.cuh"

constexpr int kWarps = 4;

struct Batched {
    const float *matrices, *vectors;
    float* out;
    int rows, columns;

    __device__ void operator()(dim3 block, dim3 grid) const {
        const int row = block.x * kWarps + threadIdx.y;
        if (row >= rows) return;
        const float* matrix = matrices + block.z * rows * columns;
        const float* vector = vectors + (block.z * grid.y + block.y) * columns;
        float sum = 0;
        for (int column = threadIdx.x; column < columns; column += 32) sum += matrix[row * columns + column] * vector[column];
        for (int other = 16; other > 0; other /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, other);
        if (threadIdx.x == 0) out[(block.z * grid.y + block.y) * rows + row] = sum;
    }
};

int main() {
    constexpr int rows = 18, columns = 50, vectors = 7, matrices = 6;
    const DeviceArray<float> a(random_floats(matrices * rows * columns)), x(random_floats(matrices * vectors * columns));
    DeviceArray<float> y(matrices * vectors * rows);
    compare("batched", {dim3((rows + kWarps - 1) / kWarps, vectors, matrices), dim3(32, kWarps)}, y, 0xFF,
            Batched{a.at(), x.at(), y.at(), rows, columns});
}
