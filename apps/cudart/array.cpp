// SPDX-License-Identifier: MIT
#include "array.hpp"

#include <algorithm>
#include <cstring>

#include "runtime.hpp"

namespace mergelane::cudart {

namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 34;  ///< along a dimension, so that products stay in range

/// One side of a copy.
struct Side {
    void* base = nullptr;
    std::size_t row = 0, slice = 0;
    bool device = false;

    void* at(std::size_t y, std::size_t z) const { return static_cast<std::byte*>(base) + z * slice + y * row; }
};

Side side_of(Runtime& runtime, Array* array, const Position& position, const PitchedPointer& memory, bool device, std::size_t width,
             const Extent& extent) {
    Side side;
    if (array != nullptr) {
        const Array& known = runtime.arrays.at(array);
        if (position.x + extent.width > known.extent.width || position.y + extent.height > known.rows() ||
            position.z + extent.depth > known.slices())
            throw CudaError{kInvalidValue, ""};
        side = {reinterpret_cast<void*>(known.base), known.row_bytes(), known.slice_bytes(), true};
        side.base = static_cast<std::byte*>(side.at(position.y, position.z)) + position.x * known.texel_bytes();
        return side;
    }
    if ((extent.height > 1 || extent.depth > 1) && width > memory.pitch) throw CudaError{kInvalidPitchValue, ""};
    side = {memory.pointer, memory.pitch, memory.pitch * memory.height, device};
    side.base = static_cast<std::byte*>(side.at(position.y, position.z)) + position.x;
    return side;
}

}  // namespace

Copy3D plain_copy(void* to, const void* from, std::size_t bytes, int direction) {
    return pitched_copy(to, bytes, from, bytes, bytes, 1, direction);
}

Copy3D pitched_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height,
                    int direction) {
    Copy3D copy{};
    copy.from = {const_cast<void*>(from), from_pitch, width, height};
    copy.to = {to, to_pitch, width, height};
    copy.extent = {width, height, 1};
    copy.direction = direction;
    return copy;
}

void copy_3d(Runtime& runtime, const Copy3D& copy) {
    if (copy.direction < kHostToHost || copy.direction > kByAddress) throw CudaError{kInvalidMemcpyDirection, ""};
    Extent extent = copy.extent;
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return;
    if (std::max({extent.width, extent.height, extent.depth}) > kMostElements) throw CudaError{kInvalidValue, ""};
    Array* const array = copy.to_array != nullptr ? copy.to_array : copy.from_array;
    const std::size_t width = extent.width * (array != nullptr ? runtime.arrays.at(array).texel_bytes() : 1);
    const bool to_device = copy.direction == kHostToDevice || copy.direction == kDeviceToDevice;
    const bool from_device = copy.direction == kDeviceToHost || copy.direction == kDeviceToDevice;
    const Side to = side_of(runtime, copy.to_array, copy.to_position, copy.to, to_device, width, extent);
    const Side from = side_of(runtime, copy.from_array, copy.from_position, copy.from, from_device, width, extent);
    for (std::size_t z = 0; z < extent.depth; ++z) {
        for (std::size_t y = 0; y < extent.height; ++y) {
            std::byte* const target = runtime.resolve(to.at(y, z), width, to.device);
            std::memmove(target, runtime.resolve(from.at(y, z), width, from.device), width);
        }
    }
}

void fill(Runtime& runtime, const Fill& what) {
    const unsigned size = what.element_bytes;
    if (size != 1 && size != 2 && size != 4) throw CudaError{kInvalidValue, ""};
    if (what.width > kMostElements || (what.height > 1 && what.width * size > what.pitch)) throw CudaError{kInvalidPitchValue, ""};
    for (std::size_t y = 0; y < what.height && what.width != 0; ++y) {
        std::byte* const row = runtime.resolve(static_cast<std::byte*>(what.at) + y * what.pitch, what.width * size, true);
        if (size == 1) {
            std::memset(row, static_cast<int>(what.value), what.width);
        } else {
            for (std::size_t x = 0; x < what.width; ++x) std::memcpy(row + x * size, &what.value, size);
        }
    }
}

}  // namespace mergelane::cudart
