// SPDX-License-Identifier: MIT
// cublasLt: matrix products described by descriptors, with epilogues. Descriptors may lie in memory of the program, which knows their
// sizes but not their contents.
#include <algorithm>
#include <cstring>

#include "cublas.hpp"

namespace {

using namespace mergelane;
using namespace mergelane::cublas;

struct LtLayout {
    int type, order;
    std::uint64_t rows, columns;
    long long leading, batch;
    int batches;
};
struct LtMatmul {
    int compute, scale, pointer_mode, left_operation, right_operation, result_operation, epilogue, bias_type, aux_type;
    void* bias;
    long long bias_batch;
    void* aux;
    long long aux_leading, aux_batch;
};
struct LtPreference {
    std::uint64_t workspace;
};
struct LtAlgorithm {
    std::uint64_t data[8];
};
struct LtHeuristic {
    LtAlgorithm algorithm;
    std::size_t workspace;
    int status;
    float waves;
    int reserved[4];
};
static_assert(sizeof(LtLayout) <= 64 && sizeof(LtMatmul) <= 88 && sizeof(LtPreference) <= 64 && sizeof(LtHeuristic) == 96);

enum LtOrder { kColumnsFirst = 0, kRowsFirst = 1 };
enum LtEpilogue {
    kLtDefault = 1,
    kLtRelu = 2,
    kLtBias = 4,
    kLtReluSlope = 8,
    kLtBiasGradient = 16,
    kLtGelu = 32,
    kLtGeluSlope = 64,
    kLtAux = 128,
    kLtLeftGradient = 256,
    kLtRightGradient = 512
};

/// Where an attribute is in its descriptor.
struct LtAttribute {
    int number;
    std::size_t at, bytes;
};
#define MERGELANE_AT(number, structure, member) \
    { number, offsetof(structure, member), sizeof(structure::member) }
constexpr LtAttribute kLayoutAttributes[] = {
    MERGELANE_AT(0, LtLayout, type),    MERGELANE_AT(1, LtLayout, order),   MERGELANE_AT(2, LtLayout, rows),
    MERGELANE_AT(3, LtLayout, columns), MERGELANE_AT(4, LtLayout, leading), MERGELANE_AT(5, LtLayout, batches),
    MERGELANE_AT(6, LtLayout, batch),
};
constexpr LtAttribute kMatmulAttributes[] = {
    MERGELANE_AT(0, LtMatmul, compute),         MERGELANE_AT(1, LtMatmul, scale),
    MERGELANE_AT(2, LtMatmul, pointer_mode),    MERGELANE_AT(3, LtMatmul, left_operation),
    MERGELANE_AT(4, LtMatmul, right_operation), MERGELANE_AT(5, LtMatmul, result_operation),
    MERGELANE_AT(7, LtMatmul, epilogue),        MERGELANE_AT(8, LtMatmul, bias),
    MERGELANE_AT(10, LtMatmul, bias_batch),     MERGELANE_AT(11, LtMatmul, aux),
    MERGELANE_AT(12, LtMatmul, aux_leading),    MERGELANE_AT(13, LtMatmul, aux_batch),
    MERGELANE_AT(22, LtMatmul, aux_type),       MERGELANE_AT(26, LtMatmul, bias_type),
};
constexpr LtAttribute kPreferenceAttributes[] = {MERGELANE_AT(1, LtPreference, workspace)};
#undef MERGELANE_AT

template <std::size_t kCount>
const LtAttribute* find_attribute(const LtAttribute (&table)[kCount], int number) {
    const auto* const found = std::find_if(std::begin(table), std::end(table), [&](const LtAttribute& a) { return a.number == number; });
    return found == std::end(table) ? nullptr : found;
}
/// `others`: the answer for attributes that are not in the table.
template <std::size_t kCount>
int set_attribute(const LtAttribute (&table)[kCount], void* descriptor, int number, const void* from, std::size_t bytes, int others) {
    if (descriptor == nullptr || from == nullptr) return kBlasInvalidValue;
    const LtAttribute* const attribute = find_attribute(table, number);
    if (attribute == nullptr) return others;
    if (bytes != attribute->bytes) return kBlasInvalidValue;
    std::memcpy(static_cast<std::byte*>(descriptor) + attribute->at, from, bytes);
    return kBlasSuccess;
}
template <std::size_t kCount>
int get_attribute(const LtAttribute (&table)[kCount], const void* descriptor, int number, void* to, std::size_t bytes,
                  std::size_t* written) {
    const LtAttribute* const attribute = find_attribute(table, number);
    if (descriptor == nullptr || attribute == nullptr) return kBlasInvalidValue;
    if (written != nullptr) *written = attribute->bytes;
    if (bytes == 0 && written != nullptr) return kBlasSuccess;
    if (to == nullptr || bytes < attribute->bytes) return kBlasInvalidValue;
    std::memcpy(to, static_cast<const std::byte*>(descriptor) + attribute->at, attribute->bytes);
    return kBlasSuccess;
}

template <class T>
int initialise(void* at, std::size_t bytes, const T& value) {
    if (at == nullptr || bytes < sizeof value) return kBlasInvalidValue;
    std::memcpy(at, &value, sizeof value);
    return kBlasSuccess;
}
template <class T>
int create(void** made, const T& value) {
    if (made == nullptr) return kBlasInvalidValue;
    *made = std::malloc(sizeof value);
    return *made == nullptr ? static_cast<int>(kBlasAllocFailed) : initialise(*made, sizeof value, value);
}
int destroy(void* made) {
    std::free(made);
    return kBlasSuccess;
}

LtLayout new_layout(int type, std::uint64_t rows, std::uint64_t columns, long long leading) {
    return {type, kColumnsFirst, rows, columns, leading, 0, 1};
}
LtMatmul new_matmul(int compute, int scale) {
    LtMatmul made{};
    made.compute = compute;
    made.scale = scale;
    made.epilogue = kLtDefault;
    made.bias_type = made.aux_type = -1;
    return made;
}

/// Transposition is on top of the order in which the matrix is stored.
Matrix as_matrix(const LtLayout& layout, const void* data, int operation) {
    const bool rows_first = layout.order == kRowsFirst;
    const bool swapped = rows_first != (operation != kAsStored);
    return stored(data, swapped ? kTransposed : kAsStored, layout.leading, layout.batch, layout.type);
}

/// Why this product cannot be executed; nullptr if it can.
const char* unsupported(const LtMatmul& p, std::initializer_list<const LtLayout*> layouts) {
    if (scalar_type(p.compute) < 0) return "cublasLtMatmul with this compute type";
    if (p.pointer_mode > kOnDevice) return "cublasLtMatmul with a vector of factors alpha";
    if ((p.epilogue & kLtReluSlope) != 0 || (p.epilogue & (kLtRelu | kLtAux)) == (kLtRelu | kLtAux))
        return "cublasLtMatmul with an epilogue that keeps or uses a bit mask of ReLU";
    if (p.result_operation != kAsStored) return "cublasLtMatmul with a transposed C";
    for (const LtLayout* const layout : layouts) {
        if (layout->order != kColumnsFirst && layout->order != kRowsFirst) return "cublasLtMatmul with a tiled layout";
    }
    return nullptr;
}

void set_epilogue(Gemm& gemm, const LtMatmul& p) {
    const int result_type = gemm.d.type;
    gemm.bias = p.bias;
    gemm.bias_type = p.bias_type < 0 ? result_type : p.bias_type;
    gemm.bias_batch = p.bias_batch;
    gemm.aux = p.aux;
    gemm.aux_type = p.aux_type < 0 ? result_type : p.aux_type;
    gemm.aux_column = p.aux_leading;
    gemm.aux_batch = p.aux_batch;
    if ((p.epilogue & kLtBias) != 0) gemm.epilogue |= kAddBias;
    if ((p.epilogue & kLtRelu) != 0) gemm.epilogue |= kRelu;
    if ((p.epilogue & kLtGelu) != 0) gemm.epilogue |= kGelu;
    if ((p.epilogue & kLtGelu) != 0 && (p.epilogue & kLtAux) != 0) gemm.epilogue |= kStoreBefore;
    if ((p.epilogue & kLtGeluSlope) != 0) gemm.epilogue |= kGeluSlope;
}

/// Gradients of a bias are sums: of the result's rows, or of a factor along k.
int launch_gradient(const Gemm& gemm, const LtMatmul& p, void* stream) {
    RowSums sums;
    sums.to = gemm.bias;
    sums.to_type = gemm.bias_type;
    int rows = gemm.m;
    if ((p.epilogue & kLtBiasGradient) != 0) {
        sums.from = gemm.d;
        sums.n = gemm.n;
    } else if ((p.epilogue & kLtLeftGradient) != 0) {
        sums.from = gemm.a;
        sums.n = gemm.k;
    } else if ((p.epilogue & kLtRightGradient) != 0) {
        sums.from = gemm.b;
        std::swap(sums.from.row, sums.from.column);
        sums.n = gemm.k;
        rows = gemm.n;
    } else {
        return kBlasSuccess;
    }
    if (sums.to == nullptr) return kBlasInvalidValue;
    return launch_blas("row_sums", {static_cast<unsigned>(rows), 1, 1}, kVectorThreads, sums, stream);
}

}  // namespace

