// SPDX-License-Identifier: MIT
// Arrays, textures and surfaces. Arrays lie in device memory without tiling; textures have one level.
#include <algorithm>
#include <cstring>

#include "api.hpp"
#include "array.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

namespace {

constexpr unsigned kLayered = 1, kSurfaceLoadStore = 2, kCubemap = 4, kGather = 8;

void check_channels(const ChannelDescription& c) {
    const int bits[] = {c.x, c.y, c.z, c.w};
    const bool size_known = c.x == 8 || c.x == 16 || c.x == 32;
    bool rest = true;  // the channels that exist come first, and are of one size
    for (std::size_t i = 1; i < 4; ++i) rest = rest && (bits[i] == 0 || (bits[i] == c.x && bits[i - 1] == c.x));
    const bool three = c.z != 0 && c.w == 0;
    if (!size_known || !rest || three || c.kind < 0 || c.kind > 2 || (c.kind == 2 && c.x == 8))
        throw CudaError{kInvalidChannelDescriptor, ""};
}

/// How kernels see memory with these channels.
ptx::Texture view_of(const ChannelDescription& channels) {
    check_channels(channels);
    ptx::Texture texture;
    texture.channels = static_cast<std::uint8_t>((channels.x + channels.y + channels.z + channels.w) / channels.x);
    texture.channel_bytes = static_cast<std::uint8_t>(channels.x / 8);
    texture.kind = static_cast<ptx::TexelKind>(channels.kind);
    return texture;
}

ptx::Texture view_of(Runtime& runtime, const Array& array) {
    runtime.arrays.at(const_cast<Array*>(&array));
    ptx::Texture texture = view_of(array.channels);
    texture.base = array.base;
    texture.width = static_cast<std::uint32_t>(array.extent.width);
    texture.height = static_cast<std::uint32_t>(array.rows());
    texture.depth = static_cast<std::uint32_t>(array.slices());
    texture.row_bytes = array.row_bytes();
    texture.slice_bytes = array.slice_bytes();
    return texture;
}

ptx::Texture view_of(Runtime& runtime, const ResourceDescription& resource) {
    constexpr std::size_t kMostTexels = std::size_t{1} << 31;
    switch (resource.type) {
        case kArrayResource: return view_of(runtime, runtime.arrays.at(resource.array));
        case kLinearResource: {
            ptx::Texture texture = view_of(resource.linear.channels);
            runtime.resolve(resource.linear.at, std::max<std::size_t>(resource.linear.bytes, 1), true);
            texture.base = reinterpret_cast<Addr>(resource.linear.at);
            texture.width = static_cast<std::uint32_t>(std::min(resource.linear.bytes / texture.texel_bytes(), kMostTexels));
            texture.row_bytes = texture.slice_bytes = resource.linear.bytes;
            return texture;
        }
        case kPitchedResource: {
            const auto& memory = resource.pitched;
            ptx::Texture texture = view_of(memory.channels);
            if (memory.width > kMostTexels || memory.height > kMostTexels || memory.width * texture.texel_bytes() > memory.pitch)
                throw CudaError{kInvalidValue, ""};
            runtime.resolve(memory.at, 1, true);
            texture.base = reinterpret_cast<Addr>(memory.at);
            texture.width = static_cast<std::uint32_t>(memory.width);
            texture.height = static_cast<std::uint32_t>(memory.height);
            texture.row_bytes = memory.pitch;
            texture.slice_bytes = memory.pitch * memory.height;
            return texture;
        }
        default: throw CudaError{kNotSupported, "textures of mipmapped arrays are not supported; use an array for each level"};
    }
}

void set_sampling(ptx::Texture& texture, const TextureDescription& how) {
    for (std::size_t k = 0; k < 3; ++k) {
        if (how.address_mode[k] < 0 || how.address_mode[k] > 3) throw CudaError{kInvalidValue, ""};
        texture.mode[k] = static_cast<ptx::AddressMode>(how.address_mode[k]);
    }
    if (how.srgb != 0) throw CudaError{kNotSupported, "textures with sRGB conversion are not supported; convert in the kernel"};
    texture.linear = how.filter == 1;
    texture.normalized = how.normalized != 0;
    texture.to_float = how.read == 1 && texture.kind != ptx::TexelKind::floating;
    if (texture.to_float && texture.channel_bytes == 4) throw CudaError{kInvalidNormSetting, ""};
    if (texture.linear && texture.kind != ptx::TexelKind::floating && !texture.to_float) throw CudaError{kInvalidFilterSetting, ""};
    std::copy(std::begin(how.border), std::end(how.border), texture.border.begin());
}

int copy_now(const Copy3D& copy, void* stream, bool may_capture) {
    return guarded_on(stream, [&](Runtime& runtime) {
        if (!may_capture || !runtime.capture(stream, copy)) copy_3d(runtime, copy);
    });
}

Copy3D to_array(Array* array, std::size_t x_bytes, std::size_t y, const void* from, std::size_t pitch, std::size_t width,
                std::size_t height, int direction) {
    Copy3D copy = pitched_copy(nullptr, 0, from, pitch, width, height, direction);
    const std::size_t size = array == nullptr ? 0 : array->texel_bytes();
    if (size == 0 || x_bytes % size != 0 || width % size != 0) throw CudaError{kInvalidValue, ""};
    copy.to_array = array;
    copy.to_position = {x_bytes / size, y, 0};
    copy.extent.width = width / size;
    return copy;
}
Copy3D from_array(void* to, std::size_t pitch, Array* array, std::size_t x_bytes, std::size_t y, std::size_t width, std::size_t height,
                  int direction) {
    Copy3D copy = to_array(array, x_bytes, y, nullptr, 0, width, height, direction);
    std::swap(copy.to_array, copy.from_array);
    std::swap(copy.to_position, copy.from_position);
    copy.to = {to, pitch, width, height};
    return copy;
}

/// As guarded_on(); what `make` returns is copied now or captured.
template <class Make>
int copy_with_array(Array* array, void* stream, const Make& make) {
    return guarded_on(stream, [&](Runtime& runtime) {
        runtime.arrays.at(array);
        const Copy3D copy = make();
        if (!runtime.capture(stream, copy)) copy_3d(runtime, copy);
    });
}

}  // namespace

