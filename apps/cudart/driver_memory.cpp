// SPDX-License-Identifier: MIT
// The driver's memory: allocation, copies, pointers.
#include <algorithm>
#include <cstring>

#include "driver.hpp"

namespace {

using namespace mergelane;
using namespace mergelane::cudart;

enum CopyDirection { kFromHost = 1, kToHost = 2, kWithinDevice = 3, kAnyDirection = 4 };

int driver_copy(void* to, const void* from, std::size_t bytes, CopyDirection direction, void* stream) {
    return driver_call([&] { return cudaMemcpyAsync(to, from, bytes, direction, stream); });
}

template <class Value>
int fill_rows_with(DevicePointer at, std::size_t pitch, Value value, std::size_t width, std::size_t height, void* stream) {
    return driver_call([&] {
        return guarded_on(stream, [&](Runtime& runtime) {
            if (width > Runtime::kDeviceBytes || (height > 1 && width * sizeof value > pitch)) throw CudaError{kInvalidValue, ""};
            for (std::size_t row = 0; row < height && width != 0; ++row) {
                std::byte* const begin = runtime.resolve(as_pointer(at + row * pitch), width * sizeof value, true);
                for (std::size_t i = 0; i < width; ++i) std::memcpy(begin + i * sizeof value, &value, sizeof value);
            }
        });
    });
}

/// One side of CUDA_MEMCPY2D, and of CUDA_MEMCPY3D.
struct RowsSide {
    std::size_t x, y;
    int type;
    void* host;
    DevicePointer device;
    void* array;
    std::size_t pitch;
};
struct RowsCopy {
    RowsSide from, to;
    std::size_t width, height;
};
struct BoxSide {
    std::size_t x, y, z, level;
    int type;
    void* host;
    DevicePointer device;
    void* array;
    void* context;
    std::size_t pitch, height;
};
struct BoxCopy {
    BoxSide from, to;
    std::size_t width, height, depth;
};

/// Where a side begins; nullptr if it is an array.
template <class Side>
std::byte* begin_of(const Side& side, std::size_t z, std::size_t rows) {
    enum { kHost = 1, kDevice = 2, kArray = 3, kUnified = 4 };
    std::byte* const base = static_cast<std::byte*>(side.type == kHost ? side.host : as_pointer(side.device));
    return side.type == kArray || side.type < kHost || side.type > kUnified ? nullptr : base + (z * rows + side.y) * side.pitch + side.x;
}

int copy_box(BoxCopy copy, void* stream) {
    if (copy.depth == 0 || copy.height == 0 || copy.width == 0) return kSuccess;
    for (BoxSide* const side : {&copy.from, &copy.to}) {
        if (side->pitch == 0) side->pitch = side->x + copy.width;
        if (side->height == 0) side->height = copy.height;
    }
    for (std::size_t z = 0; z < copy.depth; ++z) {
        std::byte* const to = begin_of(copy.to, copy.to.z + z, copy.to.height);
        const std::byte* const from = begin_of(copy.from, copy.from.z + z, copy.from.height);
        if (to == nullptr || from == nullptr)
            return driver_guarded([](Runtime&) {
                throw CudaError{kNotSupported, "the program copies to or from an array with the driver API, which is not supported"};
            });
        const int code = driver_call(
            [&] { return cudaMemcpy2DAsync(to, copy.to.pitch, from, copy.from.pitch, copy.width, copy.height, kAnyDirection, stream); });
        if (code != kSuccess) return code;
    }
    return kSuccess;
}

BoxSide as_box(const RowsSide& side) {
    return {side.x, side.y, 0, 0, side.type, side.host, side.device, side.array, nullptr, side.pitch, 0};
}

}  // namespace

using namespace mergelane;
using namespace mergelane::cudart;

// ---- allocation

