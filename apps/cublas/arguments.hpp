// SPDX-License-Identifier: MIT
// The arguments of the kernels in kernels.cu, which host and device share.
#pragma once

namespace mergelane::cublas {

/// As cudaDataType.
enum Type : int { kFloat = 0, kDouble = 1, kHalf = 2, kBrain = 14 };

/// Distances are in elements.
struct Matrix {
    void* data = nullptr;  ///< or an array of pointers, one for each matrix of a batch
    long long row = 0;     ///< to the next row
    long long column = 0;  ///< to the next column
    long long batch = 0;   ///< to the next matrix
    int type = kFloat;
};

enum Epilogue : int { kAddBias = 1, kRelu = 2, kGelu = 4, kStoreBefore = 8, kGeluSlope = 16 };

struct Gemm {
    Matrix a, b, c, d;
    int m = 0, n = 0, k = 0;
    int pointer_arrays = 0;
    double alpha = 1, beta = 0;
    int epilogue = 0;  ///< of Epilogue
    int bias_type = kFloat;
    void* bias = nullptr;
    long long bias_batch = 0;
    void* aux = nullptr;  ///< what was before GELU
    long long aux_column = 0, aux_batch = 0;
    int aux_type = kFloat;
};

struct Gemv {
    void* a = nullptr;
    void* x = nullptr;
    void* y = nullptr;
    long long leading = 0, x_step = 1, y_step = 1;
    int m = 0, n = 0;  ///< rows and columns of A as stored
    int transposed = 0;
    double alpha = 1, beta = 0;
};

enum VectorOperation : int { kScale, kAddScaled, kCopy, kSwap, kDot, kSumOfSizes, kLength, kLargest, kSmallest };

struct Vectors {
    int operation = kScale;
    int n = 0;
    double alpha = 1;
    void* x = nullptr;
    void* y = nullptr;
    void* result = nullptr;
    long long x_step = 1, y_step = 1;
};

struct Combine {
    Matrix a, b, c;
    int m = 0, n = 0;
    int outer_product = 0;
    double alpha = 0, beta = 0;
};

struct RowSums {
    Matrix from;
    void* to = nullptr;
    int to_type = kFloat;
    int n = 0;
};

constexpr int kVectorThreads = 256;  ///< of a CTA

}  // namespace mergelane::cublas