// ---- descriptors

MERGELANE_API int cublasLtMatrixLayoutInit_internal(void* layout, std::size_t bytes, int type, std::uint64_t rows, std::uint64_t columns,
                                                    long long leading) {
    return initialise(layout, bytes, new_layout(type, rows, columns, leading));
}
MERGELANE_API int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns, long long leading) {
    return create(layout, new_layout(type, rows, columns, leading));
}
MERGELANE_API int cublasLtMatrixLayoutDestroy(void* layout) {
    return destroy(layout);
}
MERGELANE_API int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* from, std::size_t bytes) {
    return set_attribute(kLayoutAttributes, layout, attribute, from, bytes, kBlasNotSupported);
}
MERGELANE_API int cublasLtMatrixLayoutGetAttribute(const void* layout, int attribute, void* to, std::size_t bytes, std::size_t* written) {
    return get_attribute(kLayoutAttributes, layout, attribute, to, bytes, written);
}
MERGELANE_API int cublasLtMatmulDescInit_internal(void* matmul, std::size_t bytes, int compute, int scale) {
    return initialise(matmul, bytes, new_matmul(compute, scale));
}
MERGELANE_API int cublasLtMatmulDescCreate(void** matmul, int compute, int scale) {
    return create(matmul, new_matmul(compute, scale));
}
MERGELANE_API int cublasLtMatmulDescDestroy(void* matmul) {
    return destroy(matmul);
}
MERGELANE_API int cublasLtMatmulDescSetAttribute(void* matmul, int attribute, const void* from, std::size_t bytes) {
    enum { kSmCount = 15, kFastAccumulation = 25 };
    const bool hint = attribute == kSmCount || attribute == kFastAccumulation;
    const int status = set_attribute(kMatmulAttributes, matmul, attribute, from, bytes, hint ? kBlasSuccess : kBlasNotSupported);
    return status == kBlasNotSupported ? blas_not_supported("cublasLtMatmulDescSetAttribute with scales or another rare attribute")
                                       : status;
}
MERGELANE_API int cublasLtMatmulDescGetAttribute(const void* matmul, int attribute, void* to, std::size_t bytes, std::size_t* written) {
    return get_attribute(kMatmulAttributes, matmul, attribute, to, bytes, written);
}
MERGELANE_API int cublasLtMatmulPreferenceInit_internal(void* preference, std::size_t bytes) {
    return initialise(preference, bytes, LtPreference{});
}
MERGELANE_API int cublasLtMatmulPreferenceCreate(void** preference) {
    return create(preference, LtPreference{});
}
MERGELANE_API int cublasLtMatmulPreferenceDestroy(void* preference) {
    return destroy(preference);
}
// There is only one algorithm, so preferences have no effect.
MERGELANE_API int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* from, std::size_t bytes) {
    return set_attribute(kPreferenceAttributes, preference, attribute, from, bytes, kBlasSuccess);
}
MERGELANE_API int cublasLtMatmulPreferenceGetAttribute(const void* preference, int attribute, void* to, std::size_t bytes,
                                                       std::size_t* written) {
    return get_attribute(kPreferenceAttributes, preference, attribute, to, bytes, written);
}

