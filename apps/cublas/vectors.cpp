// SPDX-License-Identifier: MIT
// Vectors, products of a matrix and a vector, and sums of matrices.
#include <cstring>

#include "cublas.hpp"

namespace {

using namespace mergelane::cublas;

unsigned blocks_of(long long elements) {
    return static_cast<unsigned>((elements + kVectorThreads - 1) / kVectorThreads);
}

/// Where a vector's first element is: with a negative step, at the end.
void* first_element(const void* data, int n, int step, int type) {
    auto* const bytes = static_cast<std::byte*>(const_cast<void*>(data));
    return step >= 0 || data == nullptr ? bytes : bytes + (1LL - n) * step * (type == kDouble ? 8 : 4);
}

Vectors both(int operation, int n, const void* x, int x_step, const void* y, int y_step, int type) {
    Vectors v;
    v.operation = operation;
    v.n = n;
    v.x = first_element(x, n, x_step, type);
    v.y = first_element(y, n, y_step, type);
    v.x_step = x_step;
    v.y_step = y_step;
    return v;
}

int each(void* handle, Vectors v, int type, const void* alpha) {
    const BlasHandle* const known = find_handle(handle);
    if (known == nullptr) return kBlasNotInitialized;
    if (alpha != nullptr && !read_scalar(v.alpha, alpha, type, known->pointer_mode)) return kBlasInvalidValue;
    if (v.n <= 0) return kBlasSuccess;
    return launch_blas(type == kDouble ? "vectors_f64" : "vectors_f32", {blocks_of(v.n), 1, 1}, kVectorThreads, v, known->stream);
}

/// The result goes where the program wants it, on the device or the host.
int reduced(void* handle, Vectors v, int type, void* result, std::size_t bytes) {
    const BlasHandle* const known = find_handle(handle);
    if (known == nullptr) return kBlasNotInitialized;
    if (result == nullptr) return kBlasInvalidValue;
    void* place = result;
    if (known->pointer_mode == kOnHost && cudaMalloc(&place, 8) != 0) return kBlasAllocFailed;
    v.result = place;
    int status = launch_blas(type == kDouble ? "reduce_f64" : "reduce_f32", {1, 1, 1}, kVectorThreads, v, known->stream);
    if (known->pointer_mode == kOnHost) {
        if (status == kBlasSuccess && cudaMemcpyAsync(result, place, bytes, 4, known->stream) != 0) status = kBlasExecutionFailed;
        cudaFree(place);
    }
    return status;
}

int matrix_vector(void* handle, Gemv g, int operation, const void* alpha, const void* beta, int x_step, int y_step, int type) {
    const BlasHandle* const known = find_handle(handle);
    if (known == nullptr) return kBlasNotInitialized;
    if (operation < kAsStored || operation > kConjugated || g.m < 0 || g.n < 0 || g.leading < std::max(1, g.m) || x_step == 0 ||
        y_step == 0 || !read_scalar(g.alpha, alpha, type, known->pointer_mode) || !read_scalar(g.beta, beta, type, known->pointer_mode))
        return kBlasInvalidValue;
    if (g.m == 0 || g.n == 0) return kBlasSuccess;
    g.transposed = operation != kAsStored;
    g.x = first_element(g.x, g.transposed ? g.m : g.n, x_step, type);
    g.y = first_element(g.y, g.transposed ? g.n : g.m, y_step, type);
    g.x_step = x_step;
    g.y_step = y_step;
    const unsigned blocks = g.transposed ? static_cast<unsigned>(g.n) : blocks_of(g.m);
    return launch_blas(type == kDouble ? "gemv_f64" : "gemv_f32", {blocks, 1, 1}, kVectorThreads, g, known->stream);
}

int combined_matrices(void* handle, Combine g, const void* alpha, const void* beta, int type) {
    const BlasHandle* const known = find_handle(handle);
    if (known == nullptr) return kBlasNotInitialized;
    if (g.m < 0 || g.n < 0 || !read_scalar(g.alpha, alpha, type, known->pointer_mode) ||
        (beta != nullptr && !read_scalar(g.beta, beta, type, known->pointer_mode)))
        return kBlasInvalidValue;
    if (g.m == 0 || g.n == 0) return kBlasSuccess;
    return launch_blas(type == kDouble ? "combine_f64" : "combine_f32", {blocks_of(1LL * g.m * g.n), 1, 1}, kVectorThreads, g,
                       known->stream);
}

}  // namespace

// Every function in single (S) and double (D) precision.
#define MERGELANE_BOTH(function) function(S, s, float, kFloat) function(D, d, double, kDouble)

