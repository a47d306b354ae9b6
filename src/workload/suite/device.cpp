// SPDX-License-Identifier: MIT
#include "workload/suite/device.hpp"

#include <cstring>

namespace mergelane::suite {

void ParamPacker::add_bytes(const void* value, std::size_t size, std::size_t alignment) {
    const std::size_t at = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, value, size);
}

}  // namespace mergelane::suite
