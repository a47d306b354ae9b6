// SPDX-License-Identifier: MIT
// Tensor maps: what cp.async.bulk.tensor knows about a tensor in global memory. Programs see 128 opaque bytes; the layout is Mergelane's
// own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/types.hpp"

namespace mergelane::ptx {

/// In the order of CUtensorMapDataType.
enum class TensorType : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz, count };
enum class TensorSwizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128, count };

struct TensorMap {
    static constexpr std::uint32_t kMostRank = 5;
    static constexpr std::size_t kBytes = 128;

    TensorType type = TensorType::u8;
    TensorSwizzle swizzle = TensorSwizzle::none;
    bool fill_nan = false;  ///< elements outside are NaN, else 0
    std::uint32_t rank = 1;
    Addr address = 0;
    std::array<std::uint64_t, kMostRank> size{};            ///< elements
    std::array<std::uint64_t, kMostRank - 1> stride{};      ///< bytes, from dimension 1 on
    std::array<std::uint32_t, kMostRank> box{};             ///< elements
    std::array<std::uint32_t, kMostRank> element_stride{};  ///< every so many elements of the box are transferred

    std::uint32_t element_bytes() const;
    bool is_floating() const;
    /// Elements that are transferred in a dimension.
    std::uint32_t elements(std::uint32_t dimension) const {
        return (box[dimension] + element_stride[dimension] - 1) / element_stride[dimension];
    }
    /// Of a transfer.
    std::uint64_t box_bytes() const;

    /// Empty: it is valid; otherwise what is wrong.
    std::string check() const;
    /// For cuTensorMapEncodeTiled; interleaved layouts do not exist here, and the promotion to the L2 has no effect. Returns check().
    std::string encode(std::span<std::byte, kBytes> to) const;
    /// Empty: the bytes are a valid tensor map; otherwise what is wrong.
    std::string decode(const std::byte* from);
};

}  // namespace mergelane::ptx
