// SPDX-License-Identifier: MIT
#include "workload/ptx/device_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/error.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/module.hpp"

namespace mergelane::ptx {

Addr DeviceMemory::allocate(std::uint64_t bytes) {
    if (bytes > limit_ || used_ + bytes > limit_) {
        throw InputError(
            fmt::format("out of simulated device memory: cannot allocate {} more bytes ({} of {} are in use); make the problem smaller",
                        bytes, used_, limit_));
    }
    const auto room = [](std::uint64_t size) { return (size + kGuard + kAlign - 1) / kAlign * kAlign; };
    Addr place = packed_until_;
    for (auto at = allocations_.lower_bound(place); at != allocations_.end(); ++at) {
        if (at->first - place >= room(bytes)) break;
        if (place == packed_until_ && at->first == place) packed_until_ += room(at->second.bytes);
        place = at->first + room(at->second.bytes);
    }
    Allocation made;
    made.bytes = bytes;
    made.data.reset(static_cast<std::byte*>(std::calloc(bytes + 1, 1)));  // untouched pages cost nothing
    if (made.data == nullptr)
        throw InputError(fmt::format("the host cannot provide {} bytes of device memory; make the problem smaller", bytes));
    made.host = made.data.get();
    allocations_.emplace(place, std::move(made));
    used_ += bytes;
    if (place == packed_until_) packed_until_ += room(bytes);
    return place;
}

Addr DeviceMemory::adopt(void* host, std::uint64_t bytes, Addr timed) {
    const Addr place = reinterpret_cast<Addr>(host);
    const auto after = allocations_.lower_bound(place);
    const bool free_after = after == allocations_.end() || after->first - place >= bytes;
    const bool free_before = after == allocations_.begin() || place - std::prev(after)->first >= std::prev(after)->second.bytes;
    if (host == nullptr || bytes == 0 || place + bytes < place || !free_after || !free_before)
        throw InputError(
            fmt::format("{} bytes at {:#x} cannot be shared with the simulated device; another allocation is there", bytes, place));
    Allocation made;
    made.bytes = bytes;
    made.host = static_cast<std::byte*>(host);
    made.timed = timed == place ? 0 : timed;
    const bool moved = made.timed != 0;
    allocations_.emplace(place, std::move(made));
    if (moved) ++moved_;
    return place;
}

void DeviceMemory::free(Addr address) {
    const auto found = allocations_.find(address);
    if (found == allocations_.end())
        throw InputError(fmt::format("{:#x} is not the start of an allocation; free what allocate returned", address));
    if (found->second.data != nullptr) used_ -= found->second.bytes;
    if (found->second.timed != 0) --moved_;
    if (address >= kArenaBase) packed_until_ = std::min(packed_until_, address);
    allocations_.erase(found);
}

const std::pair<const Addr, DeviceMemory::Allocation>* DeviceMemory::holding(Addr address) const {
    const auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return nullptr;
    const auto found = std::prev(after);
    return address - found->first < found->second.bytes ? &*found : nullptr;
}

DeviceMemory::Range DeviceMemory::find(Addr address) const {
    const auto* const found = holding(address);
    if (found == nullptr) return {};
    return {found->first, found->second.bytes, found->second.host};
}

DeviceMemory::Range DeviceMemory::nearest(Addr address) const {
    const auto after = allocations_.upper_bound(address);
    const auto range = [](const auto& entry) { return Range{entry.first, entry.second.bytes, entry.second.host}; };
    if (after == allocations_.begin()) return after == allocations_.end() ? Range{} : range(*after);
    const auto before = std::prev(after);
    const std::uint64_t offset = address - before->first;
    const bool next_is_closer =
        after != allocations_.end() && offset >= before->second.bytes && after->first - address < offset - before->second.bytes;
    return range(next_is_closer ? *after : *before);
}

Addr DeviceMemory::timed(Addr address) const {
    const auto* const found = holding(address);
    return found == nullptr || found->second.timed == 0 ? address : found->second.timed + (address - found->first);
}

bool DeviceMemory::contains(Addr address, std::uint64_t bytes) const {
    return bytes == 0 || find(address).holds(address, bytes);
}

std::byte* DeviceMemory::checked(Addr address, std::uint64_t bytes, const char* what) const {
    const Range range = find(address);
    if (!range.holds(address, bytes))
        throw InputError(fmt::format("{} of {} bytes at {:#x} leaves the allocation; check pointer and size", what, bytes, address));
    return range.host + (address - range.base);
}

void DeviceMemory::write(Addr to, const void* from, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(checked(to, bytes, "write"), from, bytes);
}
void DeviceMemory::read(Addr from, void* to, std::uint64_t bytes) const {
    if (bytes != 0) std::memcpy(to, checked(from, bytes, "read"), bytes);
}
void DeviceMemory::fill(Addr to, int byte, std::uint64_t bytes) {
    if (bytes != 0) std::memset(checked(to, bytes, "fill"), byte, bytes);
}

void DeviceMemory::bind(const Module& module, const std::map<std::string, Addr, std::less<>>& placed) {
    if (symbols_.contains(module.id())) return;
    std::map<std::string_view, Addr> places;
    for (const Variable& variable : module.variables()) {
        if (variable.space == StateSpace::shared || variable.external) continue;
        const auto known = placed.find(variable.name);
        places[variable.name] = known != placed.end() ? known->second : allocate(std::max<std::uint64_t>(variable.bytes, 1));
    }
    for (const Variable& variable : module.variables()) {
        const auto place = places.find(variable.name);
        if (place == places.end()) continue;
        write(place->second, variable.initial.data(), variable.initial.size());
        for (const Relocation& relocation : variable.relocations) {
            const auto target = places.find(relocation.symbol);
            const Function* function = module.find_function(relocation.symbol);
            if (target == places.end() && function == nullptr) {
                fail_at(module.file_name(), variable.line,
                        "initial value {} is not a variable or function of this module; use the address of one",
                        in_quotes(relocation.symbol));
            }
            const Addr base = target != places.end() ? target->second : module.code_address(relocation.symbol);
            const Addr value = base + static_cast<Addr>(relocation.addend);
            write(place->second + relocation.at, &value, relocation.bytes);
        }
    }
    symbols_.emplace(module.id(), std::move(places));
}

Addr DeviceMemory::symbol(const Module& module, std::string_view name) {
    bind(module);
    const auto& places = symbols_.at(module.id());
    const auto found = places.find(name);
    if (found == places.end())
        throw InputError(fmt::format("{}: unknown variable {}; check the name", module.file_name(), in_quotes(name)));
    return found->second;
}

}  // namespace mergelane::ptx
