// SPDX-License-Identifier: MIT
// The replacement for cuBLAS: its calls are launches of the kernels in kernels.cu on the simulated device.
#pragma once

#include <optional>

#include "api.hpp"
#include "arguments.hpp"
#include "runtime_api.hpp"

namespace mergelane::cublas {

enum Status : int {
    kBlasSuccess = 0,
    kBlasNotInitialized = 1,
    kBlasAllocFailed = 3,
    kBlasInvalidValue = 7,
    kBlasExecutionFailed = 13,
    kBlasNotSupported = 15,
};
enum Operation : int { kAsStored = 0, kTransposed = 1, kConjugated = 2 };
/// Where alpha, beta and results are.
enum PointerMode : int { kOnHost = 0, kOnDevice = 1 };

struct BlasHandle {
    void* stream = nullptr;
    int pointer_mode = kOnHost;
    int math_mode = 0;
    int atomics_mode = 0;
};
/// nullptr: the handle is unknown.
BlasHandle* find_handle(void* handle);

/// The result of an unsupported function, or of an unsupported combination of types, which `what` names.
int blas_not_supported(const char* what);
const char* blas_status_name(int status);

/// Reads a number of the given type; false if it cannot be read.
bool read_scalar(double& value, const void* from, int type, int pointer_mode);
/// The type in which alpha and beta are given: that of the products' sums. -1: unsupported.
int scalar_type(int compute_type);

/// A matrix with the distance `leading` between its columns, transposed if asked for.
Matrix stored(const void* data, int operation, long long leading, long long batch, int type);

/// Launches a kernel of kernels.cu. Returns a status.
int launch_blas_bytes(const char* kernel, cudart::Dim grid, unsigned threads, const void* arguments, void* stream);
template <class Arguments>
int launch_blas(const char* kernel, cudart::Dim grid, unsigned threads, const Arguments& arguments, void* stream) {
    return launch_blas_bytes(kernel, grid, threads, &arguments, stream);
}
/// Checks and launches a product of matrices, or of `batches` of them.
int launch_gemm(Gemm gemm, int batches, void* stream);

/// The PTX of kernels.cu.
extern const char* const kKernels;

}  // namespace mergelane::cublas
