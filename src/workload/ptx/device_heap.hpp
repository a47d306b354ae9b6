// SPDX-License-Identifier: MIT
// The heap of device code: malloc and free within a kernel. First fit, so that addresses are the same in every run.
#pragma once

#include <cstdint>
#include <map>

#include "core/types.hpp"

namespace mergelane::ptx {

class DeviceMemory;

class DeviceHeap {
public:
    static constexpr std::uint64_t kDefaultBytes = std::uint64_t{8} << 20;
    static constexpr std::uint64_t kAlign = 16;

    std::uint64_t bytes() const { return bytes_; }
    /// Without effect once the heap is in use, as on a GPU.
    void set_bytes(std::uint64_t bytes) {
        if (base_ == 0) bytes_ = bytes;
    }
    /// 0: there is no room.
    Addr allocate(DeviceMemory& memory, std::uint64_t bytes);
    /// False: the address is not one of an allocation.
    bool release(Addr address);

private:
    std::uint64_t bytes_ = kDefaultBytes;
    Addr base_ = 0;                       ///< 0: not in use yet
    std::map<Addr, std::uint64_t> free_;  ///< pieces, which never touch
    std::map<Addr, std::uint64_t> used_;
};

}  // namespace mergelane::ptx