// ---- algorithms: one

MERGELANE_API int cublasLtMatmulAlgoCheck(void*, const LtMatmul* matmul, const LtLayout* a, const LtLayout* b, const LtLayout* c,
                                          const LtLayout* d, const LtAlgorithm*, LtHeuristic* result) {
    if (matmul == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || result == nullptr) return kBlasInvalidValue;
    *result = {};
    result->waves = 1;
    if (const char* const what = unsupported(*matmul, {a, b, c, d})) return result->status = blas_not_supported(what);
    return kBlasSuccess;
}
MERGELANE_API int cublasLtMatmulAlgoGetHeuristic(void* handle, const LtMatmul* matmul, const LtLayout* a, const LtLayout* b,
                                                 const LtLayout* c, const LtLayout* d, const void*, int wanted, LtHeuristic* results,
                                                 int* count) {
    if (count == nullptr || wanted < 1) return kBlasInvalidValue;
    const int status = cublasLtMatmulAlgoCheck(handle, matmul, a, b, c, d, nullptr, results);
    *count = status == kBlasSuccess ? 1 : 0;
    return status;
}
MERGELANE_API int cublasLtMatmulAlgoGetIds(void*, int, int, int, int, int, int, int wanted, int* numbers, int* count) {
    if (numbers == nullptr || wanted < 1) return kBlasInvalidValue;
    *numbers = 0;
    if (count != nullptr) *count = 1;
    return kBlasSuccess;
}
MERGELANE_API int cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int number, LtAlgorithm* algorithm) {
    if (algorithm == nullptr || number != 0) return kBlasInvalidValue;
    *algorithm = {};
    return kBlasSuccess;
}
MERGELANE_API int cublasLtMatmulAlgoConfigSetAttribute(LtAlgorithm*, int, const void*, std::size_t) {
    return kBlasSuccess;
}
MERGELANE_API int cublasLtMatmulAlgoConfigGetAttribute(const LtAlgorithm*, int, void* to, std::size_t bytes, std::size_t* written) {
    if (to != nullptr) std::memset(to, 0, bytes);
    if (written != nullptr) *written = bytes;
    return kBlasSuccess;
}
MERGELANE_API int cublasLtLoggerSetLevel(int) {
    return kBlasSuccess;
}
MERGELANE_SAME(cublasLtLoggerSetLevel, cublasLtLoggerSetMask);

