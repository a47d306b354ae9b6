// SPDX-License-Identifier: MIT
// Memory: allocation, copies, variables of device code.
#include <cstring>

#include "api.hpp"
#include "array.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

namespace {

int copy_on(void* stream, const Copy3D& copy) {
    return guarded_on(stream, [&](Runtime& runtime) {
        if (!runtime.capture(stream, copy)) copy_3d(runtime, copy);
    });
}

int copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height,
              int direction, void* stream) {
    if (width > to_pitch || width > from_pitch) return remember(kInvalidPitchValue);
    return copy_on(stream, pitched_copy(to, to_pitch, from, from_pitch, width, height, direction));
}

int fill_rows(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height, void* stream) {
    const Fill what{at, pitch, static_cast<unsigned>(value), 1, width, height};
    return guarded_on(stream, [&](Runtime& runtime) {
        if (width > pitch) throw CudaError{kInvalidPitchValue, ""};
        if (!runtime.capture(stream, what)) fill(runtime, what);
    });
}

/// The address of `bytes` at `offset` in a variable.
void* place(Runtime& runtime, const void* symbol, std::size_t bytes, std::size_t offset) {
    DeviceVariable& variable = runtime.variable(symbol);
    if (offset > variable.bytes || bytes > variable.bytes - offset) throw CudaError{kInvalidValue, ""};
    return reinterpret_cast<void*>(runtime.variable_address(variable) + offset);
}

}  // namespace

MERGELANE_API int cudaMalloc(void** pointer, std::size_t bytes) {
    return guarded([&](Runtime& runtime) {
        out(pointer) = nullptr;
        if (bytes != 0) *pointer = reinterpret_cast<void*>(runtime.allocate(bytes));
    });
}
MERGELANE_API int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
    return guarded([&](Runtime& runtime) {
        out(pointer) = nullptr;
        out(pitch) = (width + kPitch - 1) / kPitch * kPitch;
        if (height != 0 && *pitch > Runtime::kDeviceBytes / height) throw CudaError{kMemoryAllocation, ""};
        if (width != 0 && height != 0) *pointer = reinterpret_cast<void*>(runtime.allocate(*pitch * height));
    });
}
MERGELANE_API int cudaFree(void* pointer) {
    return guarded([&](Runtime& runtime) { runtime.release(reinterpret_cast<Addr>(pointer)); });
}
MERGELANE_API int cudaMallocHost(void** pointer, std::size_t bytes) {
    return guarded([&](Runtime& runtime) {
        out(pointer) = nullptr;
        if (bytes != 0) *pointer = runtime.allocate_host(bytes, false);
    });
}
MERGELANE_API int cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
    return cudaMallocHost(pointer, bytes);
}
MERGELANE_API int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
    return guarded([&](Runtime& runtime) {
        out(pointer) = nullptr;
        if (bytes == 0) throw CudaError{kInvalidValue, ""};
        *pointer = runtime.allocate_host(bytes, true);
    });
}
MERGELANE_API int cudaFreeHost(void* pointer) {
    return guarded([&](Runtime& runtime) { runtime.release_host(pointer, false); });
}
MERGELANE_API int cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
    return guarded([&](Runtime& runtime) { runtime.register_host(pointer, bytes); });
}
MERGELANE_API int cudaHostUnregister(void* pointer) {
    return guarded([&](Runtime& runtime) { runtime.release_host(pointer, true); });
}
MERGELANE_API int cudaHostGetDevicePointer(void** pointer, void* host, unsigned) {
    return guarded([&](Runtime& runtime) {
        runtime.resolve(host, 1, true);
        out(pointer) = host;
    });
}
MERGELANE_API int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return guarded([&](Runtime& runtime) {
        out(total) = Runtime::kDeviceBytes;
        out(free) = Runtime::kDeviceBytes - runtime.memory().used();
    });
}
MERGELANE_API int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
    return guarded([&](Runtime& runtime) {
        PointerAttributes& a = out(attributes);
        a = {};
        a.device = -2;
        void* const same = const_cast<void*>(pointer);
        const ptx::DeviceMemory::Range range = runtime.memory().find(reinterpret_cast<Addr>(pointer));
        if (range.host == nullptr) {
            a.hostPointer = same;
            return;
        }
        a.device = 0;
        a.devicePointer = same;
        const auto block = runtime.host_blocks().find(range.base);
        a.type = block == runtime.host_blocks().end() ? 2 : block->second.managed ? 3 : 1;
        if (a.type != 2) a.hostPointer = same;
    });
}
// There is only one memory here, so hints about managed memory have no effect.
MERGELANE_API int cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, std::uint64_t, unsigned, void* stream) {
    return guarded_on(stream, [&](Runtime& runtime) { runtime.resolve(pointer, bytes, true); });
}
MERGELANE_ALSO(cudaMemPrefetchAsync, ptsz);
MERGELANE_API int cudaMemAdvise(const void* pointer, std::size_t bytes, int, std::uint64_t) {
    return guarded([&](Runtime& runtime) { runtime.resolve(pointer, bytes, true); });
}

