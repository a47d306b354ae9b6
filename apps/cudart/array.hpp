// SPDX-License-Identifier: MIT
// CUDA arrays, and copies between them and plain memory.
#pragma once

#include <cstdint>

#include "abi.hpp"
#include "core/types.hpp"

namespace mergelane::cudart {

class Runtime;

inline constexpr std::size_t kPitch = 512;  ///< rows of pitched memory are multiples of this many bytes
/// cudaMemcpyKind.
enum Direction : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kByAddress };

/// Texels lie row after row, slice after slice.
struct Array {
    Addr base = 0;
    ChannelDescription channels;
    Extent extent;  ///< as the program gave it: a dimension that does not exist is 0
    unsigned flags = 0;

    std::size_t texel_bytes() const { return static_cast<std::size_t>(channels.x + channels.y + channels.z + channels.w) / 8; }
    std::size_t row_bytes() const { return extent.width * texel_bytes(); }
    std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
    std::size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
    std::size_t slice_bytes() const { return row_bytes() * rows(); }
};

/// A copy of `bytes` at once, in the form of a copy of rows and slices.
Copy3D plain_copy(void* to, const void* from, std::size_t bytes, int direction);
Copy3D pitched_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height,
                    int direction);
/// Throw CudaError.
void copy_3d(Runtime& runtime, const Copy3D& copy);
void fill(Runtime& runtime, const Fill& what);

}  // namespace mergelane::cudart
