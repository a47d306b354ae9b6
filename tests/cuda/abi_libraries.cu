// SPDX-License-Identifier: MIT
// Numbers and layouts that the replacements of the driver and of cuBLAS take for granted are those of the toolkit's headers. Compiling this
// is the test.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>

#include <cstddef>

#include "arguments.hpp"

using namespace mergelane::cublas;

// ---- the driver: codes, copies, launches, attributes
static_assert(CUDA_ERROR_INVALID_IMAGE == 200 && CUDA_ERROR_INVALID_CONTEXT == 201 && CUDA_ERROR_PEER_ACCESS_UNSUPPORTED == 217);
static_assert(CUDA_ERROR_FILE_NOT_FOUND == 301 && CUDA_ERROR_NOT_FOUND == 500 && CUDA_ERROR_NOT_SUPPORTED == 801);
static_assert(sizeof(CUDA_MEMCPY2D) == 128 && offsetof(CUDA_MEMCPY2D, srcPitch) == 48 && offsetof(CUDA_MEMCPY2D, dstXInBytes) == 56 &&
              offsetof(CUDA_MEMCPY2D, WidthInBytes) == 112);
static_assert(sizeof(CUDA_MEMCPY3D) == 200 && offsetof(CUDA_MEMCPY3D, srcPitch) == 72 && offsetof(CUDA_MEMCPY3D, dstXInBytes) == 88 &&
              offsetof(CUDA_MEMCPY3D, WidthInBytes) == 176 && sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D) &&
              offsetof(CUDA_MEMCPY3D_PEER, dstXInBytes) == offsetof(CUDA_MEMCPY3D, dstXInBytes));
static_assert(CU_MEMORYTYPE_HOST == 1 && CU_MEMORYTYPE_DEVICE == 2 && CU_MEMORYTYPE_ARRAY == 3 && CU_MEMORYTYPE_UNIFIED == 4);
static_assert(sizeof(CUlaunchConfig) == 56 && offsetof(CUlaunchConfig, sharedMemBytes) == 24 && offsetof(CUlaunchConfig, hStream) == 32 &&
              offsetof(CUlaunchConfig, attrs) == 40 && offsetof(CUlaunchConfig, numAttrs) == 48 && sizeof(CUlaunchAttribute) == 72);
static_assert(CU_JIT_WALL_TIME == 2 && CU_JIT_INFO_LOG_BUFFER == 3 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);
static_assert(CU_POINTER_ATTRIBUTE_BUFFER_ID == 7 && CU_POINTER_ATTRIBUTE_RANGE_START_ADDR == 11 && CU_POINTER_ATTRIBUTE_MAPPING_SIZE == 18);
static_assert(CU_FUNC_ATTRIBUTE_NUM_REGS == 4 && CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT == 9);
static_assert(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM == 2 && CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND == 1);
static_assert(sizeof(CUdevprop) == 14 * sizeof(int) && offsetof(CUdevprop, clockRate) == 12 * sizeof(int));

// ---- cuBLAS: codes, types
static_assert(CUBLAS_STATUS_NOT_INITIALIZED == 1 && CUBLAS_STATUS_ALLOC_FAILED == 3 && CUBLAS_STATUS_INVALID_VALUE == 7 &&
              CUBLAS_STATUS_EXECUTION_FAILED == 13 && CUBLAS_STATUS_NOT_SUPPORTED == 15);
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 && CUBLAS_OP_C == 2 && CUBLAS_POINTER_MODE_DEVICE == 1);
static_assert(int(CUDA_R_32F) == kFloat && int(CUDA_R_64F) == kDouble && int(CUDA_R_16F) == kHalf && int(CUDA_R_16BF) == kBrain);
static_assert(CUBLAS_COMPUTE_16F == 64 && CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_64F == 70 && CUBLAS_COMPUTE_32F_FAST_16F == 74 &&
              CUBLAS_COMPUTE_32F_FAST_16BF == 75 && CUBLAS_COMPUTE_32F_FAST_TF32 == 77);

// ---- cublasLt: descriptors fit where programs put them
static_assert(sizeof(cublasLtMatrixLayoutOpaque_t) >= 64 && sizeof(cublasLtMatmulDescOpaque_t) >= 88 &&
              sizeof(cublasLtMatmulPreferenceOpaque_t) >= 64 && sizeof(cublasLtMatmulAlgo_t) == 64);
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96 && offsetof(cublasLtMatmulHeuristicResult_t, state) == 72);
static_assert(CUBLASLT_EPILOGUE_DEFAULT == 1 && CUBLASLT_EPILOGUE_DGELU == (64 | 128) && CUBLASLT_EPILOGUE_DGELU_BGRAD == (64 | 128 | 16) &&
              CUBLASLT_EPILOGUE_BGRADB == 512);
static_assert(CUBLASLT_MATMUL_DESC_EPILOGUE == 7 && CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER == 11 &&
              CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE == 22 && CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE == 26);
static_assert(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT == 5 && CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET == 6 && CUBLASLT_ORDER_ROW == 1);
static_assert(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1);

int main() {}
