// SPDX-License-Identifier: MIT
// Sparse matrix times vector in jagged diagonals: rows sorted by length, one thread per row; values and column indices are read
// coalesced, the vector is gathered, the result scattered back to the original order.

extern "C" __global__ void spmv_jds(float* y, const float* values, const int* columns, const int* permutation, const float* x, int rows,
                                    const int* diagonal_start, const int* group_length) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int length = group_length[row / 32];  // the longest of 32 rows; shorter ones are padded with zeros
    float sum = 0.0f;
    for (int k = 0; k < length; ++k) {
        const int j = diagonal_start[k] + row;
        sum += values[j] * x[columns[j]];
    }
    y[permutation[row]] = sum;
}
