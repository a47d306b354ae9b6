// SPDX-License-Identifier: MIT
// cublasLt: a product with each epilogue, in single precision and bfloat16, compared with the host.
#include <cublasLt.h>
#include <cuda_bf16.h>

#include <cmath>
#include <vector>

#include "check.cuh"

#define BLAS(call) CHECK((call) == CUBLAS_STATUS_SUCCESS)

namespace {

constexpr int kM = 96, kN = 40, kK = 72;

float gelu(float x) {
    return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}
float slope(float x) {
    const float h = 1e-2f;
    return (gelu(x + h) - gelu(x - h)) / (2 * h);
}

template <class T>
std::vector<T> numbers(size_t count, unsigned seed) {
    std::vector<T> made(count);
    for (T& x : made) {
        seed = seed * 1664525u + 1013904223u;
        x = static_cast<T>(static_cast<float>(static_cast<int>(seed >> 28) - 8) / 16);
    }
    return made;
}
template <class T>
T* on_device(const std::vector<T>& from) {
    T* to = nullptr;
    OK(cudaMalloc(&to, from.size() * sizeof(T)));
    OK(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}
template <class T>
std::vector<T> on_host(const T* from, size_t count) {
    std::vector<T> to(count);
    OK(cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
}
bool close(float a, float b, float tolerance) {
    return std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

/// D = A^T B with the epilogue; A is k x m as stored.
template <class T>
void check(cublasLtHandle_t handle, cudaDataType type, cublasLtEpilogue_t epilogue, float tolerance) {
    const auto a = numbers<T>(kK * kM, 1), b = numbers<T>(kK * kN, 2), bias = numbers<T>(kM, 3), before = numbers<T>(kM * kN, 4);
    T *device_a = on_device(a), *device_b = on_device(b), *device_bias = on_device(bias), *aux = on_device(before), *d = on_device(before);
    cublasLtMatmulDesc_t matmul;
    cublasLtMatrixLayout_t a_layout, b_layout, d_layout;
    cublasLtMatmulPreference_t preference;
    BLAS(cublasLtMatmulDescCreate(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const long long leading = kM;
    BLAS(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    BLAS(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    BLAS(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &device_bias, sizeof device_bias));
    BLAS(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof aux));
    BLAS(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &leading, sizeof leading));
    BLAS(cublasLtMatrixLayoutCreate(&a_layout, type, kK, kM, kK));
    BLAS(cublasLtMatrixLayoutCreate(&b_layout, type, kK, kN, kK));
    BLAS(cublasLtMatrixLayoutCreate(&d_layout, type, kM, kN, kM));
    BLAS(cublasLtMatmulPreferenceCreate(&preference));
    const size_t workspace = 1 << 20;
    BLAS(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    cublasLtMatmulHeuristicResult_t heuristic;
    int found = 0;
    BLAS(cublasLtMatmulAlgoGetHeuristic(handle, matmul, a_layout, b_layout, d_layout, d_layout, preference, 1, &heuristic, &found));
    CHECK(found == 1 && heuristic.state == CUBLAS_STATUS_SUCCESS);
    const float alpha = 1, beta = 0;
    BLAS(cublasLtMatmul(handle, matmul, &alpha, device_a, a_layout, device_b, b_layout, &beta, d, d_layout, d, d_layout, &heuristic.algo,
                        nullptr, 0, nullptr));
    const auto result = on_host(d, kM * kN), kept = on_host(aux, kM * kN), sums = on_host(device_bias, kM);
    for (int row = 0; row < kM; ++row) {
        float of_row = 0;
        for (int column = 0; column < kN; ++column) {
            float x = 0;
            for (int i = 0; i < kK; ++i) x += static_cast<float>(a[i + row * kK]) * static_cast<float>(b[i + column * kK]);
            if (epilogue & CUBLASLT_EPILOGUE_BIAS) x += static_cast<float>(bias[row]);
            const float product = x;
            if (epilogue & CUBLASLT_EPILOGUE_RELU) x = x < 0 ? 0 : x;
            if (epilogue & CUBLASLT_EPILOGUE_GELU) x = gelu(x);
            if ((epilogue & CUBLASLT_EPILOGUE_DGELU) == CUBLASLT_EPILOGUE_DGELU) x *= slope(static_cast<float>(before[row + column * kM]));
            CHECK(close(static_cast<float>(result[row + column * kM]), x, tolerance));
            if ((epilogue & CUBLASLT_EPILOGUE_GELU_AUX) == CUBLASLT_EPILOGUE_GELU_AUX)
                CHECK(close(static_cast<float>(kept[row + column * kM]), product, tolerance));
            of_row += static_cast<float>(result[row + column * kM]);
        }
        if (epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) CHECK(close(static_cast<float>(sums[row]), of_row, 4 * tolerance));
    }
    if (epilogue == CUBLASLT_EPILOGUE_BGRADB) {
        for (int column = 0; column < kN; ++column) {
            float expected = 0;
            for (int i = 0; i < kK; ++i) expected += static_cast<float>(b[i + column * kK]);
            CHECK(close(static_cast<float>(sums[column]), expected, tolerance));
        }
    }
    for (void* const used : {static_cast<void*>(device_a), static_cast<void*>(device_b), static_cast<void*>(device_bias),
                             static_cast<void*>(aux), static_cast<void*>(d)})
        OK(cudaFree(used));
    BLAS(cublasLtMatmulPreferenceDestroy(preference));
    for (const cublasLtMatrixLayout_t layout : {a_layout, b_layout, d_layout}) BLAS(cublasLtMatrixLayoutDestroy(layout));
    BLAS(cublasLtMatmulDescDestroy(matmul));
}

}  // namespace

int main() {
    cublasLtHandle_t handle;
    BLAS(cublasLtCreate(&handle));
    int checked = 0;
    for (const cublasLtEpilogue_t epilogue :
         {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU,
          CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
          CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADB}) {
        check<float>(handle, CUDA_R_32F, epilogue, 1e-3f);
        check<__nv_bfloat16>(handle, CUDA_R_16BF, epilogue, 2e-2f);
        ++checked;
    }
    // Descriptors may be the program's own.
    cublasLtMatrixLayoutOpaque_t layout;
    BLAS(cublasLtMatrixLayoutInit(&layout, CUDA_R_32F, 3, 4, 5));
    unsigned long long rows = 0;
    size_t written = 0;
    BLAS(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written));
    CHECK(rows == 3 && written == sizeof rows);
    BLAS(cublasLtDestroy(handle));
    std::printf("%d epilogues are right\n", checked);
}
