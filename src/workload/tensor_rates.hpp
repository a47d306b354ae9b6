// SPDX-License-Identifier: MIT
// What products of matrices cost (ADR 0036): shared by PTX and by traces, so that both agree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace mergelane {

/// Multiply-adds of one instruction of class `tensor` in the timing model. For f16 it is 256: what one HMMA.884 of a V100 computes, so that
/// a wmma.mma takes as many tensor instructions as in a trace of that GPU, and m16n8k16, for example, half as many. The other types relate
/// to f16 as their multiply-adds per clock and SM do.
struct TensorRate {
    std::string_view operands;
    std::uint32_t per_clock;  ///< and SM, dense
};
inline constexpr TensorRate kTensorRates[] = {
    // NVIDIA A100 Tensor Core GPU Architecture (whitepaper, 2020), table of throughputs by type
    {"f16", 1024},
    {"bf16", 1024},
    {"tf32", 512},
    {"f64", 64},
    {"s8", 2048},
    {"u8", 2048},
    {"s4", 4096},
    {"u4", 4096},
    {"b1", 16384},
    // NVIDIA Ada GPU Architecture and NVIDIA H100 Tensor Core GPU Architecture (whitepapers, 2022): twice the rate of f16
    {"e4m3", 2048},
    {"e5m2", 2048},
};

/// Instructions of class `tensor` that a product of so many multiply-adds takes.
inline std::uint32_t tensor_slots(std::uint32_t multiply_adds, std::string_view element) {
    constexpr std::uint32_t kHalvesPerSlot = 256;
    constexpr std::uint32_t kHalvesPerClock = 1024;
    std::uint32_t per_clock = kHalvesPerClock;
    for (const TensorRate& rate : kTensorRates) {
        if (rate.operands == element) per_clock = rate.per_clock;
    }
    return std::max(1u, multiply_adds / (kHalvesPerSlot * per_clock / kHalvesPerClock));
}

}  // namespace mergelane
