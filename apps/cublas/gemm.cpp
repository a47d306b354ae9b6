// SPDX-License-Identifier: MIT
// Matrix products of cuBLAS: one, batches at fixed distances, batches given by pointers.
#include <algorithm>

#include "cublas.hpp"

namespace {

using namespace mergelane::cublas;

struct Factor {
    const void* data;
    int type, leading;
    long long batch;
};

/// `c` is read and written. `scalar`: the type of alpha and beta.
struct Product {
    int left_operation, right_operation, m, n, k;
    const void* alpha;
    Factor a, b;
    const void* beta;
    Factor c;
    int batches = 1;
    bool pointer_arrays = false;
};

int multiply(void* handle, const Product& p, int scalar) {
    const BlasHandle* const known = find_handle(handle);
    if (known == nullptr) return kBlasNotInitialized;
    if (scalar < 0) return blas_not_supported("a matrix product with this compute type");
    const auto valid = [](int operation) { return operation >= kAsStored && operation <= kConjugated; };
    if (!valid(p.left_operation) || !valid(p.right_operation) || p.a.leading < std::max(1, p.left_operation == kAsStored ? p.m : p.k) ||
        p.b.leading < std::max(1, p.right_operation == kAsStored ? p.k : p.n) || p.c.leading < std::max(1, p.m))
        return kBlasInvalidValue;
    if ((scalar == kDouble) != (p.a.type == kDouble)) return blas_not_supported("a matrix product with this compute type");
    Gemm gemm;
    gemm.a = stored(p.a.data, p.left_operation, p.a.leading, p.a.batch, p.a.type);
    gemm.b = stored(p.b.data, p.right_operation, p.b.leading, p.b.batch, p.b.type);
    gemm.c = gemm.d = stored(p.c.data, kAsStored, p.c.leading, p.c.batch, p.c.type);
    gemm.m = p.m;
    gemm.n = p.n;
    gemm.k = p.k;
    gemm.pointer_arrays = p.pointer_arrays;
    if (!read_scalar(gemm.alpha, p.alpha, scalar, known->pointer_mode) || !read_scalar(gemm.beta, p.beta, scalar, known->pointer_mode))
        return kBlasInvalidValue;
    return launch_gemm(gemm, p.batches, known->stream);
}

}  // namespace

#define MERGELANE_GEMM(name, type)                                                                                                      \
    MERGELANE_API int name(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int lda, const void* b, \
                           int ldb, const void* beta, void* c, int ldc) {                                                               \
        return multiply(handle, {ta, tb, m, n, k, alpha, {a, type, lda, 0}, {b, type, ldb, 0}, beta, {c, type, ldc, 0}}, type);         \
    }
#define MERGELANE_GEMM_BATCHED(name, type)                                                                                              \
    MERGELANE_API int name(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int lda, const void* b, \
                           int ldb, const void* beta, void* c, int ldc, int batches) {                                                  \
        return multiply(handle, {ta, tb, m, n, k, alpha, {a, type, lda, 0}, {b, type, ldb, 0}, beta, {c, type, ldc, 0}, batches, true}, \
                        type);                                                                                                          \
    }
#define MERGELANE_GEMM_STRIDED(name, type)                                                                                             \
    MERGELANE_API int name(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int lda, long long sa, \
                           const void* b, int ldb, long long sb, const void* beta, void* c, int ldc, long long sc, int batches) {      \
        return multiply(handle, {ta, tb, m, n, k, alpha, {a, type, lda, sa}, {b, type, ldb, sb}, beta, {c, type, ldc, sc}, batches},   \
                        type);                                                                                                         \
    }
MERGELANE_GEMM(cublasSgemm_v2, kFloat)
MERGELANE_GEMM(cublasDgemm_v2, kDouble)
MERGELANE_GEMM(cublasHgemm, kHalf)
MERGELANE_GEMM_BATCHED(cublasSgemmBatched, kFloat)
MERGELANE_GEMM_BATCHED(cublasDgemmBatched, kDouble)
MERGELANE_GEMM_BATCHED(cublasHgemmBatched, kHalf)
MERGELANE_GEMM_STRIDED(cublasSgemmStridedBatched, kFloat)
MERGELANE_GEMM_STRIDED(cublasDgemmStridedBatched, kDouble)
MERGELANE_GEMM_STRIDED(cublasHgemmStridedBatched, kHalf)

MERGELANE_API int cublasSgemmEx(void* handle, int ta, int tb, int m, int n, int k, const float* alpha, const void* a, int a_type, int lda,
                                const void* b, int b_type, int ldb, const float* beta, void* c, int c_type, int ldc) {
    return multiply(handle, {ta, tb, m, n, k, alpha, {a, a_type, lda, 0}, {b, b_type, ldb, 0}, beta, {c, c_type, ldc, 0}}, kFloat);
}
MERGELANE_API int cublasGemmEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int a_type, int lda,
                               const void* b, int b_type, int ldb, const void* beta, void* c, int c_type, int ldc, int compute, int) {
    return multiply(handle, {ta, tb, m, n, k, alpha, {a, a_type, lda, 0}, {b, b_type, ldb, 0}, beta, {c, c_type, ldc, 0}},
                    scalar_type(compute));
}
MERGELANE_API int cublasGemmBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int a_type,
                                      int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type, int ldc,
                                      int batches, int compute, int) {
    return multiply(handle, {ta, tb, m, n, k, alpha, {a, a_type, lda, 0}, {b, b_type, ldb, 0}, beta, {c, c_type, ldc, 0}, batches, true},
                    scalar_type(compute));
}
MERGELANE_API int cublasGemmStridedBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,
                                             int a_type, int lda, long long sa, const void* b, int b_type, int ldb, long long sb,
                                             const void* beta, void* c, int c_type, int ldc, long long sc, int batches, int compute, int) {
    return multiply(handle, {ta, tb, m, n, k, alpha, {a, a_type, lda, sa}, {b, b_type, ldb, sb}, beta, {c, c_type, ldc, sc}, batches},
                    scalar_type(compute));
}
