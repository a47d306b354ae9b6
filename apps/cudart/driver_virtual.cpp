// SPDX-License-Identifier: MIT
// The driver's virtual memory management. A reserved address range has its memory from the beginning; an allocation is contents that move
// to where it is mapped. It can be mapped at one place at a time.
#include <cstring>
#include <iterator>

#include "driver.hpp"

namespace {

using namespace mergelane;
using namespace mergelane::cudart;

constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;

struct PhysicalMemory {
    std::uint64_t bytes = 0;
    std::vector<std::byte> kept;  ///< contents while it is not mapped; none: zeroes
    bool mapped = false;
    bool released = false;
};
struct ReservedRange {
    Addr memory = 0;
    std::uint64_t bytes = 0;
};
struct VirtualMemory {
    Handles<PhysicalMemory> physical;
    std::map<Addr, ReservedRange> reserved;
    std::map<Addr, PhysicalMemory*> mapped;
};
VirtualMemory& virtual_memory() {
    static auto* const memory = new VirtualMemory;
    return *memory;
}

void check_range(DevicePointer at, std::size_t bytes) {
    const auto next = virtual_memory().reserved.upper_bound(at);
    if (next == virtual_memory().reserved.begin()) throw CudaError{kInvalidValue, ""};
    const auto& [base, range] = *std::prev(next);
    if (bytes == 0 || at - base > range.bytes || bytes > range.bytes - (at - base)) throw CudaError{kInvalidValue, ""};
}

}  // namespace

MERGELANE_API int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
    return driver_guarded([&](Runtime&) { out(bytes) = kGranularity; });
}
MERGELANE_API int cuMemAddressReserve(DevicePointer* pointer, std::size_t bytes, std::size_t alignment, DevicePointer, unsigned long long) {
    return driver_guarded([&](Runtime& runtime) {
        if (bytes == 0 || bytes % kGranularity != 0 || alignment > kGranularity || bytes > Runtime::kDeviceBytes)
            throw CudaError{kInvalidValue, ""};
        DevicePointer& result = out(pointer);
        const Addr memory = runtime.allocate(bytes + kGranularity);
        result = (memory + kGranularity - 1) / kGranularity * kGranularity;
        virtual_memory().reserved[result] = {memory, bytes};
    });
}
MERGELANE_API int cuMemAddressFree(DevicePointer pointer, std::size_t bytes) {
    return driver_guarded([&](Runtime& runtime) {
        VirtualMemory& all = virtual_memory();
        const auto range = all.reserved.find(pointer);
        if (range == all.reserved.end() || range->second.bytes != bytes) throw CudaError{kInvalidValue, ""};
        const auto first = all.mapped.lower_bound(pointer);
        if (first != all.mapped.end() && first->first - pointer < bytes) throw CudaError{kInvalidValue, ""};
        runtime.release(range->second.memory);
        all.reserved.erase(range);
    });
}
MERGELANE_API int cuMemCreate(void** handle, std::size_t bytes, const void*, unsigned long long) {
    return driver_guarded([&](Runtime&) {
        if (bytes == 0 || bytes % kGranularity != 0) throw CudaError{kInvalidValue, ""};
        PhysicalMemory made;
        made.bytes = bytes;
        out(handle) = virtual_memory().physical.add(std::move(made));
    });
}
MERGELANE_API int cuMemRelease(void* handle) {
    return driver_guarded([&](Runtime&) {
        PhysicalMemory& memory = virtual_memory().physical.at(handle);
        memory.released = true;  // lives on while it is mapped
        if (!memory.mapped) virtual_memory().physical.remove(handle);
    });
}
MERGELANE_API int cuMemMap(DevicePointer pointer, std::size_t bytes, std::size_t offset, void* handle, unsigned long long) {
    return driver_guarded([&](Runtime& runtime) {
        PhysicalMemory& memory = virtual_memory().physical.at(handle);
        check_range(pointer, bytes);
        if (memory.mapped || offset != 0 || bytes != memory.bytes)
            throw CudaError{kNotSupported, "the program maps a part of an allocation, or maps it twice (cuMemMap), which is not supported"};
        std::byte* const place = runtime.resolve(as_pointer(pointer), bytes, true);
        if (memory.kept.empty()) {
            std::memset(place, 0, bytes);
        } else {
            std::memcpy(place, memory.kept.data(), bytes);
        }
        memory.kept = {};
        memory.mapped = true;
        virtual_memory().mapped[pointer] = &memory;
    });
}
MERGELANE_API int cuMemUnmap(DevicePointer pointer, std::size_t bytes) {
    return driver_guarded([&](Runtime& runtime) {
        check_range(pointer, bytes);
        std::map<Addr, PhysicalMemory*>& mapped = virtual_memory().mapped;
        for (auto at = mapped.lower_bound(pointer); at != mapped.end() && at->first - pointer < bytes; at = mapped.erase(at)) {
            PhysicalMemory& memory = *at->second;
            memory.mapped = false;
            const std::byte* const place = runtime.resolve(as_pointer(at->first), memory.bytes, true);
            if (memory.released) {
                virtual_memory().physical.remove(&memory);
            } else {
                memory.kept.assign(place, place + memory.bytes);
            }
        }
    });
}
MERGELANE_API int cuMemSetAccess(DevicePointer pointer, std::size_t bytes, const void*, std::size_t) {
    return driver_guarded([&](Runtime&) { check_range(pointer, bytes); });
}
MERGELANE_API int cuMemGetAccess(unsigned long long* flags, const void*, DevicePointer pointer) {
    return driver_guarded([&](Runtime&) {
        check_range(pointer, 1);
        out(flags) = 3;  // to read and to write
    });
}
