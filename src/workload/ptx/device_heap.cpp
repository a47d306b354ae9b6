// SPDX-License-Identifier: MIT
#include "workload/ptx/device_heap.hpp"

#include <algorithm>
#include <iterator>

#include "workload/ptx/device_memory.hpp"

namespace mergelane::ptx {

Addr DeviceHeap::allocate(DeviceMemory& memory, std::uint64_t bytes) {
    if (bytes > bytes_) return 0;
    if (base_ == 0) {
        base_ = memory.allocate(bytes_);
        free_[base_] = bytes_;
    }
    const std::uint64_t room = (std::max<std::uint64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
    const auto piece = std::find_if(free_.begin(), free_.end(), [&](const auto& known) { return known.second >= room; });
    if (piece == free_.end()) return 0;
    const Addr place = piece->first;
    const std::uint64_t left = piece->second - room;
    free_.erase(piece);
    if (left != 0) free_[place + room] = left;
    used_[place] = room;
    return place;
}

bool DeviceHeap::release(Addr address) {
    const auto found = used_.find(address);
    if (found == used_.end()) return false;
    std::uint64_t room = found->second;
    used_.erase(found);
    const auto after = free_.lower_bound(address);
    if (after != free_.end() && after->first == address + room) {
        room += after->second;
        free_.erase(after);
    }
    const auto next = free_.lower_bound(address);
    if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == address)
        std::prev(next)->second += room;
    else
        free_[address] = room;
    return true;
}

}  // namespace mergelane::ptx