// ---- the product

MERGELANE_API int cublasLtMatmul(void* handle, const LtMatmul* matmul, const void* alpha, const void* a, const LtLayout* a_layout,
                                 const void* b, const LtLayout* b_layout, const void* beta, const void* c, const LtLayout* c_layout,
                                 void* d, const LtLayout* d_layout, const LtAlgorithm*, void*, std::size_t, void* stream) {
    if (find_handle(handle) == nullptr) return kBlasNotInitialized;
    if (matmul == nullptr || a_layout == nullptr || b_layout == nullptr || c_layout == nullptr || d_layout == nullptr)
        return kBlasInvalidValue;
    const LtMatmul& p = *matmul;
    if (const char* const what = unsupported(p, {a_layout, b_layout, c_layout, d_layout})) return blas_not_supported(what);
    const bool left = p.left_operation != kAsStored;
    const bool right = p.right_operation != kAsStored;
    const std::uint64_t depth = left ? a_layout->rows : a_layout->columns;
    constexpr std::uint64_t kMost = 0x7FFFFFFF;
    if ((left ? a_layout->columns : a_layout->rows) != d_layout->rows ||
        (right ? b_layout->rows : b_layout->columns) != d_layout->columns || (right ? b_layout->columns : b_layout->rows) != depth ||
        std::max({d_layout->rows, d_layout->columns, depth}) > kMost)
        return kBlasInvalidValue;
    Gemm gemm;
    gemm.a = as_matrix(*a_layout, a, p.left_operation);
    gemm.b = as_matrix(*b_layout, b, p.right_operation);
    gemm.c = as_matrix(*c_layout, c, kAsStored);
    gemm.d = as_matrix(*d_layout, d, kAsStored);
    gemm.m = static_cast<int>(d_layout->rows);
    gemm.n = static_cast<int>(d_layout->columns);
    gemm.k = static_cast<int>(depth);
    if (!read_scalar(gemm.alpha, alpha, p.scale, p.pointer_mode) || !read_scalar(gemm.beta, beta, p.scale, p.pointer_mode))
        return kBlasInvalidValue;
    set_epilogue(gemm, p);
    const bool beside = (gemm.epilogue & (kStoreBefore | kGeluSlope)) != 0;
    if (((gemm.epilogue & kAddBias) != 0 && gemm.bias == nullptr) || (beside && (gemm.aux == nullptr || gemm.aux_column < gemm.m)))
        return kBlasInvalidValue;
    const int status = launch_gemm(gemm, d_layout->batches, stream);
    return status == kBlasSuccess ? launch_gradient(gemm, p, stream) : status;
}