MERGELANE_API int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    return driver_call([&] { return cudaMemGetInfo(free, total); });
}
MERGELANE_API int cuMemAlloc_v2(void** pointer, std::size_t bytes) {
    if (bytes == 0) return kInvalidValue;
    return driver_call([&] { return cudaMalloc(pointer, bytes); });
}
MERGELANE_API int cuMemAllocAsync(void** pointer, std::size_t bytes, void*) {
    return driver_call([&] { return cudaMalloc(pointer, bytes); });
}
MERGELANE_ALSO(cuMemAllocAsync, ptsz);
MERGELANE_API int cuMemAllocPitch_v2(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
    return driver_call([&] { return cudaMallocPitch(pointer, pitch, width, height); });
}
MERGELANE_API int cuMemFree_v2(void* pointer) {
    return driver_call([&] { return cudaFree(pointer); });
}
MERGELANE_API int cuMemFreeAsync(void* pointer, void*) {
    return cuMemFree_v2(pointer);
}
MERGELANE_ALSO(cuMemFreeAsync, ptsz);
MERGELANE_API int cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
    return driver_call([&] { return cudaMallocHost(pointer, bytes); });
}
MERGELANE_API int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
    return cuMemAllocHost_v2(pointer, bytes);
}
MERGELANE_API int cuMemFreeHost(void* pointer) {
    return driver_call([&] { return cudaFreeHost(pointer); });
}
MERGELANE_API int cuMemAllocManaged(void** pointer, std::size_t bytes, unsigned flags) {
    return driver_call([&] { return cudaMallocManaged(pointer, bytes, flags); });
}
MERGELANE_API int cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
    return driver_call([&] { return cudaHostRegister(pointer, bytes, flags); });
}
MERGELANE_SAME(cuMemHostRegister_v2, cuMemHostRegister);
MERGELANE_API int cuMemHostUnregister(void* pointer) {
    return driver_call([&] { return cudaHostUnregister(pointer); });
}
MERGELANE_API int cuMemHostGetDevicePointer_v2(void** pointer, void* host, unsigned flags) {
    return driver_call([&] { return cudaHostGetDevicePointer(pointer, host, flags); });
}
MERGELANE_API int cuMemHostGetFlags(unsigned* flags, void* pointer) {
    return driver_guarded([&](Runtime& runtime) {
        if (!runtime.host_blocks().contains(reinterpret_cast<Addr>(pointer))) throw CudaError{kInvalidValue, ""};
        out(flags) = 2;  // mapped
    });
}
MERGELANE_API int cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* bytes, DevicePointer pointer) {
    return driver_guarded([&](Runtime& runtime) {
        const ptx::DeviceMemory::Range range = runtime.memory().find(pointer);
        if (range.host == nullptr) throw CudaError{static_cast<Error>(kDriverNotFound), ""};
        if (base != nullptr) *base = range.base;
        if (bytes != nullptr) *bytes = range.bytes;
    });
}

// ---- hints, without effect: there is only one memory

MERGELANE_API int cuMemPrefetchAsync(void* pointer, std::size_t bytes, int, void*) {
    return driver_guarded([&](Runtime& runtime) { runtime.resolve(pointer, bytes, true); });
}
MERGELANE_ALSO(cuMemPrefetchAsync, ptsz);
MERGELANE_API int cuMemPrefetchAsync_v2(void* pointer, std::size_t bytes, std::uint64_t, unsigned, void* stream) {
    return cuMemPrefetchAsync(pointer, bytes, 0, stream);
}
MERGELANE_ALSO(cuMemPrefetchAsync_v2, ptsz);
MERGELANE_API int cuMemAdvise(void* pointer, std::size_t bytes, int, int) {
    return cuMemPrefetchAsync(pointer, bytes, 0, nullptr);
}
MERGELANE_API int cuMemAdvise_v2(void* pointer, std::size_t bytes, int, std::uint64_t) {
    return cuMemPrefetchAsync(pointer, bytes, 0, nullptr);
}

// ---- copies