MERGELANE_API ChannelDescription cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return {x, y, z, w, kind};
}
MERGELANE_API int cudaMalloc3DArray(void** array, const ChannelDescription* channels, Extent extent, unsigned flags) {
    return guarded([&](Runtime& runtime) {
        out(array) = nullptr;
        check_channels(out(channels));
        if ((flags & ~(kLayered | kSurfaceLoadStore | kCubemap | kGather)) != 0) throw CudaError{kNotSupported, ""};
        Array made{0, *channels, extent, flags};
        const Extent most{1 << 20, 1 << 20, 1 << 20};
        if (extent.width == 0 || extent.width > most.width || extent.height > most.height || extent.depth > most.depth)
            throw CudaError{kInvalidValue, ""};
        if ((flags & kCubemap) != 0 && (extent.width != extent.height || extent.depth == 0 || extent.depth % 6 != 0))
            throw CudaError{kInvalidValue, ""};
        if (made.slice_bytes() > Runtime::kDeviceBytes / made.slices()) throw CudaError{kMemoryAllocation, ""};
        made.base = runtime.allocate(made.slice_bytes() * made.slices());
        *array = runtime.arrays.add(made);
    });
}
MERGELANE_API int cudaMallocArray(void** array, const ChannelDescription* channels, std::size_t width, std::size_t height, unsigned flags) {
    return cudaMalloc3DArray(array, channels, {width, height, 0}, flags);
}
MERGELANE_API int cudaFreeArray(Array* array) {
    return guarded([&](Runtime& runtime) {
        if (array == nullptr) return;
        runtime.release(runtime.arrays.at(array).base);
        runtime.arrays.remove(array);
    });
}
MERGELANE_API int cudaArrayGetInfo(ChannelDescription* channels, Extent* extent, unsigned* flags, Array* array) {
    return guarded([&](Runtime& runtime) {
        const Array& known = runtime.arrays.at(array);
        if (channels != nullptr) *channels = known.channels;
        if (extent != nullptr) *extent = known.extent;
        if (flags != nullptr) *flags = known.flags;
    });
}
MERGELANE_API int cudaGetChannelDesc(ChannelDescription* channels, Array* array) {
    return guarded([&](Runtime& runtime) { out(channels) = runtime.arrays.at(array).channels; });
}
MERGELANE_API int cudaMalloc3D(PitchedPointer* pointer, Extent extent) {
    return guarded([&](Runtime& runtime) {
        PitchedPointer& made = out(pointer);
        made = {nullptr, (extent.width + kPitch - 1) / kPitch * kPitch, extent.width, extent.height};
        if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return;
        if (extent.height > Runtime::kDeviceBytes / made.pitch || extent.depth > Runtime::kDeviceBytes / made.pitch / extent.height)
            throw CudaError{kMemoryAllocation, ""};
        made.pointer = reinterpret_cast<void*>(runtime.allocate(made.pitch * extent.height * extent.depth));
    });
}

