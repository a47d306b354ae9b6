// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "cublas.hpp"

extern "C" int cudaLaunchKernel(const void* function, mergelane::cudart::Dim grid, mergelane::cudart::Dim block, void** arguments,
                                std::size_t shared, void* stream);

namespace mergelane::cublas {

namespace {

using namespace cudart;

constexpr unsigned kMostBatches = 65535;
constexpr const char* kNotice = "cuBLAS calls are executed by Mergelane's own GEMM kernels";

/// Errors of a library are no errors of the runtime.
template <class Call>
int aside(const Call& call) {
    const Error before = last_error();
    const int code = call();
    last_error() = before;
    return code;
}

double half_value(std::uint16_t bits) {
    const std::uint32_t rest = bits & 0x7FFFU;
    const float scaled = std::bit_cast<float>(rest << 13) * std::bit_cast<float>(0x77800000U);
    const std::uint32_t size = rest >= 0x7C00U ? std::bit_cast<std::uint32_t>(scaled) | 0x7F800000U : std::bit_cast<std::uint32_t>(scaled);
    return std::bit_cast<float>(size | (bits & 0x8000U) << 16);
}

const char* gemm_kernel(int type) {
    switch (type) {
        case kFloat: return "gemm_f32";
        case kDouble: return "gemm_f64";
        case kHalf: return "gemm_f16";
        case kBrain: return "gemm_bf16";
        default: return nullptr;
    }
}

void advance(Matrix& matrix, bool array, unsigned batches) {
    const int bytes = array ? 8 : matrix.type == kDouble ? 8 : matrix.type == kFloat ? 4 : 2;
    if (matrix.data != nullptr)
        matrix.data = static_cast<std::byte*>(matrix.data) + (array ? 1 : matrix.batch) * static_cast<long long>(batches) * bytes;
}

}  // namespace

int blas_not_supported(const char* what) {
    aside([&] {
        return guarded([&](Runtime& runtime) {
            runtime.say(
                fmt::format("the program calls {}, which the replacement for cuBLAS does not have; it answers "
                            "CUBLAS_STATUS_NOT_SUPPORTED",
                            what));
        });
    });
    return kBlasNotSupported;
}

bool read_scalar(double& value, const void* from, int type, int pointer_mode) {
    if (from == nullptr) return false;
    std::byte bytes[8] = {};
    const std::size_t size = type == kDouble ? 8 : type == kFloat ? 4 : 2;
    if (pointer_mode == kOnHost) {
        std::memcpy(bytes, from, size);
    } else if (aside([&] { return cudaMemcpyAsync(bytes, from, size, 4, nullptr); }) != kSuccess) {
        return false;
    }
    const auto as = [&](auto number) {
        std::memcpy(&number, bytes, sizeof number);
        return number;
    };
    value = type == kDouble ? as(double{}) : type == kFloat ? as(float{}) : half_value(as(std::uint16_t{}));
    return true;
}

int scalar_type(int compute_type) {
    switch (compute_type) {
        case 64:
        case 65: return kHalf;
        case 68:  // and with inputs of less precision (75: bfloat16, 77: TF32), which would only lose digits
        case 69:
        case 74:
        case 75:
        case 77:
        case 78: return kFloat;
        case 70:
        case 71: return kDouble;
        default: return -1;
    }
}

Matrix stored(const void* data, int operation, long long leading, long long batch, int type) {
    Matrix matrix{const_cast<void*>(data), 1, leading, batch, type};
    if (operation != kAsStored) std::swap(matrix.row, matrix.column);
    return matrix;
}

int launch_blas_bytes(const char* name, Dim grid, unsigned threads, const void* arguments, void* stream) {
    static CodeImage* image = nullptr;
    Kernel* kernel = nullptr;
    const int code = aside([&] {
        const int loaded = guarded([&](Runtime& runtime) {
            runtime.say(kNotice);
            if (image == nullptr) image = runtime.load_module({kKernels}, 0, "");
            kernel = &runtime.module_kernel(image, name);
        });
        void* list[] = {const_cast<void*>(arguments)};
        return loaded == kSuccess ? cudaLaunchKernel(kernel, grid, {threads, 1, 1}, list, 0, stream) : loaded;
    });
    if (code == kSuccess) return kBlasSuccess;
    Runtime::get().set_unseen_failure(false);  // the program has the status
    return code == kMemoryAllocation ? kBlasAllocFailed : kBlasExecutionFailed;
}

int launch_gemm(Gemm gemm, int batches, void* stream) {
    if (gemm.m < 0 || gemm.n < 0 || gemm.k < 0 || batches < 0) return kBlasInvalidValue;
    if (gemm.m == 0 || gemm.n == 0 || batches == 0) return kBlasSuccess;
    const char* const name = gemm_kernel(gemm.a.type);
    const bool known = name != nullptr && gemm.b.type == gemm.a.type && gemm_kernel(gemm.c.type) != nullptr &&
                       gemm_kernel(gemm.d.type) != nullptr && (gemm.a.type == kDouble) == (gemm.d.type == kDouble);
    if (!known) return blas_not_supported("a matrix product of these data types");
    if (gemm.a.data == nullptr || gemm.b.data == nullptr || gemm.d.data == nullptr || (gemm.beta != 0 && gemm.c.data == nullptr))
        return kBlasInvalidValue;
    const long long tile = gemm.a.type == kDouble ? 32 : 64;
    const long long tiles = (gemm.m + tile - 1) / tile * ((gemm.n + tile - 1) / tile);
    if (tiles > 0x7FFFFFFF) return kBlasInvalidValue;
    for (unsigned left = static_cast<unsigned>(batches); left != 0;) {
        const unsigned now = std::min(left, kMostBatches);
        const int status = launch_blas(name, {static_cast<unsigned>(tiles), 1, now}, 64, gemm, stream);
        if (status != kBlasSuccess) return status;
        for (Matrix* const matrix : {&gemm.a, &gemm.b, &gemm.c, &gemm.d}) advance(*matrix, gemm.pointer_arrays != 0, now);
        left -= now;
    }
    return kBlasSuccess;
}

}  // namespace mergelane::cublas