MERGELANE_API int cuMemcpyAsync(void* to, const void* from, std::size_t bytes, void* stream) {
    return driver_copy(to, from, bytes, kAnyDirection, stream);
}
MERGELANE_ALSO(cuMemcpyAsync, ptsz);
MERGELANE_API int cuMemcpy(void* to, const void* from, std::size_t bytes) {
    return driver_copy(to, from, bytes, kAnyDirection, nullptr);
}
MERGELANE_ALSO(cuMemcpy, ptds);
MERGELANE_API int cuMemcpyHtoDAsync_v2(void* to, const void* from, std::size_t bytes, void* stream) {
    return driver_copy(to, from, bytes, kFromHost, stream);
}
MERGELANE_ALSO(cuMemcpyHtoDAsync_v2, ptsz);
MERGELANE_API int cuMemcpyHtoD_v2(void* to, const void* from, std::size_t bytes) {
    return driver_copy(to, from, bytes, kFromHost, nullptr);
}
MERGELANE_ALSO(cuMemcpyHtoD_v2, ptds);
MERGELANE_API int cuMemcpyDtoHAsync_v2(void* to, const void* from, std::size_t bytes, void* stream) {
    return driver_copy(to, from, bytes, kToHost, stream);
}
MERGELANE_ALSO(cuMemcpyDtoHAsync_v2, ptsz);
MERGELANE_API int cuMemcpyDtoH_v2(void* to, const void* from, std::size_t bytes) {
    return driver_copy(to, from, bytes, kToHost, nullptr);
}
MERGELANE_ALSO(cuMemcpyDtoH_v2, ptds);
MERGELANE_API int cuMemcpyDtoDAsync_v2(void* to, const void* from, std::size_t bytes, void* stream) {
    return driver_copy(to, from, bytes, kWithinDevice, stream);
}
MERGELANE_ALSO(cuMemcpyDtoDAsync_v2, ptsz);
MERGELANE_API int cuMemcpyDtoD_v2(void* to, const void* from, std::size_t bytes) {
    return driver_copy(to, from, bytes, kWithinDevice, nullptr);
}
MERGELANE_ALSO(cuMemcpyDtoD_v2, ptds);
MERGELANE_API int cuMemcpyPeerAsync(void* to, void*, const void* from, void*, std::size_t bytes, void* stream) {
    return driver_copy(to, from, bytes, kWithinDevice, stream);
}
MERGELANE_ALSO(cuMemcpyPeerAsync, ptsz);
MERGELANE_API int cuMemcpyPeer(void* to, void*, const void* from, void*, std::size_t bytes) {
    return driver_copy(to, from, bytes, kWithinDevice, nullptr);
}
MERGELANE_ALSO(cuMemcpyPeer, ptds);
MERGELANE_API int cuMemcpy2DAsync_v2(const RowsCopy* copy, void* stream) {
    return copy == nullptr ? static_cast<int>(kInvalidValue)
                           : copy_box({as_box(copy->from), as_box(copy->to), copy->width, copy->height, 1}, stream);
}
MERGELANE_ALSO(cuMemcpy2DAsync_v2, ptsz);
MERGELANE_API int cuMemcpy2D_v2(const RowsCopy* copy) {
    return cuMemcpy2DAsync_v2(copy, nullptr);
}
MERGELANE_ALSO(cuMemcpy2D_v2, ptds);
MERGELANE_SAME(cuMemcpy2D_v2, cuMemcpy2DUnaligned_v2);
MERGELANE_ALSO(cuMemcpy2DUnaligned_v2, ptds);
MERGELANE_API int cuMemcpy3DAsync_v2(const BoxCopy* copy, void* stream) {
    return copy == nullptr ? static_cast<int>(kInvalidValue) : copy_box(*copy, stream);
}
MERGELANE_ALSO(cuMemcpy3DAsync_v2, ptsz);
MERGELANE_API int cuMemcpy3D_v2(const BoxCopy* copy) {
    return cuMemcpy3DAsync_v2(copy, nullptr);
}
MERGELANE_ALSO(cuMemcpy3D_v2, ptds);
MERGELANE_SAME(cuMemcpy3D_v2, cuMemcpy3DPeer);  // the contexts are where the other has reserved places
MERGELANE_ALSO(cuMemcpy3DPeer, ptds);
MERGELANE_SAME(cuMemcpy3DAsync_v2, cuMemcpy3DPeerAsync);
MERGELANE_ALSO(cuMemcpy3DPeerAsync, ptsz);

// ---- fills

