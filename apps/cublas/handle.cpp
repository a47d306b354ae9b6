// SPDX-License-Identifier: MIT
// Handles of cuBLAS and their settings, versions, and copies of vectors and matrices.
#include <cstring>

#include "cublas.hpp"

namespace mergelane::cublas {

namespace {

constexpr int kBlasVersion = 130000;

struct StatusRow {
    int status;
    const char* name;
};
constexpr StatusRow kStatuses[] = {
    {0, "CUBLAS_STATUS_SUCCESS"},           {1, "CUBLAS_STATUS_NOT_INITIALIZED"}, {3, "CUBLAS_STATUS_ALLOC_FAILED"},
    {7, "CUBLAS_STATUS_INVALID_VALUE"},     {8, "CUBLAS_STATUS_ARCH_MISMATCH"},   {11, "CUBLAS_STATUS_MAPPING_ERROR"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED"}, {14, "CUBLAS_STATUS_INTERNAL_ERROR"}, {15, "CUBLAS_STATUS_NOT_SUPPORTED"},
    {16, "CUBLAS_STATUS_LICENSE_ERROR"},
};

/// Handles are addresses, like all others of the device.
cudart::Handles<BlasHandle>& handles() {
    static auto* const all = new cudart::Handles<BlasHandle>;
    return *all;
}

int copy_strided(void* to, long long to_step, const void* from, long long from_step, long long width, long long count, void* stream) {
    if (width <= 0 || count < 0 || to_step <= 0 || from_step <= 0) return kBlasInvalidValue;
    const cudart::Error before = cudart::last_error();
    const int code = cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_step), from, static_cast<std::size_t>(from_step),
                                       static_cast<std::size_t>(width), static_cast<std::size_t>(count), 4, stream);
    cudart::last_error() = before;
    return code == cudart::kSuccess ? kBlasSuccess : 11;
}

/// A setting of a handle.
template <class Use>
int with_handle(void* handle, const Use& use) {
    BlasHandle* const known = find_handle(handle);
    if (known == nullptr) return kBlasNotInitialized;
    return use(*known) ? kBlasSuccess : kBlasInvalidValue;
}
template <class T>
bool give(T* to, T value) {
    if (to != nullptr) *to = value;
    return to != nullptr;
}

}  // namespace

BlasHandle* find_handle(void* handle) {
    BlasHandle* found = nullptr;
    const cudart::Error before = cudart::last_error();
    cudart::guarded([&](cudart::Runtime&) { found = &handles().at(handle); });
    cudart::last_error() = before;
    return found;
}

const char* blas_status_name(int status) {
    for (const StatusRow& row : kStatuses) {
        if (row.status == status) return row.name;
    }
    return "unknown status";
}

}  // namespace mergelane::cublas

using namespace mergelane;
using namespace mergelane::cublas;

MERGELANE_API int cublasCreate_v2(void** handle) {
    if (handle == nullptr) return kBlasInvalidValue;
    const int code = cudart::guarded([&](cudart::Runtime&) { *handle = handles().add({}); });
    return code == cudart::kSuccess ? kBlasSuccess : kBlasAllocFailed;
}
MERGELANE_SAME(cublasCreate_v2, cublasLtCreate);
MERGELANE_API int cublasDestroy_v2(void* handle) {
    if (find_handle(handle) == nullptr) return kBlasNotInitialized;
    cudart::guarded([&](cudart::Runtime&) { handles().remove(handle); });
    return kBlasSuccess;
}
MERGELANE_SAME(cublasDestroy_v2, cublasLtDestroy);
MERGELANE_API int cublasGetVersion_v2(void*, int* version) {
    return give(version, kBlasVersion) ? kBlasSuccess : kBlasInvalidValue;
}
MERGELANE_API std::size_t cublasLtGetVersion() {
    return kBlasVersion;
}
MERGELANE_API std::size_t cublasGetCudartVersion() {
    return 13000;
}
MERGELANE_SAME(cublasGetCudartVersion, cublasLtGetCudartVersion);
MERGELANE_API int cublasGetProperty(int property, int* value) {
    const bool known = property >= 0 && property <= 2;
    return known && give(value, property == 0 ? kBlasVersion / 10000 : 0) ? kBlasSuccess : kBlasInvalidValue;
}
MERGELANE_SAME(cublasGetProperty, cublasLtGetProperty);
MERGELANE_API const char* cublasGetStatusName(int status) {
    return blas_status_name(status);
}
MERGELANE_SAME(cublasGetStatusName, cublasGetStatusString);
MERGELANE_SAME(cublasGetStatusName, cublasLtGetStatusName);
MERGELANE_SAME(cublasGetStatusName, cublasLtGetStatusString);

