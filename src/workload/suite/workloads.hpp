// SPDX-License-Identifier: MIT
// One function per workload, each in the file of its name.
#pragma once

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

std::unique_ptr<Problem> make_hotspot(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_btree(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_backprop(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_bfs(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_srad(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_lud(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_kmeans(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_streamcluster(Size size, std::uint64_t seed);

std::unique_ptr<Problem> make_2dconv(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_3dconv(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_gemm(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_2mm(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_3mm(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_syrk(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_syr2k(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_atax(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_bicg(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_mvt(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_gesummv(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_corr(Size size, std::uint64_t seed);

std::unique_ptr<Problem> make_matrixmul(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_fdtd3d(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_dct8x8(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_transpose(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_blackscholes(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_histogram(Size size, std::uint64_t seed);

std::unique_ptr<Problem> make_spmv(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_reduction(Size size, std::uint64_t seed);
std::unique_ptr<Problem> make_nn(Size size, std::uint64_t seed);

}  // namespace mergelane::suite
