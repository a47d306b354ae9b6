// SPDX-License-Identifier: MIT
// The kernels behind the replacement for cuBLAS. scripts/make_ptx compiles them; what is executed is kernels.ptx.
//
// Matrices are given by the distances between neighbours in a row and in a column, so that one kernel serves all layouts and
// transpositions. Half-precision numbers are converted with integer operations: products and sums are of single precision.
#include "arguments.hpp"

namespace {

using namespace mergelane::cublas;

struct Half {
    unsigned short bits;
};
struct Brain {  // bfloat16
    unsigned short bits;
};

__device__ float value(float x) {
    return x;
}
__device__ double value(double x) {
    return x;
}
__device__ float value(Brain x) {
    return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ float value(Half x) {
    const unsigned sign = (x.bits & 0x8000u) << 16;
    const unsigned rest = x.bits & 0x7FFFu;
    const float scaled = __uint_as_float(rest << 13) * __uint_as_float(0x77800000u);  // 2^112, the difference of the exponents' biases
    return __uint_as_float((rest >= 0x7C00u ? __float_as_uint(scaled) | 0x7F800000u : __float_as_uint(scaled)) | sign);
}

__device__ unsigned short brain_bits(float x) {
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
    return static_cast<unsigned short>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
__device__ unsigned short half_bits(float x) {
    const unsigned bits = __float_as_uint(x);
    const unsigned sign = (bits >> 16) & 0x8000u;
    const unsigned rest = bits & 0x7FFFFFFFu;
    unsigned result;
    if (rest > 0x7F800000u) {
        result = 0x7FFFu;
    } else if (rest >= 0x477FF000u) {  // 65520: rounds to infinity
        result = 0x7C00u;
    } else if (rest < 0x38800000u) {  // subnormal: an addition rounds it to a multiple of 2^-24
        result = __float_as_uint(__uint_as_float(rest) + 0.5f) - 0x3F000000u;
    } else {
        result = (rest - 0x38000000u + 0xFFFu + ((rest >> 13) & 1u)) >> 13;
    }
    return static_cast<unsigned short>(result | sign);
}

template <class Sum>
__device__ Sum load(const void* from, long long at, int type) {
    switch (type) {
        case kHalf: return static_cast<Sum>(value(static_cast<const Half*>(from)[at]));
        case kBrain: return static_cast<Sum>(value(static_cast<const Brain*>(from)[at]));
        case kDouble: return static_cast<Sum>(static_cast<const double*>(from)[at]);
        default: return static_cast<Sum>(static_cast<const float*>(from)[at]);
    }
}
template <class Sum>
__device__ void store(void* to, long long at, int type, Sum x) {
    switch (type) {
        case kHalf: static_cast<Half*>(to)[at].bits = half_bits(static_cast<float>(x)); break;
        case kBrain: static_cast<Brain*>(to)[at].bits = brain_bits(static_cast<float>(x)); break;
        case kDouble: static_cast<double*>(to)[at] = static_cast<double>(x); break;
        default: static_cast<float*>(to)[at] = static_cast<float>(x);
    }
}

constexpr float kGeluScale = 0.79788456f;  // sqrt(2 / pi)
constexpr float kGeluCube = 0.044715f;

__device__ float gelu(float x) {
    return 0.5f * x * (1.0f + tanhf(kGeluScale * (x + kGeluCube * x * x * x)));
}
__device__ float gelu_slope(float x) {
    const float t = tanhf(kGeluScale * (x + kGeluCube * x * x * x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * kGeluScale * (1.0f + 3.0f * kGeluCube * x * x);
}

/// A batch's matrix.
template <class T>
__device__ T* matrix(T* base, long long distance, int bytes, bool array) {
    if (array) return static_cast<T* const*>(static_cast<const void*>(base))[blockIdx.z];
    return base == nullptr ? base : (T*)((const char*)base + blockIdx.z * distance * bytes);
}

__device__ int bytes_of(int type) {
    return type == kDouble ? 8 : type == kFloat ? 4 : 2;
}

constexpr int kSide = 8;    // a CTA has kSide * kSide threads
constexpr int kDepth = 16;  // of a tile

/// Copies a tile of `rows` x kDepth, transposed, into shared memory. Neighbouring threads read neighbouring elements.
template <class In, class Sum, int kTile>
__device__ void load_tile(Sum (*tile)[kTile + 4], const In* from, long long row_distance, long long depth_distance, int row, int rows,
                          int depth, int depths) {
    constexpr int kThreads = kSide * kSide;
    const int thread = threadIdx.x;
    const bool whole = row + kTile <= rows && depth + kDepth <= depths;
    if (row_distance == 1) {
        constexpr int kRowsOfThreads = kThreads / kTile;
        const int r = thread % kTile;
        const int first = thread / kTile;
        const In* at = from + (row + r) + (depth + first) * depth_distance;
#pragma unroll
        for (int d = 0; d < kDepth; d += kRowsOfThreads, at += kRowsOfThreads * depth_distance)
            tile[d + first][r] = whole || (row + r < rows && depth + d + first < depths) ? value(*at) : Sum(0);
    } else {
        constexpr int kStep = kThreads / kDepth;
        const int d = thread % kDepth;
        const int first = thread / kDepth;
        const In* at = from + (row + first) * row_distance + (depth + d) * depth_distance;
#pragma unroll
        for (int r = 0; r < kTile; r += kStep, at += kStep * row_distance)
            tile[d][r + first] = whole || (row + r + first < rows && depth + d < depths) ? value(*at) : Sum(0);
    }
}

template <class Sum>
__device__ void finish(const Gemm& g, const void* c, void* d, void* aux, int row, int column, Sum sum) {
    Sum x = static_cast<Sum>(g.alpha) * sum;
    if (g.beta != 0) x += static_cast<Sum>(g.beta) * load<Sum>(c, row * g.c.row + column * g.c.column, g.c.type);
    if (g.epilogue & kAddBias) x += load<Sum>(g.bias, row + blockIdx.z * g.bias_batch, g.bias_type);
    const long long beside = row + column * g.aux_column;
    if (g.epilogue & kStoreBefore) store(aux, beside, g.aux_type, x);
    if (g.epilogue & kRelu) x = x < Sum(0) ? Sum(0) : x;
    if (g.epilogue & kGelu) x = static_cast<Sum>(gelu(static_cast<float>(x)));
    if (g.epilogue & kGeluSlope) x *= static_cast<Sum>(gelu_slope(load<float>(aux, beside, g.aux_type)));
    store(d, row * g.d.row + column * g.d.column, g.d.type, x);
}

/// d = epilogue(alpha a b + beta c). A CTA makes a tile of d, a thread kPer x kPer elements of it.
template <class In, class Sum, int kPer>
__device__ void gemm(const Gemm& g) {
    constexpr int kTile = kSide * kPer;
    constexpr int kGroup = 4;  // neighbours that a thread has; the next group is kSide * kGroup further
    __shared__ __align__(16) Sum tiles[2 * kDepth][kTile + 4];
    auto* const tile_a = tiles;
    auto* const tile_b = tiles + kDepth;
    const bool array = g.pointer_arrays != 0;
    const In* const a = static_cast<const In*>(matrix(g.a.data, g.a.batch, sizeof(In), array));
    const In* const b = static_cast<const In*>(matrix(g.b.data, g.b.batch, sizeof(In), array));
    const int tiles_down = (g.m + kTile - 1) / kTile;
    const int row = static_cast<int>(blockIdx.x) % tiles_down * kTile;
    const int column = static_cast<int>(blockIdx.x) / tiles_down * kTile;
    const int x = threadIdx.x % kSide * kGroup;
    const int y = threadIdx.x / kSide * kGroup;
    Sum sums[kPer][kPer] = {};
    for (int depth = 0; depth < g.k; depth += kDepth) {
        load_tile<In, Sum, kTile>(tile_a, a, g.a.row, g.a.column, row, g.m, depth, g.k);
        load_tile<In, Sum, kTile>(tile_b, b, g.b.column, g.b.row, column, g.n, depth, g.k);
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < kDepth; ++d) {
            Sum left[kPer], right[kPer];
#pragma unroll
            for (int i = 0; i < kPer; ++i) {
                left[i] = tile_a[d][x + i / kGroup * kSide * kGroup + i % kGroup];
                right[i] = tile_b[d][y + i / kGroup * kSide * kGroup + i % kGroup];
            }
#pragma unroll
            for (int j = 0; j < kPer; ++j) {
#pragma unroll
                for (int i = 0; i < kPer; ++i) sums[j][i] += left[i] * right[j];
            }
        }
        __syncthreads();
    }
    const void* const c = matrix(g.c.data, g.c.batch, bytes_of(g.c.type), array);
    void* const d = matrix(g.d.data, g.d.batch, bytes_of(g.d.type), array);
    void* const aux = matrix(g.aux, g.aux_batch, bytes_of(g.aux_type), false);
    // The sums go through shared memory, 2 * kDepth columns at a time, so that neighbouring threads store neighbouring elements.
    static_assert(kSide * kGroup == 2 * kDepth);
#pragma unroll 1
    for (int part = 0; part < kPer / kGroup; ++part) {
#pragma unroll
        for (int j = 0; j < kPer; ++j) {
#pragma unroll
            for (int i = 0; i < kPer; ++i) {
                if (j / kGroup == part) tiles[y + j % kGroup][x + i / kGroup * kSide * kGroup + i % kGroup] = sums[j][i];
            }
        }
        __syncthreads();
#pragma unroll 1
        for (int at = threadIdx.x; at < 2 * kDepth * kTile; at += kSide * kSide) {
            const int r = row + at % kTile;
            const int s = column + part * 2 * kDepth + at / kTile;
            if (r < g.m && s < g.n) finish(g, c, d, aux, r, s, tiles[at / kTile][at % kTile]);
        }
        __syncthreads();
    }
}

/// What all threads of a CTA combine to; valid in thread 0.
template <class T, class Combine>
__device__ T combined(T mine, Combine combine) {
    __shared__ T all[kVectorThreads];
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int half = kVectorThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) all[threadIdx.x] = combine(all[threadIdx.x], all[threadIdx.x + half]);
        __syncthreads();
    }
    return all[0];
}

/// y = alpha op(A) x + beta y; a CTA makes kVectorThreads elements of y, or one if A's columns are the products' rows.
template <class T>
__device__ void gemv(const Gemv& g) {
    const T* const a = static_cast<const T*>(g.a);
    const T* const x = static_cast<const T*>(g.x);
    T* const y = static_cast<T*>(g.y);
    T sum = 0;
    long long row = blockIdx.x;
    if (g.transposed) {
        for (long long i = threadIdx.x; i < g.m; i += kVectorThreads) sum += a[row * g.leading + i] * x[i * g.x_step];
        sum = combined(sum, [](T p, T q) { return p + q; });
        if (threadIdx.x != 0) return;
    } else {
        row = row * kVectorThreads + threadIdx.x;
        if (row >= g.m) return;
        for (long long i = 0; i < g.n; ++i) sum += a[i * g.leading + row] * x[i * g.x_step];
    }
    T& to = y[row * g.y_step];
    to = static_cast<T>(g.alpha) * sum + (g.beta == 0 ? T(0) : static_cast<T>(g.beta) * to);
}

/// One operation on every element of vectors.
template <class T>
__device__ void vectors(const Vectors& v) {
    const long long i = static_cast<long long>(blockIdx.x) * kVectorThreads + threadIdx.x;
    if (i >= v.n) return;
    T& x = static_cast<T*>(v.x)[i * v.x_step];
    if (v.operation == kScale) {
        x *= static_cast<T>(v.alpha);
        return;
    }
    T& y = static_cast<T*>(v.y)[i * v.y_step];
    switch (v.operation) {
        case kAddScaled: y += static_cast<T>(v.alpha) * x; break;
        case kCopy: y = x; break;
        default: {
            const T kept = x;
            x = y;
            y = kept;
        }
    }
}

/// One number from all elements of vectors. Sums are of double precision. One CTA.
template <class T>
__device__ void reduce(const Vectors& v) {
    const T* const x = static_cast<const T*>(v.x);
    const T* const y = static_cast<const T*>(v.y);
    if (v.operation == kLargest || v.operation == kSmallest) {
        struct Place {
            T size;
            int index;  // from 1; 0: none
        };
        const bool largest = v.operation == kLargest;
        const auto better = [largest](Place p, Place q) {
            if (p.index == 0 || q.index == 0) return p.index == 0 ? q : p;
            if (p.size == q.size) return p.index < q.index ? p : q;
            return (largest ? p.size > q.size : p.size < q.size) ? p : q;
        };
        Place best{0, 0};
        for (long long i = threadIdx.x; i < v.n; i += kVectorThreads) best = better(best, {fabs(x[i * v.x_step]), static_cast<int>(i + 1)});
        best = combined(best, better);
        if (threadIdx.x == 0) *static_cast<int*>(v.result) = best.index;
        return;
    }
    double sum = 0;
    for (long long i = threadIdx.x; i < v.n; i += kVectorThreads) {
        const double p = x[i * v.x_step];
        sum += v.operation == kDot ? p * static_cast<double>(y[i * v.y_step]) : v.operation == kSumOfSizes ? fabs(p) : p * p;
    }
    sum = combined(sum, [](double p, double q) { return p + q; });
    if (threadIdx.x == 0) *static_cast<T*>(v.result) = static_cast<T>(v.operation == kLength ? sqrt(sum) : sum);
}

/// c = alpha a + beta b, element by element; also the sum of a column vector and a row vector's product (ger) with b = c.
template <class T>
__device__ void combine(const Combine& g) {
    const long long at = static_cast<long long>(blockIdx.x) * kVectorThreads + threadIdx.x;
    if (at >= static_cast<long long>(g.m) * g.n) return;
    const long long row = at % g.m;
    const long long column = at / g.m;
    T left = 0;
    if (g.outer_product) {
        left = static_cast<T>(g.alpha) * static_cast<const T*>(g.a.data)[row * g.a.row] * static_cast<const T*>(g.b.data)[column * g.b.column];
        T& to = static_cast<T*>(g.c.data)[row * g.c.row + column * g.c.column];
        to += left;
        return;
    }
    if (g.alpha != 0) left = static_cast<T>(g.alpha) * static_cast<const T*>(g.a.data)[row * g.a.row + column * g.a.column];
    if (g.beta != 0) left += static_cast<T>(g.beta) * static_cast<const T*>(g.b.data)[row * g.b.row + column * g.b.column];
    static_cast<T*>(g.c.data)[row * g.c.row + column * g.c.column] = left;
}

/// The sums of the rows of a matrix: the gradient of a bias. A CTA adds one row.
__device__ void sum_rows(const RowSums& g) {
    float sum = 0;
    for (long long column = threadIdx.x; column < g.n; column += kVectorThreads)
        sum += load<float>(g.from.data, blockIdx.x * g.from.row + column * g.from.column, g.from.type);
    sum = combined(sum, [](float p, float q) { return p + q; });
    if (threadIdx.x == 0) store(g.to, blockIdx.x, g.to_type, sum);
}

}  // namespace

extern "C" {
__global__ void __launch_bounds__(64) gemm_f32(const Gemm g) {
    gemm<float, float, 8>(g);
}
__global__ void __launch_bounds__(64) gemm_f16(const Gemm g) {
    gemm<Half, float, 8>(g);
}
__global__ void __launch_bounds__(64) gemm_bf16(const Gemm g) {
    gemm<Brain, float, 8>(g);
}
__global__ void __launch_bounds__(64) gemm_f64(const Gemm g) {
    gemm<double, double, 4>(g);
}
__global__ void __launch_bounds__(kVectorThreads) gemv_f32(const Gemv g) {
    gemv<float>(g);
}
__global__ void __launch_bounds__(kVectorThreads) gemv_f64(const Gemv g) {
    gemv<double>(g);
}
__global__ void __launch_bounds__(kVectorThreads) vectors_f32(const Vectors v) {
    vectors<float>(v);
}
__global__ void __launch_bounds__(kVectorThreads) vectors_f64(const Vectors v) {
    vectors<double>(v);
}
__global__ void __launch_bounds__(kVectorThreads) reduce_f32(const Vectors v) {
    reduce<float>(v);
}
__global__ void __launch_bounds__(kVectorThreads) reduce_f64(const Vectors v) {
    reduce<double>(v);
}
__global__ void __launch_bounds__(kVectorThreads) combine_f32(const Combine g) {
    combine<float>(g);
}
__global__ void __launch_bounds__(kVectorThreads) combine_f64(const Combine g) {
    combine<double>(g);
}
__global__ void __launch_bounds__(kVectorThreads) row_sums(const RowSums g) {
    sum_rows(g);
}
}