MERGELANE_API int cublasSetStream_v2(void* handle, void* stream) {
    return with_handle(handle, [&](BlasHandle& known) {
        known.stream = stream;
        return true;
    });
}
MERGELANE_API int cublasGetStream_v2(void* handle, void** stream) {
    return with_handle(handle, [&](BlasHandle& known) { return give(stream, known.stream); });
}
MERGELANE_API int cublasSetPointerMode_v2(void* handle, int mode) {
    return with_handle(handle, [&](BlasHandle& known) {
        known.pointer_mode = mode;
        return mode == kOnHost || mode == kOnDevice;
    });
}
MERGELANE_API int cublasGetPointerMode_v2(void* handle, int* mode) {
    return with_handle(handle, [&](BlasHandle& known) { return give(mode, known.pointer_mode); });
}
MERGELANE_API int cublasSetMathMode(void* handle, int mode) {
    return with_handle(handle, [&](BlasHandle& known) {
        known.math_mode = mode;
        return true;
    });
}
MERGELANE_API int cublasGetMathMode(void* handle, int* mode) {
    return with_handle(handle, [&](BlasHandle& known) { return give(mode, known.math_mode); });
}
MERGELANE_API int cublasSetAtomicsMode(void* handle, int mode) {
    return with_handle(handle, [&](BlasHandle& known) {
        known.atomics_mode = mode;
        return true;
    });
}
MERGELANE_API int cublasGetAtomicsMode(void* handle, int* mode) {
    return with_handle(handle, [&](BlasHandle& known) { return give(mode, known.atomics_mode); });
}
// The kernels need no workspace and use all SMs.
MERGELANE_API int cublasSetWorkspace_v2(void* handle, void*, std::size_t) {
    return with_handle(handle, [](BlasHandle&) { return true; });
}
MERGELANE_API int cublasSetSmCountTarget(void* handle, int) {
    return with_handle(handle, [](BlasHandle&) { return true; });
}
MERGELANE_API int cublasGetSmCountTarget(void* handle, int* count) {
    return with_handle(handle, [&](BlasHandle&) { return give(count, 0); });
}
MERGELANE_API int cublasLoggerConfigure(int, int, int, const char*) {
    return kBlasSuccess;
}

MERGELANE_API int cublasSetVectorAsync(int n, int bytes, const void* from, int from_step, void* to, int to_step, void* stream) {
    return copy_strided(to, 1LL * to_step * bytes, from, 1LL * from_step * bytes, bytes, n, stream);
}
MERGELANE_SAME(cublasSetVectorAsync, cublasGetVectorAsync);
MERGELANE_API int cublasSetVector(int n, int bytes, const void* from, int from_step, void* to, int to_step) {
    return cublasSetVectorAsync(n, bytes, from, from_step, to, to_step, nullptr);
}
MERGELANE_SAME(cublasSetVector, cublasGetVector);
MERGELANE_API int cublasSetMatrixAsync(int rows, int columns, int bytes, const void* from, int from_leading, void* to, int to_leading,
                                       void* stream) {
    return copy_strided(to, 1LL * to_leading * bytes, from, 1LL * from_leading * bytes, 1LL * rows * bytes, columns, stream);
}
MERGELANE_SAME(cublasSetMatrixAsync, cublasGetMatrixAsync);
MERGELANE_API int cublasSetMatrix(int rows, int columns, int bytes, const void* from, int from_leading, void* to, int to_leading) {
    return cublasSetMatrixAsync(rows, columns, bytes, from, from_leading, to, to_leading, nullptr);
}
MERGELANE_SAME(cublasSetMatrix, cublasGetMatrix);