MERGELANE_API int cudaMemcpy3D(const Copy3D* copy) {
    return copy == nullptr ? remember(kInvalidValue) : copy_now(*copy, nullptr, false);
}
MERGELANE_ALSO(cudaMemcpy3D, ptds);
MERGELANE_API int cudaMemcpy3DAsync(const Copy3D* copy, void* stream) {
    return copy == nullptr ? remember(kInvalidValue) : copy_now(*copy, stream, true);
}
MERGELANE_ALSO(cudaMemcpy3DAsync, ptsz);
MERGELANE_API int cudaMemset3D(PitchedPointer at, int value, Extent extent) {
    return guarded([&](Runtime& runtime) {
        for (std::size_t z = 0; z < extent.depth; ++z) {
            std::byte* const slice = static_cast<std::byte*>(at.pointer) + z * at.pitch * at.height;
            fill(runtime, {slice, at.pitch, static_cast<unsigned>(value), 1, extent.width, extent.height});
        }
    });
}
MERGELANE_ALSO(cudaMemset3D, ptds);
MERGELANE_API int cudaMemset3DAsync(PitchedPointer at, int value, Extent extent, void*) {
    return cudaMemset3D(at, value, extent);
}
MERGELANE_ALSO(cudaMemset3DAsync, ptsz);
MERGELANE_API int cudaMemcpy2DToArrayAsync(Array* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch, std::size_t width,
                                           std::size_t height, int direction, void* stream) {
    return copy_with_array(to, stream, [&] { return to_array(to, x, y, from, pitch, width, height, direction); });
}
MERGELANE_ALSO(cudaMemcpy2DToArrayAsync, ptsz);
MERGELANE_API int cudaMemcpy2DToArray(Array* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch, std::size_t width,
                                      std::size_t height, int direction) {
    return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, direction, nullptr);
}
MERGELANE_ALSO(cudaMemcpy2DToArray, ptds);
MERGELANE_API int cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, Array* from, std::size_t x, std::size_t y, std::size_t width,
                                             std::size_t height, int direction, void* stream) {
    return copy_with_array(from, stream, [&] { return from_array(to, pitch, from, x, y, width, height, direction); });
}
MERGELANE_ALSO(cudaMemcpy2DFromArrayAsync, ptsz);
MERGELANE_API int cudaMemcpy2DFromArray(void* to, std::size_t pitch, Array* from, std::size_t x, std::size_t y, std::size_t width,
                                        std::size_t height, int direction) {
    return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, direction, nullptr);
}
MERGELANE_ALSO(cudaMemcpy2DFromArray, ptds);
// The old one-dimensional copies go on in the next row where one ends, which is what rows without padding are.
MERGELANE_API int cudaMemcpyToArray(Array* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes, int direction) {
    return guarded([&](Runtime& runtime) {
        const Array& array = runtime.arrays.at(to);
        const std::size_t begin = y * array.row_bytes() + x;
        if (begin > array.slice_bytes() || bytes > array.slice_bytes() - begin) throw CudaError{kInvalidValue, ""};
        copy_3d(runtime, plain_copy(reinterpret_cast<void*>(array.base + begin), from, bytes, direction));
    });
}
MERGELANE_ALSO(cudaMemcpyToArray, ptds);
MERGELANE_API int cudaMemcpyFromArray(void* to, Array* from, std::size_t x, std::size_t y, std::size_t bytes, int direction) {
    return guarded([&](Runtime& runtime) {
        const Array& array = runtime.arrays.at(from);
        const std::size_t begin = y * array.row_bytes() + x;
        if (begin > array.slice_bytes() || bytes > array.slice_bytes() - begin) throw CudaError{kInvalidValue, ""};
        copy_3d(runtime, plain_copy(to, reinterpret_cast<void*>(array.base + begin), bytes, direction));
    });
}
MERGELANE_ALSO(cudaMemcpyFromArray, ptds);

MERGELANE_API int cudaCreateTextureObject(std::uint64_t* handle, const ResourceDescription* resource, const TextureDescription* how,
                                          const void* view) {
    return guarded([&](Runtime& runtime) {
        out(handle) = 0;
        if (view != nullptr) throw CudaError{kNotSupported, "resource views of textures are not supported; create the texture without one"};
        ptx::Texture texture = view_of(runtime, out(resource));
        set_sampling(texture, out(how));
        *handle = runtime.memory().textures().add(texture);
        runtime.resources[*handle] = {*resource, *how};
    });
}
MERGELANE_API int cudaCreateSurfaceObject(std::uint64_t* handle, const ResourceDescription* resource) {
    return guarded([&](Runtime& runtime) {
        out(handle) = 0;
        if (out(resource).type != kArrayResource) throw CudaError{kInvalidValue, ""};
        *handle = runtime.memory().textures().add(view_of(runtime, *resource));
        runtime.resources[*handle] = {*resource, {}};
    });
}
MERGELANE_API int cudaDestroyTextureObject(std::uint64_t handle) {
    return guarded([&](Runtime& runtime) {
        if (handle == 0) return;
        if (!runtime.memory().textures().remove(handle)) throw CudaError{kInvalidValue, ""};
        runtime.resources.erase(handle);
    });
}
MERGELANE_SAME(cudaDestroyTextureObject, cudaDestroySurfaceObject);
MERGELANE_API int cudaGetTextureObjectResourceDesc(ResourceDescription* resource, std::uint64_t handle) {
    return guarded([&](Runtime& runtime) {
        const auto found = runtime.resources.find(handle);
        if (found == runtime.resources.end()) throw CudaError{kInvalidValue, ""};
        out(resource) = found->second.resource;
    });
}
MERGELANE_SAME(cudaGetTextureObjectResourceDesc, cudaGetSurfaceObjectResourceDesc);
MERGELANE_API int cudaGetTextureObjectTextureDesc(TextureDescription* how, std::uint64_t handle) {
    return guarded([&](Runtime& runtime) {
        const auto found = runtime.resources.find(handle);
        if (found == runtime.resources.end()) throw CudaError{kInvalidValue, ""};
        out(how) = found->second.how;
    });
}