MERGELANE_API int cudaMemcpy(void* to, const void* from, std::size_t bytes, int direction) {
    return copy_on(nullptr, plain_copy(to, from, bytes, direction));
}
MERGELANE_ALSO(cudaMemcpy, ptds);
MERGELANE_API int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int direction, void* stream) {
    return copy_on(stream, plain_copy(to, from, bytes, direction));
}
MERGELANE_ALSO(cudaMemcpyAsync, ptsz);
MERGELANE_API int cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
    return cudaMemcpy(to, from, bytes, kDeviceToDevice);
}
MERGELANE_API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, void* stream) {
    return cudaMemcpyAsync(to, from, bytes, kDeviceToDevice, stream);
}
MERGELANE_API int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                               std::size_t height, int direction) {
    return copy_rows(to, to_pitch, from, from_pitch, width, height, direction, nullptr);
}
MERGELANE_ALSO(cudaMemcpy2D, ptds);
MERGELANE_API int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                                    std::size_t height, int direction, void* stream) {
    return copy_rows(to, to_pitch, from, from_pitch, width, height, direction, stream);
}
MERGELANE_ALSO(cudaMemcpy2DAsync, ptsz);
MERGELANE_API int cudaMemset(void* at, int value, std::size_t bytes) {
    return fill_rows(at, bytes, value, bytes, 1, nullptr);
}
MERGELANE_ALSO(cudaMemset, ptds);
MERGELANE_API int cudaMemsetAsync(void* at, int value, std::size_t bytes, void* stream) {
    return fill_rows(at, bytes, value, bytes, 1, stream);
}
MERGELANE_ALSO(cudaMemsetAsync, ptsz);
MERGELANE_API int cudaMemset2D(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    return fill_rows(at, pitch, value, width, height, nullptr);
}
MERGELANE_ALSO(cudaMemset2D, ptds);
MERGELANE_API int cudaMemset2DAsync(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height, void* stream) {
    return fill_rows(at, pitch, value, width, height, stream);
}
MERGELANE_ALSO(cudaMemset2DAsync, ptsz);

MERGELANE_API int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int direction,
                                          void* stream) {
    return guarded_on(stream, [&](Runtime& runtime) {
        if (direction == kDeviceToHost || direction == kHostToHost) throw CudaError{kInvalidMemcpyDirection, ""};
        const Copy3D copy = plain_copy(place(runtime, symbol, bytes, offset), from, bytes, direction);
        if (!runtime.capture(stream, copy)) copy_3d(runtime, copy);
    });
}
MERGELANE_ALSO(cudaMemcpyToSymbolAsync, ptsz);
MERGELANE_API int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int direction) {
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, direction, nullptr);
}
MERGELANE_ALSO(cudaMemcpyToSymbol, ptds);
MERGELANE_API int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int direction,
                                            void* stream) {
    return guarded_on(stream, [&](Runtime& runtime) {
        if (direction == kHostToDevice || direction == kHostToHost) throw CudaError{kInvalidMemcpyDirection, ""};
        const Copy3D copy = plain_copy(to, place(runtime, symbol, bytes, offset), bytes, direction);
        if (!runtime.capture(stream, copy)) copy_3d(runtime, copy);
    });
}
MERGELANE_ALSO(cudaMemcpyFromSymbolAsync, ptsz);
MERGELANE_API int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int direction) {
    return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, direction, nullptr);
}
MERGELANE_ALSO(cudaMemcpyFromSymbol, ptds);
MERGELANE_API int cudaGetSymbolAddress(void** pointer, const void* symbol) {
    return guarded([&](Runtime& runtime) { out(pointer) = place(runtime, symbol, 0, 0); });
}
MERGELANE_API int cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
    return guarded([&](Runtime& runtime) { out(bytes) = runtime.variable(symbol).bytes; });
}