#define MERGELANE_VECTORS(P, p, Number, type)                                                                                            \
    MERGELANE_API int cublas##P##axpy_v2(void* handle, int n, const Number* alpha, const Number* x, int x_step, Number* y, int y_step) { \
        if (alpha == nullptr) return kBlasInvalidValue;                                                                                  \
        return each(handle, both(kAddScaled, n, x, x_step, y, y_step, type), type, alpha);                                               \
    }                                                                                                                                    \
    MERGELANE_API int cublas##P##scal_v2(void* handle, int n, const Number* alpha, Number* x, int x_step) {                              \
        if (alpha == nullptr) return kBlasInvalidValue;                                                                                  \
        return each(handle, both(kScale, x_step > 0 ? n : 0, x, x_step, nullptr, 1, type), type, alpha);                                 \
    }                                                                                                                                    \
    MERGELANE_API int cublas##P##copy_v2(void* handle, int n, const Number* x, int x_step, Number* y, int y_step) {                      \
        return each(handle, both(kCopy, n, x, x_step, y, y_step, type), type, nullptr);                                                  \
    }                                                                                                                                    \
    MERGELANE_API int cublas##P##swap_v2(void* handle, int n, Number* x, int x_step, Number* y, int y_step) {                            \
        return each(handle, both(kSwap, n, x, x_step, y, y_step, type), type, nullptr);                                                  \
    }
MERGELANE_BOTH(MERGELANE_VECTORS)

#define MERGELANE_REDUCTIONS(P, p, Number, type)                                                                                         \
    MERGELANE_API int cublas##P##dot_v2(void* handle, int n, const Number* x, int x_step, const Number* y, int y_step, Number* result) { \
        return reduced(handle, both(kDot, n, x, x_step, y, y_step, type), type, result, sizeof *result);                                 \
    }                                                                                                                                    \
    MERGELANE_API int cublas##P##asum_v2(void* handle, int n, const Number* x, int x_step, Number* result) {                             \
        return reduced(handle, both(kSumOfSizes, x_step > 0 ? n : 0, x, x_step, nullptr, 1, type), type, result, sizeof *result);        \
    }                                                                                                                                    \
    MERGELANE_API int cublas##P##nrm2_v2(void* handle, int n, const Number* x, int x_step, Number* result) {                             \
        return reduced(handle, both(kLength, x_step > 0 ? n : 0, x, x_step, nullptr, 1, type), type, result, sizeof *result);            \
    }                                                                                                                                    \
    MERGELANE_API int cublasI##p##amax_v2(void* handle, int n, const Number* x, int x_step, int* result) {                               \
        return reduced(handle, both(kLargest, x_step > 0 ? n : 0, x, x_step, nullptr, 1, type), type, result, sizeof *result);           \
    }                                                                                                                                    \
    MERGELANE_API int cublasI##p##amin_v2(void* handle, int n, const Number* x, int x_step, int* result) {                               \
        return reduced(handle, both(kSmallest, x_step > 0 ? n : 0, x, x_step, nullptr, 1, type), type, result, sizeof *result);          \
    }
MERGELANE_BOTH(MERGELANE_REDUCTIONS)

#define MERGELANE_MATRICES(P, p, Number, type)                                                                                         \
    MERGELANE_API int cublas##P##gemv_v2(void* handle, int operation, int m, int n, const Number* alpha, const Number* a, int leading, \
                                         const Number* x, int x_step, const Number* beta, Number* y, int y_step) {                     \
        Gemv g;                                                                                                                        \
        g.a = const_cast<Number*>(a);                                                                                                  \
        g.x = const_cast<Number*>(x);                                                                                                  \
        g.y = y;                                                                                                                       \
        g.leading = leading;                                                                                                           \
        g.m = m;                                                                                                                       \
        g.n = n;                                                                                                                       \
        return matrix_vector(handle, g, operation, alpha, beta, x_step, y_step, type);                                                 \
    }                                                                                                                                  \
    MERGELANE_API int cublas##P##ger_v2(void* handle, int m, int n, const Number* alpha, const Number* x, int x_step, const Number* y, \
                                        int y_step, Number* a, int leading) {                                                          \
        Combine g;                                                                                                                     \
        g.a = {first_element(x, m, x_step, type), x_step, 0, 0, type};                                                                 \
        g.b = {first_element(y, n, y_step, type), 0, y_step, 0, type};                                                                 \
        g.c = {a, 1, leading, 0, type};                                                                                                \
        g.m = m;                                                                                                                       \
        g.n = n;                                                                                                                       \
        g.outer_product = 1;                                                                                                           \
        return combined_matrices(handle, g, alpha, nullptr, type);                                                                     \
    }                                                                                                                                  \
    MERGELANE_API int cublas##P##geam(void* handle, int ta, int tb, int m, int n, const Number* alpha, const Number* a, int lda,       \
                                      const Number* beta, const Number* b, int ldb, Number* c, int ldc) {                              \
        if (beta == nullptr) return kBlasInvalidValue;                                                                                 \
        Combine g;                                                                                                                     \
        g.a = stored(a, ta, lda, 0, type);                                                                                             \
        g.b = stored(b, tb, ldb, 0, type);                                                                                             \
        g.c = stored(c, kAsStored, ldc, 0, type);                                                                                      \
        g.m = m;                                                                                                                       \
        g.n = n;                                                                                                                       \
        return combined_matrices(handle, g, alpha, beta, type);                                                                        \
    }
MERGELANE_BOTH(MERGELANE_MATRICES)
#undef MERGELANE_BOTH
