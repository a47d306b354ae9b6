// SPDX-License-Identifier: MIT
// Built-in instruction source: small kernels with known behaviour, for benchmarks, tests and first experiments.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

struct SyntheticParams {
    std::uint32_t ctas = 960;
    std::uint32_t warps = 8;         ///< per CTA
    std::uint32_t iterations = 16;   ///< of the loop body
    std::uint32_t alu = 4;           ///< arithmetic instructions per memory instruction
    std::uint32_t registers = 32;    ///< per thread, for residency
    std::uint32_t shared_bytes = 0;  ///< per CTA
    std::uint32_t reuse = 1;         ///< iterations that access the same tile again
    std::uint32_t stride = 1;        ///< words between lanes (shared: bank conflicts)
    std::uint32_t footprint_kib = 65536;
    std::uint32_t kernels = 1;  ///< launches, one after the other
    std::uint32_t seed = 1;
};

struct SyntheticKind {
    std::string_view name;
    std::string_view meaning;
};
/// The kinds, in the order `mergelane list synthetic` shows them.
const std::vector<SyntheticKind>& synthetic_kinds();

struct SyntheticParamInfo {
    std::string_view name;
    std::uint32_t SyntheticParams::*member;
    std::uint32_t min;
    std::uint32_t max;
    std::string_view meaning;
};
const std::vector<SyntheticParamInfo>& synthetic_params();

/// The default parameters of a kind. Throws InputError for an unknown kind, with the closest known one.
SyntheticParams synthetic_defaults(std::string_view kind);
/// Applies "name=value"; throws InputError with the allowed names and range.
void apply_synthetic_param(SyntheticParams& params, std::string_view assignment);

std::unique_ptr<Workload> make_synthetic(std::string_view kind, const SyntheticParams& params);

}  // namespace mergelane
