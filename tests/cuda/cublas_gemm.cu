// SPDX-License-Identifier: MIT
// cuBLAS: products of all types and transpositions, batches, vectors, pointer modes; compared with the host.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <vector>

#include "check.cuh"

#define BLAS(call) CHECK((call) == CUBLAS_STATUS_SUCCESS)

namespace {

template <class T>
struct Device {
    T* data = nullptr;
    explicit Device(const std::vector<T>& from) : size(from.size()) {
        OK(cudaMalloc(&data, size * sizeof(T)));
        OK(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Device() { cudaFree(data); }
    std::vector<T> back() const {
        std::vector<T> to(size);
        OK(cudaMemcpy(to.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
    size_t size;
};

/// Small multiples of 1/4: exact in every type here.
template <class T>
std::vector<T> numbers(size_t count, unsigned seed) {
    std::vector<T> made(count);
    for (T& x : made) {
        seed = seed * 1664525u + 1013904223u;
        x = static_cast<T>(static_cast<float>(static_cast<int>(seed >> 28) - 8) / 4);
    }
    return made;
}

struct Shape {
    cublasOperation_t ta, tb;
    int m, n, k, lda, ldb, ldc;
};
Shape shape(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k) {
    return {ta, tb, m, n, k, (ta == CUBLAS_OP_N ? m : k) + 3, (tb == CUBLAS_OP_N ? k : n) + 1, m + 2};
}

template <class T>
double reference(const Shape& s, const T* a, const T* b, int row, int column) {
    double sum = 0;
    for (int i = 0; i < s.k; ++i) {
        const double left = static_cast<double>(a[s.ta == CUBLAS_OP_N ? row + i * s.lda : i + row * s.lda]);
        const double right = static_cast<double>(b[s.tb == CUBLAS_OP_N ? i + column * s.ldb : column + i * s.ldb]);
        sum += left * right;
    }
    return sum;
}

int compared = 0;

/// Rows beyond m are not touched.
template <class T>
void compare(const Shape& s, const T* a, const T* b, const T* before, const T* after, double alpha, double beta) {
    for (int column = 0; column < s.n; ++column) {
        for (int row = 0; row < s.ldc; ++row) {
            const int at = row + column * s.ldc;
            const double old = static_cast<double>(before[at]);
            const double expected = row < s.m ? alpha * reference(s, a, b, row, column) + beta * old : old;
            CHECK(static_cast<double>(after[at]) == static_cast<double>(static_cast<T>(static_cast<float>(expected))));
        }
    }
    ++compared;
}

template <class T, class Run>
void product(const Shape& s, int batches, const Run& run) {
    const int a_size = s.lda * (s.ta == CUBLAS_OP_N ? s.k : s.m), b_size = s.ldb * (s.tb == CUBLAS_OP_N ? s.n : s.k), c_size = s.ldc * s.n;
    const auto a = numbers<T>(a_size * batches, 1), b = numbers<T>(b_size * batches, 2), c = numbers<T>(c_size * batches, 3);
    const Device<T> device_a(a), device_b(b), device_c(c);
    run(device_a.data, device_b.data, device_c.data, a_size, b_size, c_size);
    const auto result = device_c.back();
    for (int i = 0; i < batches; ++i) compare(s, &a[i * a_size], &b[i * b_size], &c[i * c_size], &result[i * c_size], 2, 0.5);
}

const cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T};

void products(cublasHandle_t handle) {
    for (const cublasOperation_t ta : kOperations) {
        for (const cublasOperation_t tb : kOperations) {
            const Shape s = shape(ta, tb, 70, 65, 37);
            const float alpha = 2, beta = 0.5f;
            const double alpha64 = 2, beta64 = 0.5;
            const __half alpha16 = __float2half(2), beta16 = __float2half(0.5f);
            product<float>(s, 1, [&](float* a, float* b, float* c, int, int, int) {
                BLAS(cublasSgemm(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a, s.lda, b, s.ldb, &beta, c, s.ldc));
            });
            product<double>(s, 1, [&](double* a, double* b, double* c, int, int, int) {
                BLAS(cublasDgemm(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha64, a, s.lda, b, s.ldb, &beta64, c, s.ldc));
            });
            product<__half>(s, 1, [&](__half* a, __half* b, __half* c, int, int, int) {
                BLAS(cublasHgemm(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha16, a, s.lda, b, s.ldb, &beta16, c, s.ldc));
            });
            product<__nv_bfloat16>(s, 3, [&](__nv_bfloat16* a, __nv_bfloat16* b, __nv_bfloat16* c, int sa, int sb, int sc) {
                BLAS(cublasGemmStridedBatchedEx(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a, CUDA_R_16BF, s.lda, sa, b, CUDA_R_16BF, s.ldb,
                                                sb, &beta, c, CUDA_R_16BF, s.ldc, sc, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
            });
        }
    }
}

void batches(cublasHandle_t handle) {
    const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_T, 33, 20, 18);
    const float alpha = 2, beta = 0.5f;
    product<float>(s, 4, [&](float* a, float* b, float* c, int sa, int sb, int sc) {
        BLAS(cublasSgemmStridedBatched(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a, s.lda, sa, b, s.ldb, sb, &beta, c, s.ldc, sc, 4));
    });
    product<float>(s, 4, [&](float* a, float* b, float* c, int sa, int sb, int sc) {
        std::vector<float*> left, right, result;
        for (int i = 0; i < 4; ++i) left.push_back(a + i * sa), right.push_back(b + i * sb), result.push_back(c + i * sc);
        const Device<float*> device_left(left), device_right(right), device_result(result);
        BLAS(cublasSgemmBatched(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, device_left.data, s.lda, device_right.data, s.ldb, &beta,
                                device_result.data, s.ldc, 4));
    });
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    const Device<float> scalars({alpha, beta});
    product<float>(s, 1, [&](float* a, float* b, float* c, int, int, int) {
        BLAS(cublasGemmEx(handle, s.ta, s.tb, s.m, s.n, s.k, scalars.data, a, CUDA_R_32F, s.lda, b, CUDA_R_32F, s.ldb, scalars.data + 1, c,
                          CUDA_R_32F, s.ldc, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
    });
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

void vectors(cublasHandle_t handle) {
    const auto x = numbers<float>(1000, 4), y = numbers<float>(1000, 5);
    double dot = 0, sizes = 0, squares = 0;
    int largest = 0;
    for (int i = 0; i < 1000; ++i) {
        dot += x[i] * y[i], sizes += std::fabs(x[i]), squares += x[i] * x[i];
        if (std::fabs(x[i]) > std::fabs(x[largest])) largest = i;
    }
    const Device<float> device_x(x), device_y(y);
    float result = 0;
    BLAS(cublasSdot(handle, 1000, device_x.data, 1, device_y.data, 1, &result));
    CHECK(result == static_cast<float>(dot));
    BLAS(cublasSasum(handle, 1000, device_x.data, 1, &result));
    CHECK(result == static_cast<float>(sizes));
    BLAS(cublasSnrm2(handle, 1000, device_x.data, 1, &result));
    CHECK(result == static_cast<float>(std::sqrt(squares)));
    int index = 0;
    BLAS(cublasIsamax(handle, 1000, device_x.data, 1, &index));
    CHECK(index == largest + 1);
    const float alpha = 3;
    BLAS(cublasSaxpy(handle, 500, &alpha, device_x.data, 2, device_y.data, -1));
    const auto sum = device_y.back();
    for (int i = 0; i < 500; ++i) CHECK(sum[499 - i] == y[499 - i] + 3 * x[2 * i]);
    BLAS(cublasSscal(handle, 1000, &alpha, device_x.data, 1));
    BLAS(cublasSswap(handle, 1000, device_x.data, 1, device_y.data, 1));
    BLAS(cublasScopy(handle, 10, device_y.data, 1, device_y.data + 10, 1));
    const auto swapped = device_y.back();
    for (int i = 0; i < 1000; ++i) CHECK(swapped[i] == 3 * x[i >= 10 && i < 20 ? i - 10 : i]);
    ++compared;
}

void matrices_and_vectors(cublasHandle_t handle) {
    const int m = 300, n = 41;
    const auto a = numbers<double>(m * n, 6), x = numbers<double>(m, 7), y = numbers<double>(m, 8);
    const Device<double> device_a(a), device_x(x), device_sum(a);
    const double alpha = 2, beta = 0.5;
    for (const cublasOperation_t operation : kOperations) {
        const Device<double> device_y(y);
        BLAS(cublasDgemv(handle, operation, m, n, &alpha, device_a.data, m, device_x.data, 1, &beta, device_y.data, 1));
        const auto result = device_y.back();
        for (int i = 0; i < (operation == CUBLAS_OP_N ? m : n); ++i) {
            double expected = 0;
            for (int j = 0; j < (operation == CUBLAS_OP_N ? n : m); ++j)
                expected += (operation == CUBLAS_OP_N ? a[i + j * m] : a[j + i * m]) * x[j];
            CHECK(result[i] == 2 * expected + 0.5 * y[i]);
        }
    }
    BLAS(cublasDger(handle, m, n, &alpha, device_x.data, 1, device_x.data, 1, device_sum.data, m));
    const auto sum = device_sum.back();
    for (int i = 0; i < m * n; ++i) CHECK(sum[i] == a[i] + 2 * x[i % m] * x[i / m]);
    BLAS(cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_T, n, m, &alpha, device_a.data, m, &beta, device_a.data, m, device_sum.data, n));
    const auto transposed = device_sum.back();
    for (int i = 0; i < m * n; ++i) CHECK(transposed[i] == 2.5 * a[i / n + i % n * m]);
    ++compared;
}

}  // namespace

int main() {
    cublasHandle_t handle;
    cudaStream_t stream;
    BLAS(cublasCreate(&handle));
    OK(cudaStreamCreate(&stream));
    BLAS(cublasSetStream(handle, stream));
    BLAS(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
    products(handle);
    batches(handle);
    vectors(handle);
    matrices_and_vectors(handle);
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, nullptr, nullptr, 1, nullptr, 4, nullptr, nullptr, 4) ==
          CUBLAS_STATUS_INVALID_VALUE);
    const float one = 1;
    CHECK(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 1, 1, &one, nullptr, 1, nullptr,
                      1) == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(cudaGetLastError() == cudaSuccess);
    BLAS(cublasDestroy(handle));
    CHECK(cublasDestroy(handle) == CUBLAS_STATUS_NOT_INITIALIZED);
    std::printf("%d results of cuBLAS are right\n", compared);
}
