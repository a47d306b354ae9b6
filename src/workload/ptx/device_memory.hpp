// SPDX-License-Identifier: MIT
// The memory of the simulated device: a sandbox whose addresses are the same on every host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "workload/ptx/device_heap.hpp"
#include "workload/ptx/texture.hpp"

namespace mergelane::ptx {

class Module;

class DeviceMemory {
public:
    static constexpr Addr kArenaBase = 0x7'0000'0000;
    static constexpr std::uint64_t kAlign = 512;
    static constexpr std::uint64_t kGuard = 512;  ///< unused bytes after every allocation, at least
    static constexpr std::uint64_t kDefaultLimit = std::uint64_t{16} << 30;

    explicit DeviceMemory(std::uint64_t limit_bytes = kDefaultLimit) : limit_(limit_bytes) {}
    DeviceMemory(DeviceMemory&&) = default;

    /// Allocates zeroed memory at the lowest free address. Throws InputError if the limit is reached.
    Addr allocate(std::uint64_t bytes);
    /// Makes host memory of the program visible to kernels, at its own address. It must outlive this object or be freed first. `timed`: its
    /// address in the timing model, whose results must not depend on where the host places memory; 0: its own. Throws InputError if the
    /// address range is occupied.
    Addr adopt(void* host, std::uint64_t bytes, Addr timed = 0);
    /// Whether some memory has another address in the timing model, and that address.
    bool moved() const { return moved_ != 0; }
    Addr timed(Addr address) const;
    /// Throws InputError unless `address` came from allocate or adopt.
    void free(Addr address);
    void write(Addr to, const void* from, std::uint64_t bytes);
    void read(Addr from, void* to, std::uint64_t bytes) const;
    void fill(Addr to, int byte, std::uint64_t bytes);
    /// Whether [address, address + bytes) lies within one allocation.
    bool contains(Addr address, std::uint64_t bytes) const;

    /// Address of a module variable; variables are placed and initialised on first use. Throws InputError.
    Addr symbol(const Module& module, std::string_view name);
    /// `placed`: variables that already have an address (adopted memory); they are initialised there.
    void bind(const Module& module, const std::map<std::string, Addr, std::less<>>& placed = {});

    /// An allocation as seen by the executor; empty: none.
    struct Range {
        Addr base = 0;
        std::uint64_t bytes = 0;
        std::byte* host = nullptr;
        bool holds(Addr address, std::uint64_t size) const { return address - base < bytes && bytes - (address - base) >= size; }
    };
    Range find(Addr address) const;
    /// The allocation that holds the address or, failing that, the one whose bytes are closest to it; empty if there is none.
    Range nearest(Addr address) const;

    /// What device code allocates (malloc, new) comes from one allocation of this size, made at its first use.
    DeviceHeap& heap() { return heap_; }
    Textures& textures() { return textures_; }

    /// Errors of kernels, once per instruction, oldest first.
    std::vector<std::string>& warnings() { return warnings_; }
    std::uint64_t used() const { return used_; }

private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    struct Allocation {
        std::uint64_t bytes = 0;
        std::byte* host = nullptr;
        Addr timed = 0;                           ///< its address in the timing model, if that is another one
        std::unique_ptr<std::byte[], Free> data;  ///< empty if adopted
    };
    /// nullptr: there is none.
    const std::pair<const Addr, Allocation>* holding(Addr address) const;
    std::byte* checked(Addr address, std::uint64_t bytes, const char* what) const;

    std::map<Addr, Allocation> allocations_;
    std::map<std::uint64_t, std::map<std::string_view, Addr>> symbols_;  ///< by module id
    std::vector<std::string> warnings_;
    DeviceHeap heap_;
    Textures textures_;
    std::uint64_t limit_;
    std::uint64_t used_ = 0;
    Addr packed_until_ = kArenaBase;  ///< below, the arena has no gap that could be used
    std::uint64_t moved_ = 0;         ///< allocations with another address in the timing model
};

}  // namespace mergelane::ptx
