// SPDX-License-Identifier: MIT
// Blocked LU decomposition in place, without pivoting, blocks of 16x16. Step k: the diagonal block, then the row and column
// panels beside it, then the rest of the matrix.

constexpr int kBlock = 16;

extern "C" __global__ void lud_diagonal(float* matrix, int n, int offset) {
    __shared__ float block[kBlock][kBlock];
    const int t = threadIdx.x;
    for (int row = 0; row < kBlock; ++row) block[row][t] = matrix[(offset + row) * n + offset + t];
    __syncthreads();
    for (int pivot = 0; pivot < kBlock - 1; ++pivot) {
        if (t > pivot) {  // thread t owns row t of L
            for (int k = 0; k < pivot; ++k) block[t][pivot] -= block[t][k] * block[k][pivot];
            block[t][pivot] /= block[pivot][pivot];
        }
        __syncthreads();
        if (t > pivot) {  // and column t of U
            for (int k = 0; k <= pivot; ++k) block[pivot + 1][t] -= block[pivot + 1][k] * block[k][t];
        }
        __syncthreads();
    }
    for (int row = 1; row < kBlock; ++row) matrix[(offset + row) * n + offset + t] = block[row][t];
}

// 32 threads: the first half solves a block of the row panel, the second half one of the column panel.
extern "C" __global__ void lud_perimeter(float* matrix, int n, int offset) {
    __shared__ float diagonal[kBlock][kBlock];
    __shared__ float row_panel[kBlock][kBlock];
    __shared__ float column_panel[kBlock][kBlock];
    const int far = offset + (blockIdx.x + 1) * kBlock;
    const bool row_half = threadIdx.x < kBlock;
    const int t = threadIdx.x % kBlock;
    if (row_half) {
        for (int i = 0; i < kBlock / 2; ++i) diagonal[i][t] = matrix[(offset + i) * n + offset + t];
        for (int i = 0; i < kBlock; ++i) row_panel[i][t] = matrix[(offset + i) * n + far + t];
    } else {
        for (int i = kBlock / 2; i < kBlock; ++i) diagonal[i][t] = matrix[(offset + i) * n + offset + t];
        for (int i = 0; i < kBlock; ++i) column_panel[i][t] = matrix[(far + i) * n + offset + t];
    }
    __syncthreads();
    if (row_half) {  // thread t owns column t
        for (int i = 1; i < kBlock; ++i)
            for (int k = 0; k < i; ++k) row_panel[i][t] -= diagonal[i][k] * row_panel[k][t];
    } else {  // thread t owns row t
        for (int i = 0; i < kBlock; ++i) {
            for (int k = 0; k < i; ++k) column_panel[t][i] -= column_panel[t][k] * diagonal[k][i];
            column_panel[t][i] /= diagonal[i][i];
        }
    }
    __syncthreads();
    if (row_half) {
        for (int i = 1; i < kBlock; ++i) matrix[(offset + i) * n + far + t] = row_panel[i][t];
    } else {
        for (int i = 0; i < kBlock; ++i) matrix[(far + i) * n + offset + t] = column_panel[i][t];
    }
}

extern "C" __global__ void lud_internal(float* matrix, int n, int offset) {
    __shared__ float row_panel[kBlock][kBlock];
    __shared__ float column_panel[kBlock][kBlock];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = offset + (blockIdx.y + 1) * kBlock;
    const int column0 = offset + (blockIdx.x + 1) * kBlock;
    row_panel[ty][tx] = matrix[(offset + ty) * n + column0 + tx];
    column_panel[ty][tx] = matrix[(row0 + ty) * n + offset + tx];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < kBlock; ++k) sum += column_panel[ty][k] * row_panel[k][tx];
    matrix[(row0 + ty) * n + column0 + tx] -= sum;
}
