// SPDX-License-Identifier: MIT
// Shared by the PolyBench workloads: CTAs of eight warps and matrix products.
#pragma once

#include <vector>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

inline constexpr Dim3 kBlock1d{256, 1, 1};
inline constexpr Dim3 kBlock2d{32, 8, 1};

constexpr Dim3 grid_1d(int threads) {
    return {ceil_div(static_cast<std::uint32_t>(threads), kBlock1d.x), 1, 1};
}
constexpr Dim3 grid_2d(int columns, int rows) {
    return {ceil_div(static_cast<std::uint32_t>(columns), kBlock2d.x), ceil_div(static_cast<std::uint32_t>(rows), kBlock2d.y), 1};
}

/// out += alpha a b; a is rows x inner, b is inner x columns.
template <class A, class B>
void add_product(std::vector<double>& out, double alpha, const std::vector<A>& a, const std::vector<B>& b, int rows, int columns,
                 int inner) {
    for (int i = 0; i < rows; ++i) {
        double* row = &out[static_cast<std::size_t>(i) * columns];
        for (int k = 0; k < inner; ++k) {
            const double factor = alpha * a[static_cast<std::size_t>(i) * inner + k];
            const B* other = &b[static_cast<std::size_t>(k) * columns];
            for (int j = 0; j < columns; ++j) row[j] += factor * other[j];
        }
    }
}

/// out += a x; a is rows x columns.
template <class X>
void add_rows_times(std::vector<double>& out, const std::vector<float>& a, const std::vector<X>& x, int rows, int columns) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) out[i] += static_cast<double>(a[static_cast<std::size_t>(i) * columns + j]) * x[j];
}

/// out += a^T x; a is rows x columns.
template <class X>
void add_columns_times(std::vector<double>& out, const std::vector<float>& a, const std::vector<X>& x, int rows, int columns) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) out[j] += static_cast<double>(a[static_cast<std::size_t>(i) * columns + j]) * x[i];
}

inline std::size_t area(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

}  // namespace mergelane::suite