#define MERGELANE_FILL(bits, type)                                                                                                   \
    MERGELANE_API int cuMemsetD##bits##_v2(DevicePointer at, type value, std::size_t count) {                                        \
        return fill_rows_with(at, 0, value, count, 1, nullptr);                                                                      \
    }                                                                                                                                \
    MERGELANE_ALSO(cuMemsetD##bits##_v2, ptds);                                                                                      \
    MERGELANE_API int cuMemsetD##bits##Async(DevicePointer at, type value, std::size_t count, void* stream) {                        \
        return fill_rows_with(at, 0, value, count, 1, stream);                                                                       \
    }                                                                                                                                \
    MERGELANE_ALSO(cuMemsetD##bits##Async, ptsz);                                                                                    \
    MERGELANE_API int cuMemsetD2D##bits##_v2(DevicePointer at, std::size_t pitch, type value, std::size_t width, std::size_t rows) { \
        return fill_rows_with(at, pitch, value, width, rows, nullptr);                                                               \
    }                                                                                                                                \
    MERGELANE_ALSO(cuMemsetD2D##bits##_v2, ptds);                                                                                    \
    MERGELANE_API int cuMemsetD2D##bits##Async(DevicePointer at, std::size_t pitch, type value, std::size_t width, std::size_t rows, \
                                               void* stream) {                                                                       \
        return fill_rows_with(at, pitch, value, width, rows, stream);                                                                \
    }                                                                                                                                \
    MERGELANE_ALSO(cuMemsetD2D##bits##Async, ptsz)

MERGELANE_FILL(8, unsigned char);
MERGELANE_FILL(16, unsigned short);
MERGELANE_FILL(32, unsigned);
#undef MERGELANE_FILL

// ---- pointers

namespace {

template <class T>
void answer(void* data, T value) {
    std::memcpy(data, &value, sizeof value);
}

void pointer_attribute(Runtime& runtime, void* data, int attribute, DevicePointer pointer) {
    enum {
        kContext = 1,
        kMemoryType,
        kDevicePointer,
        kHostPointer,
        kBufferId = 7,
        kManaged,
        kOrdinal,
        kStart = 11,
        kBytes,
        kMapped,
        kMappingBytes = 18,
        kMappingBase
    };
    const ptx::DeviceMemory::Range range = runtime.memory().find(pointer);
    if (range.host == nullptr || data == nullptr) throw CudaError{kInvalidValue, ""};
    const auto block = runtime.host_blocks().find(range.base);
    const bool host = block != runtime.host_blocks().end();
    switch (attribute) {
        case kContext: return answer<void*>(data, current_context());
        case kMemoryType: return answer<unsigned>(data, host && !block->second.managed ? 1 : 2);
        case kDevicePointer: return answer(data, pointer);
        case kHostPointer:
            if (!host) throw CudaError{kInvalidValue, ""};
            return answer(data, pointer);
        case kBufferId: return answer<unsigned long long>(data, range.base);
        case kManaged: return answer<unsigned>(data, host && block->second.managed);
        case kOrdinal: return answer<int>(data, 0);
        case kStart:
        case kMappingBase: return answer<DevicePointer>(data, range.base);
        case kBytes:
        case kMappingBytes: return answer<std::size_t>(data, range.bytes);
        case kMapped: return answer<int>(data, 1);
        default: return answer<unsigned>(data, 0);
    }
}

}  // namespace

MERGELANE_API int cuPointerGetAttribute(void* data, int attribute, DevicePointer pointer) {
    return driver_guarded([&](Runtime& runtime) { pointer_attribute(runtime, data, attribute, pointer); });
}
/// Unlike the function for one attribute, unknown pointers are no error: the answers are 0.
MERGELANE_API int cuPointerGetAttributes(unsigned count, const int* attributes, void** data, DevicePointer pointer) {
    return driver_guarded([&](Runtime& runtime) {
        for (unsigned i = 0; i < count; ++i) {
            const bool word = attributes[i] == 2 || attributes[i] == 6 || attributes[i] == 8 || attributes[i] == 10 || attributes[i] == 13;
            try {
                pointer_attribute(runtime, data[i], attributes[i], pointer);
            } catch (const CudaError&) {
                if (attributes[i] == 9) {
                    answer<int>(data[i], -2);
                } else {
                    std::memset(data[i], 0, word ? sizeof(unsigned) : sizeof(void*));
                }
            }
        }
    });
}
MERGELANE_API int cuPointerSetAttribute(const void*, int, DevicePointer pointer) {
    return driver_guarded([&](Runtime& runtime) { runtime.resolve(as_pointer(pointer), 1, true); });
}
