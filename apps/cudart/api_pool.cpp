// SPDX-License-Identifier: MIT
// Memory pools. Memory is free as soon as the program frees it; a pool only keeps the books.
#include <algorithm>
#include <cstring>

#include "api.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

namespace {

enum PoolAttribute : int { kFirstSwitch = 1, kLastSwitch = 3, kThreshold = 4, kReserved = 5, kReservedHigh, kUsed, kUsedHigh };
constexpr std::uint64_t kReserve = std::uint64_t{32} << 20;  ///< a pool grows in steps of this

Pool& pool_of(Runtime& runtime, void* handle) {
    return handle == nullptr ? runtime.pools.at(runtime.current_pool()) : runtime.pools.at(handle);
}

void* allocate(Runtime& runtime, void* handle, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    Pool& pool = pool_of(runtime, handle);
    const Addr made = runtime.allocate(bytes);
    runtime.pooled[made] = {&pool, bytes};
    pool.used += bytes;
    pool.used_high = std::max(pool.used_high, pool.used);
    pool.reserved = std::max(pool.reserved, (pool.used + kReserve - 1) / kReserve * kReserve);
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    return reinterpret_cast<void*>(made);
}

int allocate_on(void** pointer, std::size_t bytes, void* pool, void* stream) {
    return guarded_on(stream, [&](Runtime& runtime) {
        out(pointer) = nullptr;
        if (void* const captured = runtime.capture_allocation(stream, bytes))
            *pointer = captured;
        else
            *pointer = allocate(runtime, pool, bytes);
    });
}

}  // namespace

MERGELANE_API int cudaDeviceGetDefaultMemPool(void** pool, int device) {
    return guarded([&](Runtime& runtime) {
        only_device(device);
        out(pool) = runtime.default_pool();
    });
}
MERGELANE_API int cudaDeviceGetMemPool(void** pool, int device) {
    return guarded([&](Runtime& runtime) {
        only_device(device);
        out(pool) = runtime.current_pool();
    });
}
MERGELANE_API int cudaDeviceSetMemPool(int device, void* pool) {
    return guarded([&](Runtime& runtime) {
        only_device(device);
        runtime.set_current_pool(&runtime.pools.at(pool));
    });
}
MERGELANE_API int cudaMemPoolCreate(void** pool, const PoolProperties* properties) {
    return guarded([&](Runtime& runtime) {
        out(pool) = nullptr;
        constexpr int kPinned = 1, kDevice = 1;
        const PoolProperties& wanted = out(properties);
        if (wanted.allocation != kPinned || wanted.location_type != kDevice || wanted.location != 0) throw CudaError{kInvalidValue, ""};
        if (wanted.handles != 0) throw CudaError{kNotSupported, "memory pools cannot be shared with other processes; use no handle type"};
        *pool = runtime.pools.add(Pool{});
    });
}
MERGELANE_API int cudaMemPoolDestroy(void* pool) {
    return guarded([&](Runtime& runtime) {
        if (pool == runtime.default_pool()) throw CudaError{kInvalidValue, ""};
        if (pool == runtime.current_pool()) runtime.set_current_pool(nullptr);
        for (auto& [address, known] : runtime.pooled) {
            if (known.pool == pool) known.pool = nullptr;
        }
        runtime.pools.remove(pool);
    });
}
MERGELANE_API int cudaMemPoolSetAttribute(void* handle, int attribute, const void* value) {
    return guarded([&](Runtime& runtime) {
        Pool& pool = runtime.pools.at(handle);
        if (value == nullptr) throw CudaError{kInvalidValue, ""};
        std::uint64_t bytes = 0;
        if (attribute >= kFirstSwitch && attribute <= kLastSwitch) {
            std::memcpy(&pool.switches[attribute - kFirstSwitch], value, sizeof(int));
            return;
        }
        std::memcpy(&bytes, value, sizeof bytes);
        if (attribute == kThreshold)
            pool.threshold = bytes;
        else if (attribute == kReservedHigh && bytes == 0)
            pool.reserved_high = pool.reserved;
        else if (attribute == kUsedHigh && bytes == 0)
            pool.used_high = pool.used;
        else
            throw CudaError{kInvalidValue, ""};
    });
}
MERGELANE_API int cudaMemPoolGetAttribute(void* handle, int attribute, void* value) {
    return guarded([&](Runtime& runtime) {
        const Pool& pool = runtime.pools.at(handle);
        if (value == nullptr || attribute < kFirstSwitch || attribute > kUsedHigh) throw CudaError{kInvalidValue, ""};
        if (attribute <= kLastSwitch) {
            std::memcpy(value, &pool.switches[attribute - kFirstSwitch], sizeof(int));
            return;
        }
        const std::uint64_t bytes[] = {pool.threshold, pool.reserved, pool.reserved_high, pool.used, pool.used_high};
        std::memcpy(value, &bytes[attribute - kThreshold], sizeof bytes[0]);
    });
}
MERGELANE_API int cudaMemPoolTrimTo(void* handle, std::size_t bytes) {
    return guarded([&](Runtime& runtime) {
        Pool& pool = runtime.pools.at(handle);
        pool.reserved = std::min(pool.reserved, (std::max<std::uint64_t>(pool.used, bytes) + kReserve - 1) / kReserve * kReserve);
    });
}
MERGELANE_API int cudaMemPoolSetAccess(void* pool, const void*, std::size_t) {
    return guarded([&](Runtime& runtime) { runtime.pools.at(pool); });
}
MERGELANE_API int cudaMemPoolGetAccess(int* flags, void* pool, const void*) {
    return guarded([&](Runtime& runtime) {
        constexpr int kReadWrite = 3;
        runtime.pools.at(pool);
        out(flags) = kReadWrite;
    });
}
MERGELANE_API int cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool, void* stream) {
    return allocate_on(pointer, bytes, pool, stream);
}
MERGELANE_ALSO(cudaMallocFromPoolAsync, ptsz);
MERGELANE_API int cudaMallocAsync(void** pointer, std::size_t bytes, void* stream) {
    return allocate_on(pointer, bytes, nullptr, stream);
}
MERGELANE_ALSO(cudaMallocAsync, ptsz);
MERGELANE_API int cudaFreeAsync(void* pointer, void* stream) {
    return guarded_on(stream, [&](Runtime& runtime) {
        if (!runtime.capture_release(stream, pointer)) runtime.release(reinterpret_cast<Addr>(pointer));
    });
}
MERGELANE_ALSO(cudaFreeAsync, ptsz);
